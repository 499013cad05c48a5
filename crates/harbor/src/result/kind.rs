//! What a JSON document is, told by its keys.

use crate::document::{Kind, Problem, parse, parts};

parts! {
    /// The keys that tell documents apart.
    KindParts {
        trial_name, task_checksum, config, is_resolved, n_total_trials, stats, trials, task, agent, agents, job_name,
    }
}

/// What a JSON document is.
pub fn kind(bytes: &[u8]) -> Result<Kind, Problem> {
    match parse(bytes, |text| serde_json::from_str(text).map(|parts: KindParts<'_>| kind_of(&parts))) {
        Err(Problem::WrongKind { found, .. }) => Ok(found),
        other => other,
    }
}

fn kind_of(parts: &KindParts<'_>) -> Kind {
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
