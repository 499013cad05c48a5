//! An agent of an experiment.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use taskwright_language::model::SpecPath;

/// An agent: one of Harbor's by `name`, or a class of one's own by `import_path`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The name of one of Harbor's agents: `oracle`, `nop`, `claude-code` ...
    #[serde(default)]
    pub name: Option<String>,
    /// The class of an agent of one's own: `package.module:Class`.
    #[serde(default)]
    pub import_path: Option<String>,
    /// The folder of the Python package that holds this class, installed beside Harbor for the run.
    #[serde(default)]
    pub package: Option<SpecPath>,
    /// The model that the agent is given, usually `provider/name`.
    #[serde(default)]
    pub model: Option<String>,
    /// The agent's own arguments: `harbor agent schema NAME` lists them. Never a secret.
    #[serde(default)]
    pub args: BTreeMap<String, serde_json::Value>,
    /// Names of environment variables of the machine that runs Harbor; the agent gets them under the same names. Their
    /// values stand in no file.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// Further environment variables, with their values: settings, never secrets. A value that is `${NAME}` (written
    /// `$${NAME}`) is taken from the machine that runs Harbor.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// A text file that is added to the system prompt. `claude-code` takes one; a class of one's own gets the text as the
    /// argument `system_prompt`.
    #[serde(default)]
    pub system_prompt: Option<SpecPath>,
    /// A text file around the task's instruction, which stands in it as `{{ instruction }}`. Agents that Harbor installs
    /// into the environment take one.
    #[serde(default)]
    pub prompt_template: Option<SpecPath>,
    /// Folders of skills that the agent is given.
    #[serde(default)]
    pub skills: Vec<SpecPath>,
    /// Seconds for the agent's work, instead of what each task gives.
    #[serde(default)]
    pub timeout_sec: Option<f64>,
    /// The most seconds for the agent's work, whatever a task gives.
    #[serde(default)]
    pub max_timeout_sec: Option<f64>,
    /// Seconds for the agent's set-up.
    #[serde(default)]
    pub setup_timeout_sec: Option<f64>,
    /// How many of its trials work at a time; without it only the limit of the whole experiment counts.
    #[serde(default)]
    pub concurrency: Option<u64>,
    /// Hosts that it may reach besides those of the task, where a task closes the network.
    #[serde(default)]
    pub allowed_hosts: Vec<String>,
}

impl Agent {
    /// What people call it: its name, or its class.
    pub fn label(&self) -> &str {
        self.name.as_deref().or(self.import_path.as_deref()).unwrap_or("?")
    }
}
