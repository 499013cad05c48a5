//! The configuration of a job, as `harbor run --config` reads it: one file that says everything about a run.
//!
//! Harbor ignores a key that it does not know, so every key stands here as a field, under Harbor's own name, and a test
//! reads them back from the `config.json` that Harbor itself wrote. What is not set is not written: then Harbor's own
//! default holds.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A job: which tasks, which agents, how often, where.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JobConfig {
    /// The name of the job's folder. Always our own, so that the folder is known before the job runs.
    pub job_name: String,
    /// The folder that the job's folder is made in; absolute.
    pub jobs_dir: PathBuf,
    /// How often each task is tried by each agent.
    pub n_attempts: u64,
    /// How many trials run at once.
    pub n_concurrent_trials: u64,
    /// Whether agents are only installed: nothing is run or graded.
    #[serde(skip_serializing_if = "is_default")]
    pub install_only: bool,
    /// Whether to print no progress.
    #[serde(skip_serializing_if = "is_default")]
    pub quiet: bool,
    /// Whether to log more.
    #[serde(skip_serializing_if = "is_default")]
    pub debug: bool,
    /// A factor on every timeout.
    #[serde(skip_serializing_if = "is_default")]
    pub timeout_multiplier: Option<f64>,
    /// A factor on the agent's timeout, in place of the general one.
    #[serde(skip_serializing_if = "is_default")]
    pub agent_timeout_multiplier: Option<f64>,
    /// A factor on the verifier's timeout, in place of the general one.
    #[serde(skip_serializing_if = "is_default")]
    pub verifier_timeout_multiplier: Option<f64>,
    /// A factor on the time for the agent's set-up, in place of the general one.
    #[serde(skip_serializing_if = "is_default")]
    pub agent_setup_timeout_multiplier: Option<f64>,
    /// A factor on the time for building the environment, in place of the general one.
    #[serde(skip_serializing_if = "is_default")]
    pub environment_build_timeout_multiplier: Option<f64>,
    /// Which failed trials are tried again.
    pub retry: RetryConfig,
    /// What Harbor makes of an exception, by its type, where it differs from Harbor's own policy.
    #[serde(skip_serializing_if = "is_default")]
    pub override_error_policy: BTreeMap<String, ErrorPolicy>,
    /// Where the trials run.
    pub environment: EnvironmentConfig,
    /// How the verifiers run.
    #[serde(skip_serializing_if = "is_default")]
    pub verifier: VerifierConfig,
    /// What Harbor computes of the rewards for its own displays; none means the mean.
    #[serde(skip_serializing_if = "is_default")]
    pub metrics: Vec<MetricConfig>,
    /// Who tries the tasks.
    pub agents: Vec<AgentConfig>,
    /// The tasks, as sets.
    #[serde(skip_serializing_if = "is_default")]
    pub datasets: Vec<DatasetConfig>,
    /// The tasks, one by one.
    #[serde(skip_serializing_if = "is_default")]
    pub tasks: Vec<TaskConfig>,
    /// Further files to keep of each trial: paths, or tables as in task.toml.
    #[serde(skip_serializing_if = "is_default")]
    pub artifacts: Vec<Value>,
    /// An agent that plays the user in every trial.
    #[serde(skip_serializing_if = "is_default")]
    pub user_agent: Option<UserAgentConfig>,
    /// Files whose texts are added to every task's instruction.
    #[serde(skip_serializing_if = "is_default")]
    pub extra_instruction_paths: Vec<PathBuf>,
    /// Texts that are added after those.
    #[serde(skip_serializing_if = "is_default")]
    pub extra_instructions: Vec<String>,
}

impl JobConfig {
    /// The folder that Harbor keeps the job in.
    pub fn job_dir(&self) -> PathBuf {
        self.jobs_dir.join(&self.job_name)
    }

