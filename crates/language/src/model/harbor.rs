//! Mode B: the nested `harbor run` that scores a candidate.

use std::collections::BTreeMap;

#[cfg(feature = "language")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use taskwright_harbor::phases::Changes;

use super::{Aggregate, SpecPath};

/// Mode B: the nested `harbor run` that scores a candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HarborRun {
    /// Where the inner tasks come from: `{ path = "inner-tasks" }` or
    /// `{ registry = "org/name", digest = "sha256:..." }` or `{ registry = "name", version = "1.0" }`.
    pub source: TaskSource,
    /// The candidate's agent class, `package.module:Class`.
    pub agent: String,
    /// Harbor's version beside the candidate.
    #[serde(default = "HarborRun::default_version")]
    pub version: String,
    /// Harbor's optional parts to install, for example `["modal"]`.
    #[serde(default)]
    pub extras: Vec<String>,
    /// The Python version that Harbor and the candidate run under.
    #[serde(default = "HarborRun::default_python")]
    pub python: String,
    /// A file with the version of each package that Harbor and the baseline need, as `uv pip compile` writes it: images and
    /// `cargo xtask eval` then install those. Without it they are resolved together when the image is built, and on a machine
    /// of one's own when something is first evaluated there.
    #[serde(default)]
    pub requirements: Option<SpecPath>,
    /// The model that the candidate's agent is given; `"none"` gives none.
    #[serde(default = "HarborRun::default_model")]
    pub model: String,
    /// Harbor's environment for the inner tasks: `docker`, `modal`, `daytona`, `e2b` ...
    #[serde(default = "HarborRun::default_environment")]
    pub environment: String,
    /// Arguments of that environment, as Harbor's `--ek`.
    #[serde(default)]
    pub environment_args: BTreeMap<String, serde_json::Value>,
    /// Whether Harbor builds the inner tasks' images even where they name a prebuilt one.
    #[serde(default)]
    pub force_build: bool,
    /// What Docker the eval sidecar may use when `environment` is `docker`.
    #[serde(default)]
    pub inner_docker: InnerDocker,
    /// Whom the candidate's process runs as inside the sidecar.
    #[serde(default)]
    pub run_as: RunAs,
    /// How often each inner task is tried in one evaluation.
    #[serde(default = "HarborRun::one")]
    pub attempts: u64,
    /// What those attempts add up to.
    #[serde(default)]
    pub aggregate: Aggregate,
    /// How often a failed trial is tried again.
    #[serde(default)]
    pub max_retries: u64,
    /// Seconds before the first retry.
    #[serde(default = "HarborRun::default_retry_min_wait")]
    pub retry_min_wait_sec: f64,
    /// The most seconds before a retry.
    #[serde(default = "HarborRun::default_retry_max_wait")]
    pub retry_max_wait_sec: f64,
    /// By how much the wait grows with each retry.
    #[serde(default = "HarborRun::default_retry_multiplier")]
    pub retry_wait_multiplier: f64,
    /// Types of exceptions that are tried again; empty means Harbor's own list.
    #[serde(default)]
    pub retry_include: Vec<String>,
    /// Types of exceptions that are not tried again, besides Harbor's own list.
    #[serde(default)]
    pub retry_exclude: Vec<String>,
    /// The reward that counts, which the inner verifiers must report then; without it `reward`, else `pass`, else the
    /// only one there is.
    #[serde(default)]
    pub reward_key: Option<String>,
    /// Seconds that the inner agent is given; without it what the inner task says.
    #[serde(default)]
    pub agent_timeout_sec: Option<f64>,
    /// A factor on every timeout of the inner tasks.
    #[serde(default = "HarborRun::default_multiplier")]
    pub timeout_multiplier: f64,
    /// A factor on the time that the agent may take; without it `timeout_multiplier`.
    #[serde(default)]
    pub agent_timeout_multiplier: Option<f64>,
    /// A factor on the time that the agent's set-up may take; without it `timeout_multiplier`.
    #[serde(default)]
    pub agent_setup_timeout_multiplier: Option<f64>,
    /// A factor on the time that an image build may take; without it `timeout_multiplier`.
    #[serde(default)]
    pub environment_build_timeout_multiplier: Option<f64>,
    /// A factor on the time that the inner verifier may take; without it `timeout_multiplier`.
    #[serde(default)]
    pub verifier_timeout_multiplier: Option<f64>,
    /// Arguments of the agent's class, as Harbor's `--ak`.
    #[serde(default)]
    pub agent_args: BTreeMap<String, serde_json::Value>,
    /// Environment variables of the candidate's agent. A value that is `${NAME}` (written `$${NAME}`) is taken from the
    /// sidecar's environment, where `secrets` put it.
    #[serde(default)]
    pub agent_env: BTreeMap<String, String>,
    /// Environment variables of the inner tasks' environments. Harbor passes the values on as they are written: a task
    /// that needs a variable of the sidecar takes it itself, in its own `[environment.env]`.
    #[serde(default)]
    pub task_env: BTreeMap<String, String>,
    /// Environment variables of the nested Harbor's own process, which is also that of an agent that Harbor loads. Those that
    /// `secrets` and `[gateway]` give it go before them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub process_env: BTreeMap<String, String>,
    /// Further arguments of `harbor run`. Those that Taskwright owns are refused.
    #[serde(default)]
    pub extra_args: Vec<String>,
    /// Further arguments of the outer `harbor run` that `cargo xtask run` starts for this task.
    #[serde(default)]
    pub optimizer_args: Vec<String>,
}

