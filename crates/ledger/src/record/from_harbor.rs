//! What Harbor says of a trial, as a record.

use taskwright_harbor::exceptions::{self, AgentCode};
use taskwright_harbor::result::{self, AgentResult, TrialResult};
use taskwright_harbor::rewards::{self, RewardError};
use taskwright_harbor::time::{Span, Timestamp};

use super::agent::Identity;
use super::parts::{Exception, Reward, Seconds, Step, Tokens};
use super::spending::Claimed;
use super::trial::Trial;
use super::verdict::Verdict;
use super::words::{Failure, Status};
use crate::rank::statistics::is_reward;

/// How much of an exception's message is kept in the record, in bytes; all of it stands in the evidence.
const MESSAGE: usize = 8 << 10;

/// Why a number is no reward: see [`is_reward`]. Said at import, so that whoever reads the ledger finds the same.
const TOO_LARGE: &str = "larger than any reward may be (1e100)";

/// The record of a trial that has ended, without what neither its result nor its verdict can tell: experiment, source,
/// provenance, evidence.
///
/// `reward_key` names the reward that counts, if it is not the usual.
#[expect(clippy::too_many_lines, reason = "one field after the other")]
pub(crate) fn record(
    result: &TrialResult,
    identity: &Identity,
    reward_key: Option<&str>,
    verdict: &Verdict,
) -> Trial {
    let config = result.config();
    let failure = exceptions::failure(result, AgentCode::Stock);
    let chosen = result.rewards.as_ref().map(|rewards| rewards.choose(reward_key));
    let reward_valid = exceptions::reward_is_valid(result);
    let mut class = failure.as_ref().map(|failure| failure.class);
    let mut note = None;
    let mut reward = None;
    match chosen {
        Some(Ok(chosen)) if is_reward(chosen.value) => reward = Some((chosen.key.to_owned(), chosen.value)),
        Some(Ok(chosen)) => {
            class = class.or(Some(Failure::Verifier));
            note = Some(format!("the reward `{}` is {TOO_LARGE}", chosen.key.escape_debug()));
        }
        Some(Err(error)) => {
            // That it is unclear which reward counts is nobody's failure.
            if !matches!(error, RewardError::NoSuchKey { .. } | RewardError::Unclear { .. }) {
                class = class.or(Some(Failure::Verifier));
            }
            note = Some(error.to_string());
        }
        None if failure.is_none() => note = Some("no verifier has graded it".to_owned()),
        None => {}
    }
    let broken = matches!(class, Some(Failure::Infrastructure | Failure::Verifier | Failure::Cancelled));
    let status = if reward.is_some() && reward_valid && !broken { Status::Complete } else { Status::Partial };
    let (reward_key, reward) = reward.unzip();
    let started_at = result.started_at;
    let usage = result.usage();
    let mut trial = Trial {
        id: result.id.clone().unwrap_or_else(|| format!("{}/{}", result.task_checksum, result.trial_name)),
        job: result.trial_uri.as_deref().and_then(job_of),
        trial_name: result.trial_name.clone(),
        task: result.task_name.clone().or_else(|| folder(result)).unwrap_or_else(|| "unknown".to_owned()),
        task_folder: folder(result),
        task_digest: config.task.reference.filter(|reference| reference.starts_with("sha256:")),
        agent: identity.agent.label.clone(),
        agent_digest: identity.agent.digest.clone(),
        agent_version: identity.agent.version.clone(),
        model: identity.agent.model.clone(),
        environment: config.environment.kind.or(config.environment.import_path),
        status,
        failure: class,
        exception: failure.map(|failure| exception(failure.exception, failure.step)),
        reward,
        reward_key,
        rewards: rewards_of(result.rewards.as_ref()),
        reward_valid,
        note,
        started_at: started_at.map(|time| time.to_string()),
        finished_at: result.finished_at.map(|time| time.to_string()),
        seconds: Seconds {
            environment: seconds(result.environment_setup),
            agent_setup: seconds(result.agent_setup),
            agent: phase(result.agent_execution, result, |step| step.agent_execution),
            verifier: phase(result.verifier, result, |step| step.verifier),
            total: total(started_at, result.finished_at),
        },
        steps: result.steps.iter().map(step).collect(),
        regrade_of: config.source_trial.regraded().map(str::to_owned),
        ..Trial::default()
    };
    verdict.tell(&mut trial.rewards);
    trial.spending(Claimed { tokens: tokens(&usage), cost_usd: usage.cost_usd }, verdict.metered)
}

