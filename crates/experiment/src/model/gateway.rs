//! The agents' metered way to language models.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use taskwright_language::model::{self, GatewayScope, ModelPrice};

/// The agents' metered way to language models: `run` starts it beside Harbor, on this machine, and ends it with the run. It
/// alone has the upstream's key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// The environment variable that holds the upstream's key. Neither Harbor nor any agent sees it.
    #[serde(default = "model::Gateway::default_key")]
    pub upstream_api_key_env: String,
    /// The environment variable that holds the upstream's address.
    #[serde(default = "model::Gateway::default_url")]
    pub upstream_base_url_env: String,
    /// What models cost, under the name that agents ask for or the one that upstream is asked for.
    #[serde(default)]
    pub prices: BTreeMap<String, ModelPrice>,
    /// What all agents together may use: over all trials of a job, however often it is gone on with.
    pub agents: GatewayScope,
}

impl Gateway {
    /// The same as a spec says it, where candidates are who asks.
    pub fn as_of_spec(&self) -> model::Gateway {
        // Taken apart by name, so that a new field cannot be forgotten.
        let Self { upstream_api_key_env, upstream_base_url_env, prices, agents } = self.clone();
        model::Gateway {
            upstream_api_key_env,
            upstream_base_url_env,
            request_log_attribution: false,
            model_aliases: BTreeMap::new(),
            prices,
            producer: None,
            evaluation: Some(agents),
            finalization: None,
        }
    }
}
