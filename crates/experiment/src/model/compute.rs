//! Where the trials of an experiment run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the trials run, and what they may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compute {
    /// Harbor's environment: `docker` for this machine, `modal`, `daytona`, `e2b`, `runloop`, `gke` ... for a cloud; one's
    /// own is written `package.module:Class`.
    #[serde(default = "docker")]
    pub backend: String,
    /// Arguments of that environment, as Harbor's `--ek`. Never a secret.
    #[serde(default)]
    pub args: BTreeMap<String, serde_json::Value>,
    /// Environment variables of every task's environment, with their values: never secrets. Harbor passes the values on
    /// as they are written: a task that needs a variable of the machine takes it itself, in its own `[environment.env]`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Whether images are built even where a task names a ready one.
    #[serde(default)]
    pub force_build: bool,
    /// Whether environments are left as they are when their trial has ended, to be looked at.
    #[serde(default)]
    pub keep: bool,
    /// Hosts that environments may reach besides those of the task, where a task closes the network.
    #[serde(default)]
    pub allowed_hosts: Vec<String>,
    /// What the trials may use. What is not said is what each task says.
    #[serde(default)]
    pub resource_limits: ResourceLimits,
}

impl Default for Compute {
    fn default() -> Self {
        Self {
            backend: docker(),
            args: BTreeMap::new(),
            env: BTreeMap::new(),
            force_build: false,
            keep: false,
            allowed_hosts: Vec::new(),
            resource_limits: ResourceLimits::default(),
        }
    }
}

/// What the trials may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResourceLimits {
    /// How many trials run at a time.
    #[serde(default = "four")]
    pub concurrency: u64,
    /// Processors of each environment.
    #[serde(default)]
    pub cpus: Option<f64>,
    /// Mebibytes of memory of each environment.
    #[serde(default)]
    pub memory_mb: Option<u64>,
    /// Mebibytes of disk of each environment.
    #[serde(default)]
    pub storage_mb: Option<u64>,
    /// Graphics processors of each environment.
    #[serde(default)]
    pub gpus: Option<u64>,
    /// Tensor processors of each environment.
    #[serde(default)]
    pub tpu: Option<Tpu>,
    /// How `cpus` is meant.
    #[serde(default)]
    pub cpu_enforcement: Enforcement,
    /// How `memory_mb` is meant.
    #[serde(default)]
    pub memory_enforcement: Enforcement,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            concurrency: four(),
            cpus: None,
            memory_mb: None,
            storage_mb: None,
            gpus: None,
            tpu: None,
            cpu_enforcement: Enforcement::default(),
            memory_enforcement: Enforcement::default(),
        }
    }
}

/// Tensor processors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tpu {
    /// Their kind, for example `v6e`.
    pub kind: String,
    /// How they are connected, for example `2x2x1`.
    pub topology: String,
}

/// How a resource is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Enforcement {
    /// As the backend does it.
    #[default]
    Auto,
    /// No more than that.
    Limit,
    /// At least that.
    Request,
    /// At least and at most that.
    Guarantee,
    /// Not at all.
    Ignore,
}

fn docker() -> String {
    "docker".to_owned()
}

fn four() -> u64 {
    4
}
