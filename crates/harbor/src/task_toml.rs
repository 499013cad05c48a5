//! Harbor's `task.toml`, schema 1.4, as types: read, written and checked here, and nowhere else.

mod agent;
mod artifact;
mod default;
mod environment;
mod host;
mod metadata;
mod number;
mod overrides;
mod step;
mod validate;
mod verifier;

pub use agent::{Agent, Author, PackageInfo, Solution, User};
pub use artifact::{Artifact, ArtifactEntry};
pub use environment::{Environment, Healthcheck, McpServer, McpTransport, NetworkMode, Os, Tpu};
pub use overrides::TaskOverrides;
pub use step::{MinReward, RewardStrategy, Step};
pub use validate::Problem;
pub use verifier::{CollectHook, EnvironmentMode, Verifier};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::default::is_default;
use crate::version::SCHEMA_VERSION;

/// The compose service that runs the agent; every other service is a sidecar.
pub const MAIN_SERVICE: &str = "main";

/// A whole `task.toml`.
///
/// Only what is set is written, so a value that is absent here is Harbor's default, not ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskToml {
    /// Version of the file format. Harbor records it but decides nothing by it. Default: `"1.4"`.
    #[serde(default = "schema_version")]
    pub schema_version: String,

    /// Where the task came from, in free words. Default: not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,

    /// How a multi-step task's reward follows from its steps'. Only for tasks with `[[steps]]`. Default: `"mean"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multi_step_reward_strategy: Option<RewardStrategy>,

    /// What is copied out of the containers when the agent is done, as evidence and, for a separate verifier, as its
    /// input. Each entry is an absolute path in the agent's container, or a table. `/logs/artifacts` is always
    /// collected. Default: nothing more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactEntry>,

    /// The task's name, version and authorship. Default: none, and the directory's name is the task's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<PackageInfo>,

    /// Anything else worth saying about the task; Harbor keeps it and reads only `[metadata.harbor.lint]`.
    /// Default: empty.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub metadata: toml::Table,

    /// How the agent runs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub agent: Agent,

    /// How the work is judged.
    #[serde(default, skip_serializing_if = "is_default")]
    pub verifier: Verifier,

    /// The containers the agent works in.
    #[serde(default, skip_serializing_if = "is_default")]
    pub environment: Environment,

    /// How the reference solution runs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub solution: Solution,

    /// The steps of a multi-step task, in order; each has a folder of its name below `steps/`. Default: single-step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

impl Default for TaskToml {
    fn default() -> Self {
        Self {
            schema_version: schema_version(),
            source: None,
            multi_step_reward_strategy: None,
            artifacts: Vec::new(),
            task: None,
            metadata: toml::Table::new(),
            agent: Agent::default(),
            verifier: Verifier::default(),
            environment: Environment::default(),
            solution: Solution::default(),
            steps: Vec::new(),
        }
    }
}

impl TaskToml {
    /// The file's text: TOML 1.0, the same bytes for the same value, plain keys before tables.
    ///
    /// Write what [`validate`](Self::validate) has nothing to say about: a count that TOML cannot hold (above
    /// `i64::MAX`) is one of its problems, and is written here as the greatest that TOML can.
    ///
    /// ```
    /// use taskwright_harbor::task_toml::TaskToml;
    ///
    /// let mut task = TaskToml::default();
    /// task.agent.timeout_sec = Some(900.0);
    /// assert_eq!(task.to_toml(), "schema_version = \"1.4\"\n\n[agent]\ntimeout_sec = 900.0\n");
    /// ```
    #[must_use]
    pub fn to_toml(&self) -> String {
        let canonical = Self { metadata: metadata::canonical(&self.metadata), ..self.clone() };
        // Serialising fails on integers above i64::MAX (the counts' serialiser caps them) and on `None` inside a
        // list (no list here holds options). Should that ever change, a text no TOML reader accepts makes the
        // mistake loud, where an empty one would be a valid task.toml with all defaults.
        toml::to_string(&canonical)
            .unwrap_or_else(|error| format!("= this is a bug in Taskwright: {error}\n"))
    }

    /// What Harbor would refuse, or take without the effect its author meant; empty when all is well.
    #[must_use]
    pub fn validate(&self) -> Vec<Problem> {
        validate::task_toml(self)
    }
}

fn schema_version() -> String {
    SCHEMA_VERSION.to_owned()
}

#[cfg(test)]
mod tests;
