//! `[verifier]`: how and where the work is judged.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent::User;
use super::environment::{Environment, NetworkMode};

/// `[verifier]`: how and where the work is judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verifier {
    /// Whether the verifier runs in the agent's containers or in its own. Default: `"separate"` if there is a
    /// `[verifier.environment]`, else `"shared"`, whose reward an agent's leftover process can forge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_mode: Option<EnvironmentMode>,

    /// How long judging may take, in seconds. Default: 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_sec: Option<f64>,

    /// The user the verifier runs as: a name or a numeric id that exists in its image. Default: the image's user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,

    /// What the verifier may reach while it runs, where this differs from its environment. Default: the
    /// environment's policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_mode: Option<NetworkMode>,

    /// Hosts the verifier may reach with `network_mode = "allowlist"`: host names, `*.` followed by a host name, IP
    /// addresses, or address ranges such as `192.0.2.0/24`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_hosts: Option<Vec<String>>,

    /// Environment variables of the test script. A value that is `${VAR}` or `${VAR:-default}` as a whole is taken
    /// from the host. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,

    /// Commands to run when the agent is done and before artifacts are collected, in order. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collect: Vec<CollectHook>,

    /// The container of a separate verifier. Default: the image that `tests/` builds, else a fresh copy of
    /// `[environment]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
}

/// Where the verifier runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EnvironmentMode {
    /// In the agent's containers, after the agent.
    Shared,
    /// In a container of its own that sees only the collected artifacts.
    #[default]
    Separate,
}

/// `[[verifier.collect]]`: a command that turns the state of a running service into files to collect.
///
/// Hooks in `main` run first; it is then stopped before hooks in sidecars run. A hook's failure is only logged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CollectHook {
    /// Shell command to run in the service.
    pub command: String,

    /// The compose service to run it in. Default: `"main"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,

    /// How long it may take, in seconds. Default: 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_sec: Option<f64>,

    /// The user it runs as: a name or a numeric id that exists in the service's image. Default: the image's user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,
}
