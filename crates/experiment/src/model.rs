//! What a manifest can say, as types. Their doc comments are the reference page, the editor's help and the JSON Schema.
//!
//! Nothing here checks one field against another (that is [`crate::check`]) or reads a file.

mod agent;
mod compute;
mod gateway;
mod schedule;
mod tasks;

pub use agent::Agent;
pub use compute::{Compute, Enforcement, ResourceLimits, Tpu};
pub use gateway::Gateway;
pub use schedule::{HarborTool, Metric, MetricWord, Retries, ScriptMetric, Timeouts, Verification};
pub use tasks::{BuiltTasks, LocalTasks, RegistryTasks, TaskSet};

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

fn one() -> u64 {
    1
}
