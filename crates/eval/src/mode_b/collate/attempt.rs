//! What one trial is worth.

use std::path::Path;

use taskwright_base::text;
use taskwright_harbor::document::DocumentError;
use taskwright_harbor::exceptions::{AgentCode, Failure, FailureClass, Phase, failure, reward_is_valid};
use taskwright_harbor::job::TrialFolder;
use taskwright_harbor::result::TrialResult;
use taskwright_harbor::rewards::{Chosen, Rewards};
use taskwright_harbor::time::Span;

use super::{JobEnd, Rules, feedback};
use crate::attempts::{Attempt, Claimed, Phases};
use crate::failure::ErrorClass;
use crate::summary::SCORE;

/// How many bytes of an exception's message are kept.
const MESSAGE: usize = 600;

/// An attempt that ended, and where it ranks.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    pub worth: Worth,
    /// The microsecond that it ended in; those that do not say come last.
    pub finished: i64,
    /// What is recorded of it.
    pub attempt: Attempt,
}

/// What an attempt is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Worth {
    /// It has a reward that counts, and this value of the objective's metric.
    Graded(f64),
    /// It has none, by the candidate's own doing.
    Failed,
    /// It has none, and that is not the candidate's doing.
    Unknown,
}

/// Judges a trial that has a result.
pub(super) fn judge(trial: &TrialResult, folder: &TrialFolder, rules: &Rules, end: JobEnd) -> Judged {
    let failure = failure(trial, AgentCode::Candidate);
    let mut attempt = record(trial);
    if let Some(failure) = &failure {
        attempt.exception = Some(failure.exception.kind.clone());
        let step = failure.step.map(|step| format!(" of step `{step}`")).unwrap_or_default();
        attempt.message = cut(&format!("in {}{step}: {}", failure.phase, failure.exception.message));
    }
    let worth = match value(trial, rules) {
        Ok((reward, value)) => {
            attempt.reward = Some(reward.value);
            attempt.reward_key = Some(reward.key.to_owned());
            Worth::Graded(value)
        }
        Err(reason) => {
            // An exception that Harbor would count the reward with is not why it has none.
            let (worth, class) = match &failure {
                Some(failure) if !reward_is_valid(trial) => of_class(failure, end),
                _ => (Worth::Unknown, ErrorClass::Verifier),
            };
            attempt.class = Some(class);
            if attempt.message.is_empty() || reward_is_valid(trial) {
                attempt.message = cut(&reason);
            }
            worth
        }
    };
    if let Some(most) = rules.feedback_bytes {
        (attempt.transcript, attempt.verifier_output) = feedback::tails(folder, most);
    }
    let finished = trial.finished_at.map_or(i64::MAX, |time| time.micros);
    Judged { worth, finished, attempt }
}

/// A trial whose result cannot be read.
pub(super) fn damaged(folder: &TrialFolder, error: &DocumentError) -> Judged {
    let attempt = Attempt {
        trial: folder.name(),
        class: Some(ErrorClass::Infrastructure),
        message: format!("its result.json {}", error.problem),
        ..Attempt::default()
    };
    Judged { worth: Worth::Unknown, finished: i64::MAX, attempt }
}

/// What stands for the attempts at a sample in a job that holds more of them than it planned.
pub(super) fn unplanned(job: &Path, reason: &str) -> Judged {
    let attempt = Attempt {
        trial: job.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        class: Some(ErrorClass::Infrastructure),
        message: reason.to_owned(),
        ..Attempt::default()
    };
    Judged { worth: Worth::Unknown, finished: i64::MAX, attempt }
}

/// An attempt that the candidate failed and that no trial tells of.
pub(super) fn failed(class: ErrorClass, message: &str) -> Judged {
    let attempt = Attempt {
        trial: "no trial".to_owned(),
        class: Some(class),
        message: message.to_owned(),
        ..Attempt::default()
    };
    Judged { worth: Worth::Failed, finished: i64::MAX, attempt }
}

/// The reward that counts and the value of the objective's metric, or why there is none.
fn value<'a>(trial: &'a TrialResult, rules: &Rules) -> Result<(Chosen<'a>, f64), String> {
    let Some(rewards) = &trial.rewards else {
        return Err("the verifier reported no reward".to_owned());
    };
    let reward = rewards.choose(rules.reward_key.as_deref()).map_err(|error| error.to_string())?;
    if !reward_is_valid(trial) {
        return Err("Harbor does not count its reward".to_owned());
    }
    if rules.metric == SCORE {
        return Ok((reward, reward.value));
    }
    let metric = rewards.choose(Some(&rules.metric));
    let value = metric.map_err(|error| format!("the objective's metric is missing: {error}"))?.value;
    Ok((reward, value))
}

fn of_class(failure: &Failure<'_>, end: JobEnd) -> (Worth, ErrorClass) {
    let is_candidates = matches!(failure.phase, Phase::AgentSetup | Phase::Agent);
    match failure.class {
        // Nobody cancelled it but its own code, which can raise that as well.
        FailureClass::Cancelled if is_candidates && end == JobEnd::OfItself => {
            (Worth::Failed, ErrorClass::Candidate)
        }
        FailureClass::Infrastructure | FailureClass::Cancelled => {
            (Worth::Unknown, ErrorClass::Infrastructure)
        }
        FailureClass::Verifier => (Worth::Unknown, ErrorClass::Verifier),
        FailureClass::Candidate => (Worth::Failed, ErrorClass::Candidate),
        FailureClass::Timeout => (Worth::Failed, ErrorClass::Timeout),
        FailureClass::Budget => (Worth::Failed, ErrorClass::Budget),
    }
}

/// What of a trial is recorded whatever it is worth.
fn record(trial: &TrialResult) -> Attempt {
    let usage = trial.usage();
    let metrics = trial.rewards.iter().flat_map(Rewards::finite);
    let whole = Span { started_at: trial.started_at, finished_at: trial.finished_at };
    let seconds = |span: Option<Span>| span.and_then(Span::seconds);
    let over_steps = |of: fn(&taskwright_harbor::result::StepResult) -> Option<Span>| {
        trial.steps.iter().filter_map(|step| seconds(of(step))).reduce(|a, b| a + b)
    };
    Attempt {
        trial: trial.trial_name.clone(),
        id: trial.id.clone(),
        metrics: metrics.map(|(key, value)| (key.to_owned(), value)).collect(),
        phases: Phases {
            environment_setup: seconds(trial.environment_setup),
            agent_setup: seconds(trial.agent_setup),
            agent_execution: seconds(trial.agent_execution)
                .or_else(|| over_steps(|step| step.agent_execution)),
            verifier: seconds(trial.verifier).or_else(|| over_steps(|step| step.verifier)),
        },
        seconds: whole.seconds(),
        claimed: Claimed {
            n_input_tokens: usage.n_input_tokens,
            n_cache_tokens: usage.n_cache_tokens,
            n_output_tokens: usage.n_output_tokens,
            cost_usd: usage.cost_usd,
        },
        ..Attempt::default()
    }
}

fn cut(message: &str) -> String {
    let message = message.trim_end();
    let kept = text::cut(message, MESSAGE);
    let more = if kept.len() < message.len() { " ..." } else { "" };
    kept.to_owned() + more
}
