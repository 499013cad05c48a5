//! Base images and packages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The base image of each container.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Images {
    /// The optimizer's container. It needs git and bash.
    pub main: String,
    /// The eval sidecar; `"default"` is `python:3.13-trixie` in Mode A and `ghcr.io/astral-sh/uv:python3.13-trixie` in
    /// Mode B.
    pub sidecar: String,
    /// The separate verifier. It needs a shell.
    pub verifier: String,
}

impl Default for Images {
    fn default() -> Self {
        Self {
            main: "python:3.13-trixie".to_owned(),
            sidecar: "default".to_owned(),
            verifier: "debian:trixie-slim".to_owned(),
        }
    }
}

/// Debian packages installed when the images are built.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Packages {
    /// Packages of the optimizer's container, each `name` or `name=version`.
    pub main: Vec<String>,
    /// Packages of the eval sidecar, each `name` or `name=version`.
    pub sidecar: Vec<String>,
    /// The day, `YYYY-MM-DD`, of the Debian snapshot that packages come from. Needed as soon as a package is named, so
    /// that the same spec gives the same image next year. `"off"` takes what the image's own sources have on the day
    /// that it is built.
    pub snapshot: Option<String>,
}
