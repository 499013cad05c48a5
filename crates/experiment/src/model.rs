//! What a manifest can say, as types. Their doc comments are the reference page, the editor's help and the JSON Schema.
//!
//! Nothing here checks one field against another (that is [`crate::check`]) or reads a file.

mod agent;
mod compute;
mod gateway;
mod schedule;
mod tasks;
mod user;

pub use agent::{Agent, ApiFormat, McpServer, RemoteServer, StartedServer, Transport};
pub use compute::{Compute, Enforcement, ImageMount, Mount, PathMount, ResourceLimits, Tpu, VolumeMount};
pub use gateway::Gateway;
pub use schedule::{HarborTool, Metric, MetricWord, Retries, ScriptMetric, Timeouts, Verification};
pub use tasks::{BuiltTasks, GitTasks, LocalTasks, RegistryTasks, TaskSet};
pub use user::{Bridge, BridgeKind, SimulatedUser};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use taskwright_language::model::{Scalar, SpecPath};

/// Which agents try which tasks, how often and where. A manifest is the TOML form of this table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Another manifest whose tables this one inherits: tables are merged key by key, everything else is replaced.
    #[serde(default, skip_serializing)]
    pub extends: Option<SpecPath>,
    /// Named values with their defaults, used as `${name}` in any string; `--set name=value` overrides one; `$${` is a
    /// literal `${`.
    #[serde(default, skip_serializing)]
    pub params: BTreeMap<String, Scalar>,
    /// The experiment's name, by which the ledger knows its trials: lower-case letters, digits and dashes, at most 32
    /// characters.
    pub name: String,
    /// One sentence that says what is to be found out.
    #[serde(default)]
    pub description: String,
    /// The tasks, from one or several sources.
    pub tasks: Vec<TaskSet>,
    /// The agents. Each of them runs on each task.
    pub agents: Vec<Agent>,
    /// Texts that are added to the instruction of every task.
    #[serde(default)]
    pub extra_instructions: Vec<String>,
    /// Text files that are added to the instruction of every task, before `extra_instructions`.
    #[serde(default)]
    pub extra_instruction_files: Vec<SpecPath>,
    /// An agent that plays the user in every trial.
    #[serde(default)]
    pub simulated_user: Option<SimulatedUser>,
    /// How often each agent runs on each task.
    #[serde(default = "one")]
    pub repetitions: u64,
    /// The agents' metered way to language models; without it they find what the machine that runs Harbor has.
    #[serde(default)]
    pub gateway: Option<Gateway>,
    /// Which of the rewards counts; without it `reward`, or the only one there is.
    #[serde(default)]
    pub reward_key: Option<String>,
    /// Where the trials run, and what they may use.
    #[serde(default)]
    pub compute: Compute,
    /// Trials that are tried again.
    #[serde(default)]
    pub retries: Retries,
    /// Limits of time.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// How the agents' work is graded.
    #[serde(default)]
    pub verification: Verification,
    /// What Harbor computes of the rewards for its own displays; the mean if nothing is named. The ledger's statistics do
    /// not depend on it.
    #[serde(default)]
    pub metrics: Vec<Metric>,
    /// Which Harbor runs it.
    #[serde(default)]
    pub harbor: HarborTool,
}

impl Experiment {
    /// Whether it says something that only the last release of Harbor was tried with.
    pub fn needs_last(&self) -> bool {
        let agents = self.agents.iter().any(|agent| {
            agent.base_url.is_some()
                || agent.api_key_name.is_some()
                || agent.api_format.is_some()
                || agent.skip_model_parsing
                || !agent.mcp_servers.is_empty()
        });
        let is_git = |set: &TaskSet| matches!(set, TaskSet::Git(_));
        agents
            || self.tasks.iter().any(is_git)
            || self.simulated_user.is_some()
            || !self.extra_instructions.is_empty()
            || !self.extra_instruction_files.is_empty()
            || !self.compute.compose.is_empty()
            || !self.compute.mounts.is_empty()
    }
}

fn one() -> u64 {
    1
}
