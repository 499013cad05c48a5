//! The metered way to a language model, and where evaluations are reported to.

use std::collections::BTreeMap;

#[cfg(feature = "language")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Limit;

/// The optimizer's and the candidates' metered way to a language model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// The environment variable that holds the upstream key. It counts as a secret.
    #[serde(default = "Gateway::default_key")]
    pub upstream_api_key_env: String,
    /// The environment variable that holds the upstream address.
    #[serde(default = "Gateway::default_url")]
    pub upstream_base_url_env: String,
    /// Whether requests are logged with the trial they belong to.
    #[serde(default)]
    pub request_log_attribution: bool,
    /// Other names for models: what a client asks for, and what upstream is asked for. Allow-lists name what clients ask for.
    #[serde(default)]
    pub model_aliases: BTreeMap<String, String>,
    /// What the optimizer may use.
    pub producer: GatewayScope,
    /// What candidates may use while the optimizer works.
    pub evaluation: GatewayScope,
    /// What candidates may use while the final one is scored; without it what `evaluation` has left.
    #[serde(default)]
    pub finalization: Option<GatewayScope>,
}

impl Gateway {
    fn default_key() -> String {
        "OPENAI_API_KEY".to_owned()
    }
    fn default_url() -> String {
        "OPENAI_BASE_URL".to_owned()
    }
}

/// What one user of the gateway may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GatewayScope {
    /// The models it may ask for.
    pub allowed_models: Vec<String>,
    /// The most requests, or `"unlimited"`.
    #[serde(default)]
    pub max_requests: Limit,
    /// The most tokens, in and out, or `"unlimited"`.
    #[serde(default)]
    pub max_tokens: Limit,
    /// The most requests at once, or `"unlimited"`.
    #[serde(default)]
    pub max_concurrency: Limit,
}

/// A Weights & Biases run that the evaluations are reported to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct WandbRun {
    /// The project.
    pub project: String,
    /// The group of runs.
    #[serde(default)]
    pub group: Option<String>,
    /// The run's name; without it the task's.
    #[serde(default)]
    pub name: Option<String>,
    /// Words by which the run can be found.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Whether to report at all.
    #[serde(default)]
    pub mode: WandbMode,
    /// Whether transcripts are reported as well.
    #[serde(default)]
    pub log_traces: bool,
}

/// Whether evaluations are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum WandbMode {
    /// As they happen.
    #[default]
    Online,
    /// Into a folder of the evidence, to be sent later.
    Offline,
    /// Not at all.
    Disabled,
}