    /// The file's text.
    pub fn to_json(&self) -> String {
        // Strings, numbers that are finite, maps with keys that are strings: nothing in it can fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Writes the file.
    #[expect(clippy::disallowed_methods, reason = "nobody reads it before Harbor is started")]
    pub fn write(&self, path: &Path) -> io::Result<()> {
        std::fs::write(path, self.to_json())
    }
}

/// Which failed trials are tried again. A trial that is tried again leaves nothing behind but a counter.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RetryConfig {
    /// How often at most.
    pub max_retries: u64,
    /// The types of exceptions that are tried again; none means all but the excluded ones.
    #[serde(skip_serializing_if = "is_default")]
    pub include_exceptions: Option<Vec<String>>,
    /// The types that are not, instead of Harbor's own list. To add to that list, use
    /// [`JobConfig::override_error_policy`].
    #[serde(skip_serializing_if = "is_default")]
    pub exclude_exceptions: Option<Vec<String>>,
    /// By how much the wait grows each time.
    #[serde(skip_serializing_if = "is_default")]
    pub wait_multiplier: Option<f64>,
    /// Seconds before the first retry.
    #[serde(skip_serializing_if = "is_default")]
    pub min_wait_sec: Option<f64>,
    /// The most seconds before a retry.
    #[serde(skip_serializing_if = "is_default")]
    pub max_wait_sec: Option<f64>,
}

impl ErrorPolicy {
    /// The types of exceptions that are tried again even if Harbor would not, and those that are not even if it would.
    ///
    /// The lists of [`RetryConfig`] alone do not say that: what Harbor excludes stays excluded even where it is included,
    /// and a list of exclusions would replace Harbor's own.
    #[must_use]
    pub fn of_retries(include: &[String], exclude: &[String]) -> BTreeMap<String, Self> {
        let policy = |retry| Self { should_retry: Some(retry), ..Self::default() };
        let included = include.iter().map(|name| (name.clone(), policy(true)));
        included.chain(exclude.iter().map(|name| (name.clone(), policy(false)))).collect()
    }
}

/// What Harbor computes of the rewards.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MetricConfig {
    /// `mean`, `sum`, `min`, `max`, or `uv-script`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its arguments.
    #[serde(skip_serializing_if = "is_default")]
    pub kwargs: BTreeMap<String, Value>,
}

/// What Harbor makes of an exception; what is not set stays Harbor's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ErrorPolicy {
    /// Whether the trial is tried again.
    #[serde(skip_serializing_if = "is_default")]
    pub should_retry: Option<bool>,
    /// Whether the verifier still runs.
    #[serde(skip_serializing_if = "is_default")]
    pub should_grade: Option<bool>,
    /// Whether its reward counts.
    #[serde(skip_serializing_if = "is_default")]
    pub has_valid_reward: Option<bool>,
}

/// Where trials run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvironmentConfig {
    /// One of Harbor's own: `docker`, `modal` ...
    #[serde(rename = "type", skip_serializing_if = "is_default")]
    pub kind: Option<String>,
    /// A class of one's own, `package.module:Class`.
    #[serde(skip_serializing_if = "is_default")]
    pub import_path: Option<String>,
    /// Whether images are built even where the task names a prebuilt one.
    pub force_build: bool,
    /// Whether the environment is removed after the trial; Harbor's default is that it is.
    #[serde(skip_serializing_if = "is_default")]
    pub delete: Option<bool>,
    /// How processors are given: `auto`, `limit`, `request`, `guarantee` or `ignore`.
    #[serde(skip_serializing_if = "is_default")]
    pub cpu_enforcement_policy: Option<String>,
    /// How memory is given, in the same words.
    #[serde(skip_serializing_if = "is_default")]
    pub memory_enforcement_policy: Option<String>,
    /// Processors in place of what the task says.
    #[serde(skip_serializing_if = "is_default")]
    pub override_cpus: Option<f64>,
    /// Mebibytes of memory in place of what the task says.
    #[serde(skip_serializing_if = "is_default")]
    pub override_memory_mb: Option<u64>,
    /// Mebibytes of storage in place of what the task says.
    #[serde(skip_serializing_if = "is_default")]
    pub override_storage_mb: Option<u64>,
    /// Graphics processors in place of what the task says.
    #[serde(skip_serializing_if = "is_default")]
    pub override_gpus: Option<u64>,
    /// Tensor processors in place of what the task says: `{"type": ..., "topology": ...}`.
    #[serde(skip_serializing_if = "is_default")]
    pub override_tpu: Option<Value>,
    /// Further mounts of the agent's container.
    #[serde(skip_serializing_if = "is_default")]
    pub mounts: Vec<MountConfig>,
    /// Further compose files; absolute.
    #[serde(skip_serializing_if = "is_default")]
    pub extra_docker_compose: Vec<PathBuf>,
    /// Hosts that may be reached besides the task's, where a task closes the network.
    #[serde(skip_serializing_if = "is_default")]
    pub extra_allowed_hosts: Vec<String>,
    /// Environment variables of the agent's container. A secret is written `${NAME}`, never as its value.
    #[serde(skip_serializing_if = "is_default")]
    pub env: BTreeMap<String, String>,
    /// Arguments of the environment's class.
    #[serde(skip_serializing_if = "is_default")]
    pub kwargs: BTreeMap<String, Value>,
}

