//! The documents of a job: its configuration, its lock and its result.

use super::planned::PlannedTrials;
use crate::document::{Kind, Problem, count, items, object, parse, parts, text};
use crate::time::Timestamp;

/// A job's `config.json`.
#[derive(Debug, Clone, Default)]
pub struct JobConfig {
    /// Its name.
    pub job_name: Option<String>,
    /// How often each task is tried by each agent; left out where it is once, by versions that leave out defaults.
    pub n_attempts: Option<u64>,
}

/// A job's `lock.json`, which Harbor writes since 0.6.6.
#[derive(Debug, Clone, Default)]
pub struct JobLock {
    /// The version of the format.
    pub schema_version: Option<u64>,
    /// The version of Harbor that runs the job.
    pub harbor_version: Option<String>,
    /// Every trial that was planned; the same task and agent once for each attempt.
    pub trials: PlannedTrials,
}

/// A job's `result.json`, which Harbor writes again and again while the job runs. Its averages are left alone: what
/// they mean changed with versions, and they say nothing that its trials do not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobResult {
    /// Harbor's id of the job.
    pub id: Option<String>,
    /// When it began, by the clock on the wall.
    pub started_at: Option<Timestamp>,
    /// When this was written.
    pub updated_at: Option<Timestamp>,
    /// When it ended; none while it runs, and if it was stopped.
    pub finished_at: Option<Timestamp>,
    /// How many trials were planned.
    pub n_total_trials: Option<u64>,
    /// How many have ended.
    pub n_completed: Option<u64>,
    /// How many of them with an exception.
    pub n_errored: Option<u64>,
    /// How many run.
    pub n_running: Option<u64>,
    /// How many wait.
    pub n_pending: Option<u64>,
    /// How many were stopped.
    pub n_cancelled: Option<u64>,
    /// How many attempts Harbor threw away and made again; nothing else of them is left.
    pub n_retries: Option<u64>,
}

parts! { ConfigParts { job_name, n_attempts, jobs_dir, agents, datasets, tasks, orchestrator } }
parts! { LockParts { schema_version, harbor, trials } }
parts! { HarborParts { version } }
parts! { ResultParts { id, started_at, updated_at, finished_at, n_total_trials, stats } }
parts! {
    StatsParts {
        n_completed_trials, n_errored_trials, n_running_trials, n_pending_trials, n_cancelled_trials, n_retries,
        n_trials, n_errors,
    }
}

impl JobConfig {
    /// Reads a job's `config.json`.
    pub fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        parse(bytes, |text| serde_json::from_str(text).map(|parts: ConfigParts<'_>| Self::take(&parts)))?
            .ok_or(Problem::WrongKind { found: Kind::Unknown, wanted: Kind::JobConfig })
    }

    fn take(parts: &ConfigParts<'_>) -> Option<Self> {
        let keys = [
            parts.job_name,
            parts.n_attempts,
            parts.jobs_dir,
            parts.agents,
            parts.datasets,
            parts.tasks,
            parts.orchestrator,
        ];
        let config = Self { job_name: text(parts.job_name), n_attempts: count(parts.n_attempts) };
        keys.iter().any(Option::is_some).then_some(config)
    }
}

impl JobLock {
    /// Reads a job's `lock.json` of any version.
    pub fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        parse(bytes, |text| serde_json::from_str(text).map(|parts: LockParts<'_>| Self::take(&parts)))?
            .ok_or(Problem::WrongKind { found: Kind::Unknown, wanted: Kind::JobLock })
    }

    fn take(parts: &LockParts<'_>) -> Option<Self> {
        parts.trials?;
        Some(Self {
            schema_version: count(parts.schema_version),
            harbor_version: object::<HarborParts<'_>>(parts.harbor).and_then(|harbor| text(harbor.version)),
            trials: PlannedTrials::take(items(parts.trials)),
        })
    }
}

impl JobResult {
    /// Reads a job's `result.json`.
    pub fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        parse(bytes, |text| serde_json::from_str(text).map(|parts: ResultParts<'_>| Self::take(&parts)))?
            .ok_or(Problem::WrongKind { found: Kind::Unknown, wanted: Kind::Job })
    }

    fn take(parts: &ResultParts<'_>) -> Option<Self> {
        parts.n_total_trials?;
        let stats = object::<StatsParts<'_>>(parts.stats)?;
        Some(Self {
            id: text(parts.id),
            started_at: Timestamp::take(parts.started_at),
            updated_at: Timestamp::take(parts.updated_at),
            finished_at: Timestamp::take(parts.finished_at),
            n_total_trials: count(parts.n_total_trials),
            n_completed: count(stats.n_completed_trials.or(stats.n_trials)),
            n_errored: count(stats.n_errored_trials.or(stats.n_errors)),
            n_running: count(stats.n_running_trials),
            n_pending: count(stats.n_pending_trials),
            n_cancelled: count(stats.n_cancelled_trials),
            n_retries: count(stats.n_retries),
        })
    }
}
