//! What of a trial's configuration one needs to know.

use serde_json::value::RawValue;

use crate::document::{number, object, parts, text};

/// A trial's configuration, as it stands in its result and in its `config.json`.
#[derive(Debug, Clone, Default)]
pub struct TrialConfig {
    /// The task.
    pub task: TaskConfig,
    /// The agent.
    pub agent: AgentConfig,
    /// The environment.
    pub environment: EnvironmentConfig,
    /// The name of the trial.
    pub trial_name: Option<String>,
    /// The factor on all timeouts.
    pub timeout_multiplier: Option<f64>,
    /// The id of the job that the trial belongs to.
    pub job_id: Option<String>,
}

/// Which task was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskConfig {
    /// Its folder, where the trial ran or in the repository. Never opened.
    pub path: Option<String>,
    /// The package's name, `org/name`.
    pub name: Option<String>,
    /// The package's version, tag or digest.
    pub reference: Option<String>,
    /// The git repository.
    pub git_url: Option<String>,
    /// The commit.
    pub git_commit_id: Option<String>,
    /// The dataset it came from.
    pub source: Option<String>,
}

/// Which agent was asked for.
#[derive(Debug, Clone, Default)]
pub struct AgentConfig {
    /// Its name among Harbor's own.
    pub name: Option<String>,
    /// Its class, `module:Class`.
    pub import_path: Option<String>,
    /// The model.
    pub model_name: Option<String>,
    /// Arguments of the class, as they stand there.
    pub kwargs: Option<Box<RawValue>>,
    /// Environment variables, as they stand there; secrets may be among them.
    pub env: Option<Box<RawValue>>,
    /// Seconds that it is given.
    pub override_timeout_sec: Option<f64>,
    /// All of it, as it stands there: what tells two configurations of one agent apart.
    pub whole: Option<Box<RawValue>>,
}

/// Which environment was asked for.
#[derive(Debug, Clone, Default)]
pub struct EnvironmentConfig {
    /// Its type: `docker`, `modal` ...
    pub kind: Option<String>,
    /// Its class, `module:Class`.
    pub import_path: Option<String>,
    /// Arguments of the class, as they stand there.
    pub kwargs: Option<Box<RawValue>>,
}

parts! { ConfigParts { task, agent, environment, trial_name, timeout_multiplier, job_id } }
parts! { TaskParts { path, name, reference = "ref", git_url, git_commit_id, source } }
parts! { AgentParts { name, import_path, model_name, kwargs, env, override_timeout_sec } }
parts! { EnvironmentParts { kind = "type", import_path, kwargs } }

impl TrialConfig {
    /// Takes a configuration apart; what is not in it is absent.
    #[must_use]
    pub fn take(raw: &RawValue) -> Self {
        let Some(config) = object::<ConfigParts<'_>>(Some(raw)) else { return Self::default() };
        Self {
            task: object(config.task).map(|parts| TaskConfig::take(&parts)).unwrap_or_default(),
            agent: AgentConfig::take(config.agent),
            environment: EnvironmentConfig::take(config.environment),
            trial_name: text(config.trial_name),
            timeout_multiplier: number(config.timeout_multiplier),
            job_id: text(config.job_id),
        }
    }
}

impl TaskConfig {
    fn take(task: &TaskParts<'_>) -> Self {
        Self {
            path: text(task.path),
            name: text(task.name),
            reference: text(task.reference),
            git_url: text(task.git_url),
            git_commit_id: text(task.git_commit_id),
            source: text(task.source),
        }
    }
}

impl AgentConfig {
    pub(crate) fn take(part: Option<&RawValue>) -> Self {
        let Some(agent) = object::<AgentParts<'_>>(part) else { return Self::default() };
        Self {
            name: text(agent.name),
            import_path: text(agent.import_path),
            model_name: text(agent.model_name),
            kwargs: agent.kwargs.map(ToOwned::to_owned),
            env: agent.env.map(ToOwned::to_owned),
            override_timeout_sec: number(agent.override_timeout_sec),
            whole: part.map(ToOwned::to_owned),
        }
    }
}

impl EnvironmentConfig {
    pub(crate) fn take(part: Option<&RawValue>) -> Self {
        let Some(environment) = object::<EnvironmentParts<'_>>(part) else { return Self::default() };
        Self {
            kind: text(environment.kind),
            import_path: text(environment.import_path),
            kwargs: environment.kwargs.map(ToOwned::to_owned),
        }
    }
}