impl EnvironmentConfig {
    /// The environment of a name as specs and command lines have it: one of Harbor's own, or `package.module:Class`.
    pub fn named(name: &str) -> Self {
        if name.contains(':') {
            Self { import_path: Some(name.to_owned()), ..Self::default() }
        } else {
            Self { kind: Some(name.to_owned()), ..Self::default() }
        }
    }

    /// Whether trials run in the local Docker engine.
    pub fn is_docker(&self) -> bool {
        self.import_path.is_none() && self.kind.as_deref().is_none_or(|kind| kind == "docker")
    }
}

/// A mount, as compose files have it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MountConfig {
    /// `bind`, `volume` or `image`.
    #[serde(rename = "type")]
    pub kind: String,
    /// A path of this machine, absolute; or the name of a volume or of an image.
    pub source: String,
    /// Where the container has it.
    pub target: String,
    /// Whether the container may not write in it; written only if so.
    #[serde(skip_serializing_if = "is_default")]
    pub read_only: bool,
    /// What only a `bind` has.
    #[serde(skip_serializing_if = "is_default")]
    pub bind: Option<BindConfig>,
    /// What only a `volume` has.
    #[serde(skip_serializing_if = "is_default")]
    pub volume: Option<SubpathConfig>,
    /// What only an `image` has.
    #[serde(skip_serializing_if = "is_default")]
    pub image: Option<SubpathConfig>,
}

/// What only a mount of a path has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BindConfig {
    /// Whether a path that is not there is made; Harbor takes no other value than no.
    pub create_host_path: bool,
}

/// A part of a volume, or of an image.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SubpathConfig {
    /// A folder in it.
    pub subpath: String,
}

/// How verifiers run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct VerifierConfig {
    /// Seconds in place of what the task says.
    #[serde(skip_serializing_if = "is_default")]
    pub override_timeout_sec: Option<f64>,
    /// The most seconds, whatever the task says.
    #[serde(skip_serializing_if = "is_default")]
    pub max_timeout_sec: Option<f64>,
    /// Further environment variables.
    #[serde(skip_serializing_if = "is_default")]
    pub env: BTreeMap<String, String>,
    /// A verifier of one's own, `package.module:Class`.
    #[serde(skip_serializing_if = "is_default")]
    pub import_path: Option<String>,
    /// Arguments of that class.
    #[serde(skip_serializing_if = "is_default")]
    pub kwargs: BTreeMap<String, Value>,
    /// Whether no verifier runs at all.
    #[serde(skip_serializing_if = "is_default")]
    pub disable: bool,
}

