//! A trial's `result.json`, of every Harbor version from 0.1.0 to 0.26.
//!
//! Reading is lenient where versions differ and strict where a mistake would change what a trial is: all but the
//! trial's identity may be absent or of another type and is then unknown; what is no trial is refused by its name.
//!
//! ```
//! use taskwright_harbor::result::TrialResult;
//!
//! let trial = TrialResult::parse(
//!     br#"{"trial_name": "sort__a1b2c3d", "task_checksum": "0a", "config": {"agent": {"name": "oracle"}},
//!          "task_name": "acme/sort", "verifier_result": {"rewards": {"reward": 0.5}}}"#,
//! )?;
//! assert_eq!(trial.rewards.as_ref().unwrap().choose(None).unwrap().value, 0.5);
//! assert_eq!(trial.config().agent.name.as_deref(), Some("oracle"));
//!
//! let refused = TrialResult::parse(br#"{"is_resolved": true, "trial_name": "sort.1-of-1"}"#).unwrap_err();
//! assert!(refused.to_string().starts_with("is a result of Terminal-Bench 1"));
//! # Ok::<(), taskwright_harbor::document::Problem>(())
//! ```

mod config;
mod parse;
mod version;

use serde_json::value::RawValue;

pub use config::{AgentConfig, EnvironmentConfig, TaskConfig, TrialConfig};
pub use parse::kind;
pub(crate) use parse::time;
pub use version::{VersionRange, infer_version};

use crate::policy::Policy;
use crate::rewards::Rewards;
use crate::time::{Span, Timestamp};

/// What Harbor says of a trial that has ended.
#[derive(Debug, Clone, Default)]
pub struct TrialResult {
    /// The version of the format; none before Harbor 0.26, and then it is 1.
    pub schema_version: Option<u64>,
    /// Harbor's own id of this try; a trial that was tried again has another.
    pub id: Option<String>,
    /// The task's name as its own `task.toml` has it; without one the name of its folder.
    pub task_name: Option<String>,
    /// The trial's name, which its folder had when it ran.
    pub trial_name: String,
    /// Where the trial's folder was when it ran. Never opened.
    pub trial_uri: Option<String>,
    /// What the task is.
    pub task_id: TaskId,
    /// The dataset or folder that the task came from.
    pub source: Option<String>,
    /// A digest of the task's folder by a rule that changed with versions; only good for comparing with itself.
    pub task_checksum: String,
    /// The trial's configuration as it stands in the result, except that numbers that JSON lacks are strings.
    pub raw_config: Option<Box<RawValue>>,
    /// The agent as it named itself.
    pub agent_info: AgentInfo,
    /// What the agent used; none if it never ran, and in trials of several steps.
    pub agent_result: Option<AgentResult>,
    /// What the verifier reported; none if it reported nothing.
    pub rewards: Option<Rewards>,
    /// In whose container the verifier ran: `shared` or `separate`; since Harbor 0.21.
    pub verifier_environment_mode: Option<String>,
    /// What went wrong.
    pub exception: Option<Exception>,
    /// When the trial began.
    pub started_at: Option<Timestamp>,
    /// When the trial ended.
    pub finished_at: Option<Timestamp>,
    /// When the environment was built and started.
    pub environment_setup: Option<Span>,
    /// When the agent was installed.
    pub agent_setup: Option<Span>,
    /// When the agent worked.
    pub agent_execution: Option<Span>,
    /// When the verifier worked.
    pub verifier: Option<Span>,
    /// The steps, in a trial of several.
    pub steps: Vec<StepResult>,
    /// Whether Harbor counts the reward; since 0.26. See [`crate::exceptions::reward_is_valid`] for all versions.
    pub reward_valid: Option<bool>,
}

