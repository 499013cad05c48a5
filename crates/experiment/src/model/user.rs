//! An agent that plays the user.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use taskwright_language::model::SpecPath;

/// An agent that plays the user in every trial: it alone knows what the task asks for, and talks with the agent that works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimulatedUser {
    /// The name of one of Harbor's agents.
    #[serde(default)]
    pub name: Option<String>,
    /// The class of one of one's own, `package.module:Class`; `harbor.packages` installs it.
    #[serde(default)]
    pub import_path: Option<String>,
    /// The model that it is given, usually `provider/name`.
    #[serde(default)]
    pub model: Option<String>,
    /// Its own arguments. Never a secret.
    #[serde(default)]
    pub args: BTreeMap<String, serde_json::Value>,
    /// Names of environment variables of the machine that runs Harbor, which it gets.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// Further environment variables, with their values: settings, never secrets.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// A text file that says who the user is.
    #[serde(default)]
    pub persona: Option<SpecPath>,
    /// A text file in place of Harbor's own words around the task's instruction: with `{{ instruction }}`,
    /// `{{ bridge_instructions }}` and, where there is a persona, `{{ persona }}`.
    #[serde(default)]
    pub prompt_template: Option<SpecPath>,
    /// How it talks with the agent.
    #[serde(default)]
    pub bridge: Bridge,
}

/// How a simulated user talks with the agent that works.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bridge {
    /// Over which protocol.
    #[serde(default)]
    pub kind: BridgeKind,
    /// A text file that tells the user how to talk, in place of Harbor's own.
    #[serde(default)]
    pub prompt: Option<SpecPath>,
    /// Its arguments. Never a secret.
    #[serde(default)]
    pub args: BTreeMap<String, serde_json::Value>,
}

/// The protocol of a simulated user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BridgeKind {
    /// The Agent Client Protocol.
    #[default]
    Acp,
}