/// Who tries the tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentConfig {
    /// One of Harbor's own.
    #[serde(skip_serializing_if = "is_default")]
    pub name: Option<String>,
    /// A class of one's own, `package.module:Class`.
    #[serde(skip_serializing_if = "is_default")]
    pub import_path: Option<String>,
    /// The model, `provider/name`.
    #[serde(skip_serializing_if = "is_default")]
    pub model_name: Option<String>,
    /// The address that it asks, in place of the one that it finds.
    #[serde(skip_serializing_if = "is_default")]
    pub base_url: Option<String>,
    /// The environment variable that holds its key.
    #[serde(skip_serializing_if = "is_default")]
    pub model_api_key_name: Option<String>,
    /// In which words it asks: `openai_chat_completions` ...
    #[serde(skip_serializing_if = "is_default")]
    pub model_api_format: Option<String>,
    /// Whether the model's name reaches it as it is, and no provider is read from it.
    #[serde(skip_serializing_if = "is_default")]
    pub skip_model_parsing: bool,
    /// How many of this agent's trials run at once.
    #[serde(skip_serializing_if = "is_default")]
    pub n_concurrent: Option<u64>,
    /// Seconds in place of what the task says.
    #[serde(skip_serializing_if = "is_default")]
    pub override_timeout_sec: Option<f64>,
    /// Seconds for the set-up in place of Harbor's own.
    #[serde(skip_serializing_if = "is_default")]
    pub override_setup_timeout_sec: Option<f64>,
    /// The most seconds, whatever the task says.
    #[serde(skip_serializing_if = "is_default")]
    pub max_timeout_sec: Option<f64>,
    /// Hosts that it may reach besides the task's, where a task closes the network.
    #[serde(skip_serializing_if = "is_default")]
    pub extra_allowed_hosts: Vec<String>,
    /// Arguments of the agent's class.
    #[serde(skip_serializing_if = "is_default")]
    pub kwargs: BTreeMap<String, Value>,
    /// Environment variables of the agent. A secret is written `${NAME}`, never as its value.
    #[serde(skip_serializing_if = "is_default")]
    pub env: BTreeMap<String, String>,
    /// Folders of skills.
    #[serde(skip_serializing_if = "is_default")]
    pub skills: Vec<String>,
    /// Servers of tools.
    #[serde(skip_serializing_if = "is_default")]
    pub mcp_servers: Vec<McpServerConfig>,
}

/// A server of tools that an agent may use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct McpServerConfig {
    /// Its name.
    pub name: String,
    /// `sse`, `streamable-http` or `stdio`.
    pub transport: String,
    /// Its address.
    #[serde(skip_serializing_if = "is_default")]
    pub url: Option<String>,
    /// The command that starts it.
    #[serde(skip_serializing_if = "is_default")]
    pub command: Option<String>,
    /// That command's arguments.
    #[serde(skip_serializing_if = "is_default")]
    pub args: Vec<String>,
    /// Headers of its requests. A secret is written `${NAME}`, never as its value.
    #[serde(skip_serializing_if = "is_default")]
    pub headers: BTreeMap<String, String>,
}

/// An agent that plays the user.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UserAgentConfig {
    /// Who it is.
    #[serde(flatten)]
    pub agent: AgentConfig,
    /// The file that describes the person.
    #[serde(skip_serializing_if = "is_default")]
    pub user_persona_path: Option<PathBuf>,
    /// The file around the task's instruction.
    #[serde(skip_serializing_if = "is_default")]
    pub user_prompt_template_path: Option<PathBuf>,
    /// How it talks with the agent.
    pub bridge: BridgeConfig,
}

/// How a simulated user talks with the agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BridgeConfig {
    /// `acp`.
    pub kind: String,
    /// The file that tells the user how.
    #[serde(skip_serializing_if = "is_default")]
    pub prompt_path: Option<PathBuf>,
    /// Its arguments.
    #[serde(skip_serializing_if = "is_default")]
    pub kwargs: BTreeMap<String, Value>,
}