/// The name of the task's folder, without the organisation of a package: plans and results write it alike.
fn folder(result: &TrialResult) -> Option<String> {
    result.task_id.folder().map(|name| folder_name(name).to_owned())
}

/// The last part of a name with slashes.
pub(crate) fn folder_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// The folder of the job in the address that a trial had when it ran.
fn job_of(uri: &str) -> Option<String> {
    let mut parts = uri.strip_prefix("file://")?.trim_end_matches('/').rsplit('/');
    parts.next()?;
    parts.next().filter(|name| !name.is_empty()).map(str::to_owned)
}

fn exception(exception: &result::Exception, step: Option<&str>) -> Exception {
    let message = &exception.message;
    let kept = &message[..message.floor_char_boundary(MESSAGE)];
    let message = if kept.len() < message.len() {
        format!("{kept} ... and {} bytes more", message.len() - kept.len())
    } else {
        message.clone()
    };
    Exception { kind: exception.kind.clone(), message, step: step.map(str::to_owned) }
}

fn rewards_of(rewards: Option<&rewards::Rewards>) -> Vec<Reward> {
    let each = |(key, reward): (&str, &rewards::Reward)| {
        let value = reward.value.ok().filter(|value| is_reward(*value));
        let too_large = reward.value.is_ok().then(|| TOO_LARGE.to_owned());
        Reward {
            key: key.to_owned(),
            value,
            text: (value.is_none() || !says(&reward.text, value)).then(|| reward.text.clone()),
            reason: value
                .is_none()
                .then(|| reward.value.err().map(|reason| reason.to_string()).or(too_large))
                .flatten(),
            baseline: None,
            direction: None,
        }
    };
    rewards.map(|rewards| rewards.iter().map(each).collect()).unwrap_or_default()
}

/// Whether a number says no less than the text that it was read from. Sixteen digits are more than a double can be sure of.
fn says(text: &str, value: Option<f64>) -> bool {
    value.is_some() && text.bytes().filter(u8::is_ascii_digit).count() < 16
}

fn seconds(span: Option<Span>) -> Option<f64> {
    span.and_then(Span::seconds)
}

/// The time of a phase: the trial's own or that of its steps together.
fn phase(
    own: Option<Span>,
    result: &TrialResult,
    of: impl Fn(&result::StepResult) -> Option<Span>,
) -> Option<f64> {
    seconds(own)
        .or_else(|| result.steps.iter().filter_map(|step| seconds(of(step))).reduce(|sum, next| sum + next))
}

fn total(started: Option<Timestamp>, finished: Option<Timestamp>) -> Option<f64> {
    seconds(Some(Span { started_at: started, finished_at: finished }))
}

fn tokens(usage: &AgentResult) -> Tokens {
    let kept = |count: Option<u64>| count.filter(|count| i64::try_from(*count).is_ok());
    Tokens {
        input: kept(usage.n_input_tokens),
        cached: kept(usage.n_cache_tokens),
        output: kept(usage.n_output_tokens),
    }
}

fn step(step: &result::StepResult) -> Step {
    let usage = step.agent_result.clone().unwrap_or_default();
    Step {
        name: step.name.clone().unwrap_or_default(),
        rewards: rewards_of(step.rewards.as_ref()),
        exception: step.exception.as_ref().map(|raised| exception(raised, None)),
        seconds: Seconds {
            agent: seconds(step.agent_execution),
            verifier: seconds(step.verifier),
            ..Seconds::default()
        },
        tokens: tokens(&usage),
        cost_usd: usage.cost_usd,
    }
}
