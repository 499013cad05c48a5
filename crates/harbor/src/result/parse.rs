//! How a `result.json` is taken apart: each part as it stands, then what of it is understood.

use serde_json::value::RawValue;

use super::{AgentInfo, AgentResult, Exception, StepResult, TaskId, TrialResult};
use crate::document::{Kind, Problem, count, flag, items, number, object, parse, parts, text};
use crate::policy::Policy;
use crate::rewards::Rewards;
use crate::time::{Span, Timestamp};

/// The newest format of a result that is understood.
const NEWEST_SCHEMA: u64 = 1;

parts! {
    /// A trial's result, and the keys that tell other documents.
    TrialParts {
        schema_version, id, task_name, trial_name, trial_uri, task_id, source, task_checksum, config, agent_info,
        agent_result, verifier_result, verifier_environment_mode, exception_info, started_at, finished_at,
        environment_setup, agent_setup, agent_execution, verifier, step_results, reward_valid,
        is_resolved, n_total_trials, stats, trials, task, agent, agents, job_name,
    }
}
parts! { TaskIdParts { path, git_url, git_commit_id, org, name, reference = "ref" } }
parts! { AgentInfoParts { name, version, model_info } }
parts! { ModelInfoParts { name, provider } }
parts! { AgentResultParts { n_input_tokens, n_cache_tokens, n_output_tokens, cost_usd, model_usage } }
parts! { VerifierResultParts { rewards } }
parts! {
    ExceptionParts {
        exception_type, exception_message, exception_traceback, occurred_at, policy, policy_override,
    }
}
parts! { PolicyParts { should_retry, should_grade, has_valid_reward } }
parts! { SpanParts { started_at, finished_at } }
parts! { StepParts { step_name, agent_result, verifier_result, exception_info, agent_execution, verifier } }

