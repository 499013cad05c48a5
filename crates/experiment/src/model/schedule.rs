//! How an experiment is scheduled: retries, time, grading, metrics and the Harbor that runs it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use taskwright_language::model::SpecPath;

/// Trials that are tried again. Harbor keeps only the last attempt of a trial: where every attempt must stay evidence, leave this
/// out and raise `repetitions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retries {
    /// How often a failed trial is tried again.
    #[serde(default)]
    pub max: u64,
    /// Seconds before the first retry.
    #[serde(default = "Retries::first_wait")]
    pub min_wait_sec: f64,
    /// The most seconds before a retry.
    #[serde(default = "Retries::longest_wait")]
    pub max_wait_sec: f64,
    /// By how much the wait grows with each retry.
    #[serde(default = "factor")]
    pub wait_multiplier: f64,
    /// Types of exceptions that are tried again; empty means Harbor's own list.
    #[serde(default)]
    pub include: Vec<String>,
    /// Types of exceptions that are not tried again, besides Harbor's own list.
    #[serde(default)]
    pub exclude: Vec<String>,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            max: 0,
            min_wait_sec: Self::first_wait(),
            max_wait_sec: Self::longest_wait(),
            wait_multiplier: factor(),
            include: Vec::new(),
            exclude: Vec::new(),
        }
    }
}

impl Retries {
    fn first_wait() -> f64 {
        1.0
    }
    fn longest_wait() -> f64 {
        60.0
    }
}

/// Limits of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timeouts {
    /// A factor on every timeout of the tasks.
    #[serde(default = "factor")]
    pub multiplier: f64,
    /// A factor on the agents' time; without it `multiplier`.
    #[serde(default)]
    pub agent_multiplier: Option<f64>,
    /// A factor on the time of the agents' set-up; without it `multiplier`.
    #[serde(default)]
    pub agent_setup_multiplier: Option<f64>,
    /// A factor on the time that building and starting an environment takes; without it `multiplier`.
    #[serde(default)]
    pub environment_build_multiplier: Option<f64>,
    /// A factor on the verifiers' time; without it `multiplier`.
    #[serde(default)]
    pub verifier_multiplier: Option<f64>,
    /// Seconds after which the whole run is stopped; what is finished by then is kept, and `--resume` goes on.
    #[serde(default)]
    pub run_sec: Option<f64>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            multiplier: factor(),
            agent_multiplier: None,
            agent_setup_multiplier: None,
            environment_build_multiplier: None,
            verifier_multiplier: None,
            run_sec: None,
        }
    }
}

/// How the agents' work is graded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    /// Whether it is graded at all. Without it there are no rewards, and no trial is complete.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Seconds for the verifier, instead of what each task gives.
    #[serde(default)]
    pub timeout_sec: Option<f64>,
    /// The most seconds for the verifier, whatever a task gives.
    #[serde(default)]
    pub max_timeout_sec: Option<f64>,
    /// A verifier of one's own, `package.module:Class`, instead of the tasks'.
    #[serde(default)]
    pub import_path: Option<String>,
    /// Arguments of that verifier. Never a secret.
    #[serde(default)]
    pub args: BTreeMap<String, serde_json::Value>,
    /// Names of environment variables of the machine that runs Harbor, which the verifiers get.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// Further environment variables of the verifiers, with their values: never secrets.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

impl Default for Verification {
    fn default() -> Self {
        Self {
            enabled: yes(),
            timeout_sec: None,
            max_timeout_sec: None,
            import_path: None,
            args: BTreeMap::new(),
            secrets: Vec::new(),
            env: BTreeMap::new(),
        }
    }
}

/// What Harbor computes of the rewards: one of its own words, or a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Metric {
    /// One of Harbor's own.
    Word(MetricWord),
    /// A script of one's own.
    Script(ScriptMetric),
}

/// A metric of Harbor's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MetricWord {
    /// The mean.
    Mean,
    /// The sum.
    Sum,
    /// The least.
    Min,
    /// The greatest.
    Max,
}

/// A script of one's own that computes a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptMetric {
    /// The Python file, run by uv as `script -i rewards.jsonl -o metric.json`.
    pub script: SpecPath,
}

/// Which Harbor runs the experiment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HarborTool {
    /// Its version; if none is named, the installed one, where Taskwright was tried with it.
    #[serde(default)]
    pub version: Option<String>,
    /// Its optional parts, for example `["modal"]`, which clouds need.
    #[serde(default)]
    pub extras: Vec<String>,
    /// Folders of further Python packages that are installed beside it: those of environments and verifiers of one's own.
    #[serde(default)]
    pub packages: Vec<SpecPath>,
}

fn factor() -> f64 {
    1.0
}

fn yes() -> bool {
    true
}
