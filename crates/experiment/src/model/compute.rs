//! Where the trials of an experiment run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use taskwright_language::model::SpecPath;

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
    /// Further compose files, laid over that of each task; it is the agents' environment only, not the verifiers'.
    #[serde(default)]
    pub compose: Vec<SpecPath>,
    /// What the agents' containers have besides, and the verifiers' not.
    #[serde(default)]
    pub mounts: Vec<Mount>,
    /// What the trials may use. What is not said is what each task says.
    #[serde(default)]
    pub resource_limits: ResourceLimits,
}

/// What a container has besides: a file or a folder of this workspace, a volume, or an image's files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Mount {
    /// A file or a folder.
    Path(PathMount),
    /// A volume.
    Volume(VolumeMount),
    /// An image's files.
    Image(ImageMount),
}

/// A file or a folder of this workspace. Trials see the copy that was made when the job was begun, and cannot write in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathMount {
    /// The file or the folder.
    pub path: SpecPath,
    /// Where containers have it; absolute.
    pub target: String,
}

/// A volume of the container engine. What trials write in it the next ones find.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VolumeMount {
    /// Its name.
    pub volume: String,
    /// Where containers have it; absolute.
    pub target: String,
    /// Whether trials cannot write in it.
    #[serde(default)]
    pub read_only: bool,
    /// A folder in it, instead of all of it.
    #[serde(default)]
    pub subpath: Option<String>,
}

/// The files of an image.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImageMount {
    /// Its name.
    pub image: String,
    /// Where containers have them; absolute.
    pub target: String,
    /// A folder in it, instead of all of it.
    #[serde(default)]
    pub subpath: Option<String>,
}

impl Mount {
    /// Where containers have it.
    pub fn target(&self) -> &str {
        match self {
            Self::Path(mount) => &mount.target,
            Self::Volume(mount) => &mount.target,
            Self::Image(mount) => &mount.target,
        }
    }
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
            compose: Vec::new(),
            mounts: Vec::new(),
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
