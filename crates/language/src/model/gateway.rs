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
    /// What models cost, under the name that clients ask for or the one that upstream is asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prices: BTreeMap<String, ModelPrice>,
    /// What the optimizer may use; without it nothing.
    #[serde(default)]
    pub producer: Option<GatewayScope>,
    /// What candidates may use while the optimizer works; without it nothing. In Mode A it is all of a network that `run` has.
    #[serde(default)]
    pub evaluation: Option<GatewayScope>,
    /// What candidates may use while the final one is scored; without it what `evaluation` has left.
    #[serde(default)]
    pub finalization: Option<GatewayScope>,
}

impl Gateway {
    /// The variable of the upstream's key, where none is named.
    pub fn default_key() -> String {
        "OPENAI_API_KEY".to_owned()
    }
    /// The variable of the upstream's address, where none is named.
    pub fn default_url() -> String {
        "OPENAI_BASE_URL".to_owned()
    }

    /// The users that a spec says something of, each with its key.
    pub fn scopes(&self) -> impl Iterator<Item = (&'static str, &GatewayScope)> {
        let scopes = [
            ("producer", &self.producer),
            ("evaluation", &self.evaluation),
            ("finalization", &self.finalization),
        ];
        scopes.into_iter().filter_map(|(name, scope)| Some((name, scope.as_ref()?)))
    }

    /// What upstream is asked for when a user asks for a model.
    pub fn upstream_model<'a>(&'a self, scope: &'a GatewayScope, model: &'a str) -> &'a str {
        upstream_model(&scope.model_aliases, &self.model_aliases, model)
    }
}

/// The names under which clients of language models look for an address, and whether that ends in `/v1`. The last is that of the
/// public reference's agents.
pub const CLIENT_ADDRESSES: [(&str, bool); 7] = [
    ("OPENAI_BASE_URL", true),
    ("OPENAI_API_BASE", true),
    ("ANTHROPIC_BASE_URL", false),
    ("GOOGLE_GEMINI_BASE_URL", false),
    ("GEMINI_API_BASE", false),
    ("LLM_BASE_URL", true),
    ("VERO_AGENT_INFERENCE_BASE_URL", true),
];

/// The names under which they look for a key.
pub const CLIENT_KEYS: [&str; 5] =
    ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "LLM_API_KEY", "VERO_AGENT_INFERENCE_API_KEY"];

/// The most US dollars that an amount of money can be.
pub const MOST_DOLLARS: f64 = 1e6;

/// What upstream is asked for when a user asks for a model: by the user's own aliases, then by those of all.
pub fn upstream_model<'a>(
    own: &'a BTreeMap<String, String>,
    all: &'a BTreeMap<String, String>,
    model: &'a str,
) -> &'a str {
    own.get(model).or_else(|| all.get(model)).map_or(model, String::as_str)
}

/// The models that may be asked for and have no price, neither under their own name nor under upstream's: no budget of money can be
/// kept for them.
pub fn without_price<'a>(
    allowed: &'a [String],
    upstream: impl Fn(&'a str) -> &'a str,
    is_priced: impl Fn(&str) -> bool,
) -> Vec<&'a str> {
    let each = allowed.iter().map(String::as_str);
    each.filter(|&model| !is_priced(model) && !is_priced(upstream(model))).collect()
}

/// Why what the final candidate may use cannot stand, if it cannot: candidates may use nothing while the optimizer works.
pub fn lone_finalization<T>(finalization: Option<&T>, evaluation: Option<&T>) -> Option<&'static str> {
    (finalization.is_some() && evaluation.is_none())
        .then_some("the final candidate is evaluated like every other: `finalization` needs `evaluation`")
}

/// What a model costs, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Of the input.
    pub input: f64,
    /// Of input that upstream had in its cache; without it like other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Of input that upstream puts into its cache; without it like other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Of the output, with what the model thinks.
    pub output: f64,
}

/// What one user of the gateway may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct GatewayScope {
    /// The models it may ask for.
    pub allowed_models: Vec<String>,
    /// Other names for models, for this user alone; they go before those of all.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub model_aliases: BTreeMap<String, String>,
    /// The most requests, or `"unlimited"`.
    #[serde(default)]
    pub max_requests: Limit,
    /// The most tokens, in and out, or `"unlimited"`.
    #[serde(default)]
    pub max_tokens: Limit,
    /// The most money, in US dollars; without it as much as it takes. Every allowed model needs a price then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
    /// The most requests at once, or `"unlimited"`; more wait.
    #[serde(default)]
    pub max_concurrency: Limit,
    /// Whether tools may be used that upstream runs itself, such as a search of the web: they are a way out into the network,
    /// and cost what no token shows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hosted_tools: bool,
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