/// What a JSON document is.
pub fn kind(bytes: &[u8]) -> Result<Kind, Problem> {
    match parse(bytes, |text| serde_json::from_str(text).map(|parts: TrialParts<'_>| kind_of(&parts))) {
        Err(Problem::WrongKind { found, .. }) => Ok(found),
        other => other,
    }
}

fn kind_of(parts: &TrialParts<'_>) -> Kind {
    let is_trial = parts.trial_name.is_some() && parts.task_checksum.is_some() && parts.config.is_some();
    if is_trial {
        Kind::Trial
    } else if parts.n_total_trials.is_some() && parts.stats.is_some() {
        Kind::Job
    } else if parts.is_resolved.is_some() {
        Kind::TerminalBench1
    } else if parts.trials.is_some_and(|raw| raw.get().starts_with('[')) && parts.task.is_none() {
        Kind::JobLock
    } else if parts.task.is_some_and(|raw| raw.get().starts_with('{')) && parts.agent.is_some() {
        if parts.trial_name.is_some() { Kind::TrialConfig } else { Kind::TrialLock }
    } else if parts.task.is_some() && parts.trial_name.is_some() {
        Kind::TrialConfig
    } else if parts.job_name.is_some() || parts.agents.is_some() {
        Kind::JobConfig
    } else {
        Kind::Unknown
    }
}

/// Reads a trial's result.
pub(super) fn trial(bytes: &[u8]) -> Result<TrialResult, Problem> {
    let read = parse(bytes, |text| serde_json::from_str(text).map(|parts: TrialParts<'_>| take(&parts)));
    match read {
        Ok(trial) => trial,
        Err(Problem::WrongKind { found, .. }) => Err(Problem::WrongKind { found, wanted: Kind::Trial }),
        Err(problem) => Err(problem),
    }
}

fn take(parts: &TrialParts<'_>) -> Result<TrialResult, Problem> {
    let schema_version = count(parts.schema_version);
    if let Some(version) = schema_version.filter(|version| *version > NEWEST_SCHEMA) {
        return Err(Problem::NewerSchema(version));
    }
    let wrong = |found| Problem::WrongKind { found, wanted: Kind::Trial };
    let found = kind_of(parts);
    if found != Kind::Trial {
        return Err(wrong(found));
    }
    let (Some(trial_name), Some(task_checksum)) = (text(parts.trial_name), text(parts.task_checksum)) else {
        return Err(wrong(Kind::Unknown));
    };
    Ok(TrialResult {
        schema_version,
        id: text(parts.id),
        task_name: text(parts.task_name),
        trial_name,
        trial_uri: text(parts.trial_uri),
        task_id: task_id(parts.task_id),
        source: text(parts.source),
        task_checksum,
        raw_config: parts.config.map(ToOwned::to_owned),
        agent_info: agent_info(parts.agent_info),
        agent_result: agent_result(parts.agent_result),
        rewards: rewards(parts.verifier_result),
        verifier_environment_mode: text(parts.verifier_environment_mode),
        exception: exception(parts.exception_info),
        started_at: time(parts.started_at),
        finished_at: time(parts.finished_at),
        environment_setup: span(parts.environment_setup),
        agent_setup: span(parts.agent_setup),
        agent_execution: span(parts.agent_execution),
        verifier: span(parts.verifier),
        steps: items(parts.step_results).into_iter().map(|raw| step(Some(raw))).collect(),
        reward_valid: flag(parts.reward_valid),
    })
}

fn task_id(part: Option<&RawValue>) -> TaskId {
    let Some(id) = object::<TaskIdParts<'_>>(part) else { return TaskId::Unknown };
    match (text(id.git_url), text(id.path), text(id.org), text(id.name)) {
        (Some(url), Some(path), ..) => TaskId::Git { url, commit: text(id.git_commit_id), path },
        (None, Some(path), ..) => TaskId::Local { path },
        (_, None, Some(org), Some(name)) => TaskId::Package { org, name, reference: text(id.reference) },
        _ => TaskId::Unknown,
    }
}

fn agent_info(part: Option<&RawValue>) -> AgentInfo {
    let Some(info) = object::<AgentInfoParts<'_>>(part) else { return AgentInfo::default() };
    let model = object::<ModelInfoParts<'_>>(info.model_info);
    AgentInfo {
        name: text(info.name),
        version: text(info.version),
        model_name: model.as_ref().and_then(|model| text(model.name)),
        model_provider: model.as_ref().and_then(|model| text(model.provider)),
    }
}

fn agent_result(part: Option<&RawValue>) -> Option<AgentResult> {
    let result = object::<AgentResultParts<'_>>(part)?;
    Some(AgentResult {
        n_input_tokens: count(result.n_input_tokens),
        n_cache_tokens: count(result.n_cache_tokens),
        n_output_tokens: count(result.n_output_tokens),
        cost_usd: number(result.cost_usd),
        model_usage: result.model_usage.map(ToOwned::to_owned),
    })
}

fn rewards(part: Option<&RawValue>) -> Option<Rewards> {
    Rewards::take(object::<VerifierResultParts<'_>>(part)?.rewards)
}

fn exception(part: Option<&RawValue>) -> Option<Exception> {
    let exception = object::<ExceptionParts<'_>>(part)?;
    Some(Exception {
        kind: text(exception.exception_type).unwrap_or_else(|| "unknown".to_owned()),
        message: text(exception.exception_message).unwrap_or_default(),
        traceback: text(exception.exception_traceback).unwrap_or_default(),
        occurred_at: time(exception.occurred_at),
        policy: policy(exception.policy),
        policy_overridden: exception.policy_override.is_some(),
    })
}

fn policy(part: Option<&RawValue>) -> Option<Policy> {
    let policy = object::<PolicyParts<'_>>(part)?;
    Some(Policy {
        retry: flag(policy.should_retry)?,
        grade: flag(policy.should_grade)?,
        valid: flag(policy.has_valid_reward)?,
    })
}

fn step(part: Option<&RawValue>) -> StepResult {
    let Some(step) = object::<StepParts<'_>>(part) else { return StepResult::default() };
    StepResult {
        name: text(step.step_name),
        agent_result: agent_result(step.agent_result),
        rewards: rewards(step.verifier_result),
        exception: exception(step.exception_info),
        agent_execution: span(step.agent_execution),
        verifier: span(step.verifier),
    }
}

fn span(part: Option<&RawValue>) -> Option<Span> {
    let span = object::<SpanParts<'_>>(part)?;
    let span = Span { started_at: time(span.started_at), finished_at: time(span.finished_at) };
    (span != Span::default()).then_some(span)
}

pub(crate) fn time(part: Option<&RawValue>) -> Option<Timestamp> {
    Timestamp::parse(&text(part)?)
}