/// Where the inner tasks come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(untagged)]
pub enum TaskSource {
    /// A folder of tasks, or one task, on this machine.
    Local(LocalTasks),
    /// A dataset or a package of a registry.
    Registry(RegistryTasks),
}

/// A folder of tasks, or one task, on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LocalTasks {
    /// The folder. Only the tasks that a split names are built into the sidecar.
    pub path: SpecPath,
}

/// A dataset or a package of a registry, pinned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RegistryTasks {
    /// Its name: `name`, or `org/name` on the hub.
    pub registry: String,
    /// Its version.
    #[serde(default)]
    pub version: Option<String>,
    /// The digest of its content, `sha256:` and 64 hexadecimal digits.
    #[serde(default)]
    pub digest: Option<String>,
}

/// What Docker the eval sidecar may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum InnerDocker {
    /// None.
    #[default]
    Off,
    /// The host's, through its socket. Whoever controls the sidecar then controls the host.
    HostSocket,
}

/// Whom the candidate's process runs as inside the sidecar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RunAs {
    /// A user of its own, without access to held-out data.
    #[default]
    Unprivileged,
    /// Root, for candidates that cannot do without; the held-out data is then only as safe as they are honest.
    Root,
}

impl HarborRun {
    /// Harbor as Python's installers name it, `harbor[modal]==0.26.0`.
    pub fn requirement(&self) -> String {
        if self.extras.is_empty() {
            format!("harbor=={}", self.version)
        } else {
            format!("harbor[{}]=={}", self.extras.join(","), self.version)
        }
    }

    /// What the run changes of the times that inner tasks give the phases of their trials.
    pub fn phase_changes(&self) -> Changes {
        let factor = |own: Option<f64>| own.unwrap_or(self.timeout_multiplier);
        Changes {
            agent: self.agent_timeout_sec,
            agent_factor: factor(self.agent_timeout_multiplier),
            setup_factor: factor(self.agent_setup_timeout_multiplier),
            build_factor: factor(self.environment_build_timeout_multiplier),
            verifier_factor: factor(self.verifier_timeout_multiplier),
        }
    }

    fn default_version() -> String {
        taskwright_harbor::HARBOR_VERSION.to_owned()
    }
    fn default_python() -> String {
        "3.13".to_owned()
    }
    fn default_model() -> String {
        "none".to_owned()
    }
    fn default_environment() -> String {
        "docker".to_owned()
    }
    fn one() -> u64 {
        1
    }
    fn default_retry_min_wait() -> f64 {
        1.0
    }
    fn default_retry_max_wait() -> f64 {
        60.0
    }
    fn default_retry_multiplier() -> f64 {
        1.0
    }
    fn default_multiplier() -> f64 {
        1.0
    }
}