/// What a trial's task is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TaskId {
    /// A folder.
    Local {
        /// Its path where the trial ran. Never opened.
        path: String,
    },
    /// A folder of a git repository.
    Git {
        /// The repository.
        url: String,
        /// The commit, if one was asked for.
        commit: Option<String>,
        /// The folder in it.
        path: String,
    },
    /// A package of a registry.
    Package {
        /// Its organisation.
        org: String,
        /// Its name.
        name: String,
        /// Its version, tag or digest.
        reference: Option<String>,
    },
    /// The result does not say.
    #[default]
    Unknown,
}

/// An agent as it named itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentInfo {
    /// Its name.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The model's name.
    pub model_name: Option<String>,
    /// The model's provider.
    pub model_provider: Option<String>,
}

/// What an agent used.
#[derive(Debug, Clone, Default)]
pub struct AgentResult {
    /// Tokens that were read, those from a cache among them.
    pub n_input_tokens: Option<u64>,
    /// Tokens that were read from a cache.
    pub n_cache_tokens: Option<u64>,
    /// Tokens that were written.
    pub n_output_tokens: Option<u64>,
    /// The cost in US dollars.
    pub cost_usd: Option<f64>,
    /// The same by model, as Harbor wrote it; since 0.23.
    pub model_usage: Option<Box<RawValue>>,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Exception {
    /// The type's name, without its module.
    pub kind: String,
    /// What it says. Whoever raised it chose the words: good for reading, not for deciding.
    pub message: String,
    /// Where it was raised.
    pub traceback: String,
    /// When.
    pub occurred_at: Option<Timestamp>,
    /// What Harbor does about it, the job's own rules applied; since 0.26.
    pub policy: Option<Policy>,
    /// Whether the job has a rule of its own for this type.
    pub policy_overridden: bool,
}

/// A step of a trial of several.
#[derive(Debug, Clone, Default)]
pub struct StepResult {
    /// Its name.
    pub name: Option<String>,
    /// What the agent used in it.
    pub agent_result: Option<AgentResult>,
    /// What the verifier reported after it.
    pub rewards: Option<Rewards>,
    /// What went wrong in it.
    pub exception: Option<Exception>,
    /// When the agent worked.
    pub agent_execution: Option<Span>,
    /// When the verifier worked.
    pub verifier: Option<Span>,
}

impl TrialResult {
    /// Reads a `result.json`.
    pub fn parse(bytes: &[u8]) -> Result<Self, crate::document::Problem> {
        parse::trial(bytes)
    }

    /// What its configuration says; what it does not say is absent.
    #[must_use]
    pub fn config(&self) -> TrialConfig {
        self.raw_config.as_deref().map(TrialConfig::take).unwrap_or_default()
    }

    /// Everything that went wrong: of the trial, then of its steps.
    pub fn exceptions(&self) -> impl Iterator<Item = &Exception> {
        self.exception.iter().chain(self.steps.iter().filter_map(|step| step.exception.as_ref()))
    }

    /// What the agent used over all, as Harbor adds it up: the trial's own figures or, if it has none, those of its
    /// steps together. A figure that none of them has is unknown, not zero.
    #[must_use]
    pub fn usage(&self) -> AgentResult {
        if let Some(own) = &self.agent_result {
            return own.clone();
        }
        let parts = || self.steps.iter().filter_map(|step| step.agent_result.as_ref());
        let total = |of: fn(&AgentResult) -> Option<u64>| parts().filter_map(of).reduce(u64::saturating_add);
        AgentResult {
            n_input_tokens: total(|part| part.n_input_tokens),
            n_cache_tokens: total(|part| part.n_cache_tokens),
            n_output_tokens: total(|part| part.n_output_tokens),
            cost_usd: parts().filter_map(|part| part.cost_usd).reduce(|a, b| a + b),
            model_usage: None,
        }
    }
}

impl TaskId {
    /// The name of the task's folder; of a package its name.
    #[must_use]
    pub fn folder(&self) -> Option<&str> {
        match self {
            Self::Local { path } | Self::Git { path, .. } => folder_of(path),
            Self::Package { name, .. } => Some(name),
            Self::Unknown => None,
        }
    }
}

/// The last part of a path of whichever system.
pub(crate) fn folder_of(path: &str) -> Option<&str> {
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests;
