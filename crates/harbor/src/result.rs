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
mod kind;
mod version;

use serde_json::value::RawValue;

pub use config::{AgentConfig, EnvironmentConfig, TaskConfig, TrialConfig};
pub use kind::kind;
pub use version::{VersionRange, infer_version};

use crate::document::{
    Kind, Part, Problem, any, count, fields, flag, items, number, object, parse, parts, text,
};
use crate::policy::Policy;
use crate::rewards::Rewards;
use crate::time::{Span, Timestamp};

/// The newest format of a result that is understood.
const NEWEST_SCHEMA: u64 = 1;

fields! {
    /// What Harbor says of a trial that has ended.
    #[derive(Debug, Clone, Default)]
    TrialResult, TrialParts {
        /// The version of the format; none before Harbor 0.26, and then it is 1.
        schema_version: Option<u64> = count,
        /// Harbor's own id of this attempt; a trial that was tried again has another.
        id: Option<String> = text,
        /// The task's name as its own `task.toml` has it; without one the name of its folder.
        task_name: Option<String> = text,
        /// The trial's name, which its folder had when it ran.
        trial_name: String = |part| text(part).unwrap_or_default(),
        /// Where the trial's folder was when it ran. Never opened.
        trial_uri: Option<String> = text,
        /// What the task is.
        task_id: TaskId = TaskId::take,
        /// The dataset or folder that the task came from.
        source: Option<String> = text,
        /// A digest of the task's folder by a rule that changed with versions; only good for comparing with itself.
        task_checksum: String = |part| text(part).unwrap_or_default(),
        /// The trial's configuration as it stands in the result, except that numbers that JSON lacks are strings.
        raw_config["config"]: Option<Box<RawValue>> = any,
        /// The agent as it named itself.
        agent_info: AgentInfo = AgentInfo::take,
        /// What the agent used; none if it never ran, and in trials of several steps.
        agent_result: Option<AgentResult> = AgentResult::take,
        /// What the verifier reported; none if it reported nothing.
        rewards["verifier_result"]: Option<Rewards> = rewards,
        /// In whose container the verifier ran: `shared` or `separate`; since Harbor 0.21.
        verifier_environment_mode: Option<String> = text,
        /// What went wrong.
        exception["exception_info"]: Option<Exception> = Exception::take,
        /// When the trial began.
        started_at: Option<Timestamp> = Timestamp::take,
        /// When the trial ended.
        finished_at: Option<Timestamp> = Timestamp::take,
        /// When the environment was built and started.
        environment_setup: Option<Span> = Span::take,
        /// When the agent was installed.
        agent_setup: Option<Span> = Span::take,
        /// When the agent worked.
        agent_execution: Option<Span> = Span::take,
        /// When the verifier worked.
        verifier: Option<Span> = Span::take,
        /// The steps, in a trial of several.
        steps["step_results"]: Vec<StepResult> = steps,
        /// Whether Harbor counts the reward; since 0.26. See [`crate::exceptions::reward_is_valid`] for all versions.
        reward_valid: Option<bool> = flag,
    }
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

fields! {
    /// What an agent used.
    #[derive(Debug, Clone, Default)]
    AgentResult, AgentResultParts {
        /// Tokens that were read, those from a cache among them.
        n_input_tokens: Option<u64> = count,
        /// Tokens that were read from a cache.
        n_cache_tokens: Option<u64> = count,
        /// Tokens that were written.
        n_output_tokens: Option<u64> = count,
        /// The cost in US dollars.
        cost_usd: Option<f64> = number,
        /// The same by model, as Harbor wrote it; since 0.23.
        model_usage: Option<Box<RawValue>> = any,
    }
}

fields! {
    /// Something that went wrong.
    #[derive(Debug, Clone, PartialEq)]
    Exception, ExceptionParts {
        /// The type's name, without its module.
        kind["exception_type"]: String = |part| text(part).unwrap_or_else(|| "unknown".to_owned()),
        /// What it says. Whoever raised it chose the words: good for reading, not for deciding.
        message["exception_message"]: String = |part| text(part).unwrap_or_default(),
        /// Where it was raised.
        traceback["exception_traceback"]: String = |part| text(part).unwrap_or_default(),
        /// When.
        occurred_at: Option<Timestamp> = Timestamp::take,
        /// What Harbor does about it, the job's own rules applied; since 0.26.
        policy: Option<Policy> = Policy::take,
        /// Whether the job has a rule of its own for this type.
        policy_overridden["policy_override"]: bool = |part: Part<'_>| part.is_some(),
    }
}

fields! {
    /// A step of a trial of several.
    #[derive(Debug, Clone, Default)]
    StepResult, StepParts {
        /// Its name.
        name["step_name"]: Option<String> = text,
        /// What the agent used in it.
        agent_result: Option<AgentResult> = AgentResult::take,
        /// What the verifier reported after it.
        rewards["verifier_result"]: Option<Rewards> = rewards,
        /// What went wrong in it.
        exception["exception_info"]: Option<Exception> = Exception::take,
        /// When the agent worked.
        agent_execution: Option<Span> = Span::take,
        /// When the verifier worked.
        verifier: Option<Span> = Span::take,
    }
}

impl TrialResult {
    /// Reads a `result.json`.
    pub fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        let wrong = |found| Problem::WrongKind { found, wanted: Kind::Trial };
        let read =
            parse(bytes, |text| serde_json::from_str(text).map(|parts: TrialParts<'_>| Self::read(&parts)));
        match read {
            Ok(read) => match read? {
                Some(trial) => Ok(trial),
                // With the keys of a trial, but no names under them, it is none either.
                None => match kind(bytes)? {
                    Kind::Trial => Err(wrong(Kind::Unknown)),
                    found => Err(wrong(found)),
                },
            },
            Err(Problem::WrongKind { found, .. }) => Err(wrong(found)),
            Err(problem) => Err(problem),
        }
    }

    /// None if it is no trial's.
    fn read(parts: &TrialParts<'_>) -> Result<Option<Self>, Problem> {
        if let Some(version) = count(parts.schema_version).filter(|version| *version > NEWEST_SCHEMA) {
            return Err(Problem::NewerSchema(version));
        }
        let is_text = |part: Part<'_>| part.is_some_and(|raw| raw.get().starts_with('"'));
        let is_trial =
            is_text(parts.trial_name) && is_text(parts.task_checksum) && parts.raw_config.is_some();
        Ok(is_trial.then(|| Self::of(parts)))
    }

    /// What its configuration says; what it does not say is absent.
    #[must_use]
    pub fn config(&self) -> TrialConfig {
        TrialConfig::take(self.raw_config.as_deref()).unwrap_or_default()
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
        // More than can be counted is unknown, and not the most that can.
        let total = |of: fn(&AgentResult) -> Option<u64>| {
            parts().filter_map(of).map(Some).reduce(|sum, part| sum?.checked_add(part?)).flatten()
        };
        AgentResult {
            n_input_tokens: total(|part| part.n_input_tokens),
            n_cache_tokens: total(|part| part.n_cache_tokens),
            n_output_tokens: total(|part| part.n_output_tokens),
            cost_usd: parts().filter_map(|part| part.cost_usd).reduce(|a, b| a + b),
            model_usage: None,
        }
    }
}

parts! { TaskIdParts { path, git_url, git_commit_id, org, name, reference = "ref" } }
parts! { AgentInfoParts { name, version, model_info } }
parts! { ModelInfoParts { name, provider } }
parts! { VerifierResultParts { rewards } }

impl TaskId {
    fn take(part: Part<'_>) -> Self {
        let Some(id) = object::<TaskIdParts<'_>>(part) else { return Self::Unknown };
        match (text(id.git_url), text(id.path), text(id.org), text(id.name)) {
            (Some(url), Some(path), ..) => Self::Git { url, commit: text(id.git_commit_id), path },
            (None, Some(path), ..) => Self::Local { path },
            (_, None, Some(org), Some(name)) => Self::Package { org, name, reference: text(id.reference) },
            _ => Self::Unknown,
        }
    }

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

impl AgentInfo {
    fn take(part: Part<'_>) -> Self {
        let Some(info) = object::<AgentInfoParts<'_>>(part) else { return Self::default() };
        let model = object::<ModelInfoParts<'_>>(info.model_info);
        Self {
            name: text(info.name),
            version: text(info.version),
            model_name: model.as_ref().and_then(|model| text(model.name)),
            model_provider: model.as_ref().and_then(|model| text(model.provider)),
        }
    }
}

fn rewards(part: Part<'_>) -> Option<Rewards> {
    Rewards::take(object::<VerifierResultParts<'_>>(part)?.rewards)
}

fn steps(part: Part<'_>) -> Vec<StepResult> {
    items(part).into_iter().map(|raw| StepResult::take(Some(raw)).unwrap_or_default()).collect()
}

/// The last part of a path of whichever system.
pub(crate) fn folder_of(path: &str) -> Option<&str> {
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests;
