//! What of a trial's configuration one needs to know.

use serde_json::value::RawValue;

use crate::document::{Part, any, fields, number, text};

fields! {
    /// A trial's configuration, as it stands in its result and in its `config.json`.
    #[derive(Debug, Clone, Default)]
    TrialConfig, ConfigParts {
        /// The task.
        task: TaskConfig = |part| TaskConfig::take(part).unwrap_or_default(),
        /// The agent.
        agent: AgentConfig = AgentConfig::take_whole,
        /// The environment.
        environment: EnvironmentConfig = |part| EnvironmentConfig::take(part).unwrap_or_default(),
        /// The name of the trial.
        trial_name: Option<String> = text,
        /// The factor on all timeouts.
        timeout_multiplier: Option<f64> = number,
        /// The id of the job that the trial belongs to.
        job_id: Option<String> = text,
        /// The trial that it was made from, if it ran no agent of its own.
        source_trial: SourceTrial = |part| SourceTrial::take(part).unwrap_or_default(),
    }
}

fields! {
    /// The trial that another was made from.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    SourceTrial, SourceTrialParts {
        /// What was done with it: `regrade` verifies anew what it left.
        action: Option<String> = text,
        /// Its id.
        trial_id: Option<String> = text,
    }
}

impl SourceTrial {
    /// The id of the trial whose outcome was graded anew.
    #[must_use]
    pub fn regraded(&self) -> Option<&str> {
        self.trial_id.as_deref().filter(|_| self.action.as_deref() == Some("regrade"))
    }
}

fields! {
    /// Which task was asked for.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    TaskConfig, TaskParts {
        /// Its folder, where the trial ran or in the repository. Never opened.
        path: Option<String> = text,
        /// The package's name, `org/name`.
        name: Option<String> = text,
        /// The package's version, tag or digest.
        reference["ref"]: Option<String> = text,
        /// The git repository.
        git_url: Option<String> = text,
        /// The commit.
        git_commit_id: Option<String> = text,
        /// The dataset it came from.
        source: Option<String> = text,
    }
}

fields! {
    /// Which agent was asked for.
    #[derive(Debug, Clone, Default)]
    AgentConfig, AgentParts {
        /// Its name among Harbor's own.
        name: Option<String> = text,
        /// Its class, `module:Class`.
        import_path: Option<String> = text,
        /// The model.
        model_name: Option<String> = text,
        /// Arguments of the class, as they stand there.
        kwargs: Option<Box<RawValue>> = any,
        /// Environment variables, as they stand there; secrets may be among them.
        env: Option<Box<RawValue>> = any,
        /// Seconds that it is given.
        override_timeout_sec: Option<f64> = number,
        /// All of it, as it stands there: what tells two configurations of one agent apart.
        whole: Option<Box<RawValue>> = |_| None,
    }
}

fields! {
    /// Which environment was asked for.
    #[derive(Debug, Clone, Default)]
    EnvironmentConfig, EnvironmentParts {
        /// Its type: `docker`, `modal` ...
        kind["type"]: Option<String> = text,
        /// Its class, `module:Class`.
        import_path: Option<String> = text,
        /// Arguments of the class, as they stand there.
        kwargs: Option<Box<RawValue>> = any,
    }
}

impl AgentConfig {
    /// An agent's configuration, and all of it as it stands there.
    pub(crate) fn take_whole(part: Part<'_>) -> Self {
        Self {
            whole: any(part).filter(|raw| raw.get().starts_with('{')),
            ..Self::take(part).unwrap_or_default()
        }
    }
}