/// A set of tasks: a folder (`path`), or one that a registry knows (`name` with `version` or `ref`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DatasetConfig {
    /// A folder of tasks; absolute.
    #[serde(skip_serializing_if = "is_default")]
    pub path: Option<PathBuf>,
    /// `name` in a registry, or `org/name` on the hub.
    #[serde(skip_serializing_if = "is_default")]
    pub name: Option<String>,
    /// The version, in a registry.
    #[serde(skip_serializing_if = "is_default")]
    pub version: Option<String>,
    /// The version, tag or digest, on the hub.
    #[serde(rename = "ref", skip_serializing_if = "is_default")]
    pub reference: Option<String>,
    /// A registry file on this machine in place of the public registry; absolute.
    #[serde(skip_serializing_if = "is_default")]
    pub registry_path: Option<PathBuf>,
    /// The address of a registry in place of the public one.
    #[serde(skip_serializing_if = "is_default")]
    pub registry_url: Option<String>,
    /// Where fetched tasks are kept; absolute.
    #[serde(skip_serializing_if = "is_default")]
    pub download_dir: Option<PathBuf>,
    /// Which of its tasks, by patterns of names (see [`literal`]); none means all.
    #[serde(skip_serializing_if = "is_default")]
    pub task_names: Option<Vec<String>>,
    /// Which of them not, by patterns of names.
    #[serde(skip_serializing_if = "is_default")]
    pub exclude_task_names: Option<Vec<String>>,
    /// At most so many of them.
    #[serde(skip_serializing_if = "is_default")]
    pub n_tasks: Option<u64>,
}

/// One task: a folder (`path`), one of a repository (`git_url` as well), or a package of the hub (`name` with `ref`).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskConfig {
    /// The task's folder; absolute, or in its repository.
    #[serde(skip_serializing_if = "is_default")]
    pub path: Option<PathBuf>,
    /// The repository.
    #[serde(skip_serializing_if = "is_default")]
    pub git_url: Option<String>,
    /// Its commit.
    #[serde(skip_serializing_if = "is_default")]
    pub git_commit_id: Option<String>,
    /// `org/name` on the hub.
    #[serde(skip_serializing_if = "is_default")]
    pub name: Option<String>,
    /// The version, tag or digest, on the hub.
    #[serde(rename = "ref", skip_serializing_if = "is_default")]
    pub reference: Option<String>,
}

impl AgentConfig {
    /// What people call it: its name, or its class.
    pub fn label(&self) -> &str {
        self.name.as_deref().or(self.import_path.as_deref()).unwrap_or("?")
    }
}

impl TaskConfig {
    /// The task of a folder.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: Some(path.into()), ..Self::default() }
    }
}

/// The pattern that matches this name and no other: Harbor's filters read `*`, `?` and `[` as wildcards.
pub fn literal(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for letter in name.chars() {
        if matches!(letter, '*' | '?' | '[') {
            pattern.extend(['[', letter, ']']);
        } else {
            pattern.push(letter);
        }
    }
    pattern
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn what_is_not_set_is_not_written() {
        let config = JobConfig {
            job_name: "j".to_owned(),
            jobs_dir: "/jobs".into(),
            n_attempts: 1,
            n_concurrent_trials: 2,
            environment: EnvironmentConfig::named("docker"),
            agents: vec![AgentConfig { import_path: Some("a.b:C".to_owned()), ..AgentConfig::default() }],
            tasks: vec![TaskConfig::at("/tasks/x")],
            ..JobConfig::default()
        };
        let written: Value = serde_json::from_str(&config.to_json()).unwrap();
        let expected = serde_json::json!({
            "job_name": "j", "jobs_dir": "/jobs", "n_attempts": 1, "n_concurrent_trials": 2,
            "retry": {"max_retries": 0},
            "environment": {"type": "docker", "force_build": false},
            "agents": [{"import_path": "a.b:C"}],
            "tasks": [{"path": "/tasks/x"}],
        });
        assert_eq!(written, expected);
        assert_eq!(serde_json::from_value::<JobConfig>(written).unwrap(), config);
    }

    #[test]
    fn environments_of_ones_own_are_classes() {
        assert!(EnvironmentConfig::named("docker").is_docker());
        assert!(!EnvironmentConfig::named("modal").is_docker());
        let own = EnvironmentConfig::named("a.b:C");
        assert_eq!((own.kind.as_deref(), own.import_path.as_deref()), (None, Some("a.b:C")));
        assert!(!own.is_docker());
    }

    #[test]
    fn literal_names() {
        assert_eq!(literal("add-1"), "add-1");
        assert_eq!(literal("a[1]*?"), "a[[]1][*][?]");
    }
}
