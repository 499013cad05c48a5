//! `[environment]`: the containers a phase of a trial runs in, and what they may use.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::number;

/// `[environment]`, and with the same keys `[verifier.environment]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// How long building the images and starting the containers may take together, in seconds. Default: 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_timeout_sec: Option<f64>,

    /// A prebuilt image to use in place of a Dockerfile. Default: none, the image is built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub docker_image: Option<String>,

    /// The containers' operating system. Default: `"linux"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os: Option<Os>,

    /// How many CPUs the agent's container gets; parts of one are allowed. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,

    /// Memory of the agent's container, in MB. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "number::optional_count")]
    pub memory_mb: Option<u64>,

    /// Disk space of the agent's container, in MB. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "number::optional_count")]
    pub storage_mb: Option<u64>,

    /// How many GPUs the agent's container gets. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "number::optional_count")]
    pub gpus: Option<u64>,

    /// The kinds of GPU that will do, such as `["H100", "A100"]`. Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_types: Option<Vec<String>>,

    /// The slice of a TPU the environment needs, on engines that have them. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tpu: Option<Tpu>,

    /// Folder in the container whose content becomes the agent's skills. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills_dir: Option<String>,

    /// Folder in the container where commands start. Default: the image's working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,

    /// What the containers may reach. Default: `"public"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_mode: Option<NetworkMode>,

    /// Hosts that may be reached with `network_mode = "allowlist"`: host names, `*.` followed by a host name, IP
    /// addresses, or address ranges such as `192.0.2.0/24`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_hosts: Option<Vec<String>>,

    /// Environment variables of the agent's container; sidecars do not get them. A value that is `${VAR}` or
    /// `${VAR:-default}` as a whole is taken from the host. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,

    /// A command in the agent's container that tells when it is ready. Default: ready as soon as it is up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healthcheck: Option<Healthcheck>,

    /// MCP servers offered to the agent. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<McpServer>,
}

/// A container's operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Os {
    /// Linux containers, with `.sh` scripts.
    #[default]
    Linux,
    /// Windows containers, with `.bat` scripts.
    Windows,
}

/// What a phase of a trial may reach over the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkMode {
    /// Everything, as the container engine gives it.
    #[default]
    Public,
    /// Nothing.
    NoNetwork,
    /// Only the hosts in `allowed_hosts`.
    Allowlist,
}

/// A command that tells whether the agent's container is ready, with Docker's notion of retries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Healthcheck {
    /// Shell command; exit status 0 means ready.
    pub command: String,

    /// Pause between two checks, in seconds. Default: 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_sec: Option<f64>,

    /// How long one check may take, in seconds. Default: 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_sec: Option<f64>,

    /// How long after the start failures do not count, in seconds. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_period_sec: Option<f64>,

    /// Pause between two checks while failures do not count, in seconds. Default: 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_interval_sec: Option<f64>,

    /// How many failures in a row mean that the container will never be ready. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "number::optional_count")]
    pub retries: Option<u64>,
}

/// A slice of a TPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tpu {
    /// The TPU's type, such as `"v6e"`, or the cluster's own label for it.
    #[serde(rename = "type")]
    pub kind: String,

    /// Its dimensions, such as `"2x4"` or `"2x2x1"`; their product is the number of chips.
    #[schemars(regex(pattern = r"^[1-9][0-9]*(x[1-9][0-9]*)+$"))]
    pub topology: String,
}

/// An MCP server offered to the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// The server's name; of two servers with one name, the later replaces the earlier.
    pub name: String,

    /// How the agent talks to it. Default: `"sse"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<McpTransport>,

    /// Address of a server that is reached over HTTP. Required for `"sse"` and `"streamable-http"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,

    /// Command that starts a server that is reached over its standard input. Required for `"stdio"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,

    /// The command's arguments. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,

    /// HTTP headers to send; a credential may only be named, as in `"Bearer ${TOKEN}"`. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// How an agent talks to an MCP server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum McpTransport {
    /// Server-sent events over HTTP.
    #[default]
    Sse,
    /// The standard input and output of a process.
    Stdio,
    /// The HTTP transport that followed server-sent events; also written `"http"`.
    #[serde(alias = "http")]
    StreamableHttp,
}
