//! Where the tasks of an experiment come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use taskwright_language::model::SpecPath;

/// One source of tasks: `built = [...]`, `path = "..."`, `registry = "..."` or `git = "..."`.
///
/// In patterns `*` is anything, `?` one character, `[a-z]` one of these and `{a,b}` one of several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TaskSet {
    /// Tasks that the specs of this workspace describe.
    Built(BuiltTasks),
    /// A task, or a folder of tasks, on this machine.
    Local(LocalTasks),
    /// A dataset of a registry.
    Registry(RegistryTasks),
    /// Tasks of a repository.
    Git(GitTasks),
}

/// Tasks of a git repository, at a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitTasks {
    /// The repository's address, as `git clone` takes it.
    pub git: String,
    /// The commit: 40 hexadecimal digits.
    pub commit: String,
    /// The tasks' folders in it.
    pub paths: Vec<String>,
}

/// Tasks that the specs of this workspace describe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BuiltTasks {
    /// Names of tasks, or patterns of such.
    pub built: Vec<String>,
    /// Names or patterns of those to leave out.
    #[serde(default)]
    pub exclude: Vec<String>,
}

/// A task, or a folder of tasks, on this machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalTasks {
    /// The folder: one that holds a `task.toml`, or one of such folders.
    pub path: SpecPath,
    /// Names or patterns of those to take: of their folders, or the names in their `task.toml`. All if none is given.
    #[serde(default)]
    pub include: Vec<String>,
    /// Names or patterns of those to leave out.
    #[serde(default)]
    pub exclude: Vec<String>,
}

/// A dataset of a registry, pinned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegistryTasks {
    /// Its name: `name` in a registry of datasets, `org/name` for a package of the hub.
    pub registry: String,
    /// Its version.
    #[serde(default)]
    pub version: Option<String>,
    /// Of a package: the digest of its content, `sha256:` and 64 hexadecimal digits.
    #[serde(default)]
    pub digest: Option<String>,
    /// The registry's file on this machine, instead of Harbor's own registry.
    #[serde(default)]
    pub registry_path: Option<SpecPath>,
    /// The registry's address, instead of Harbor's own.
    #[serde(default)]
    pub registry_url: Option<String>,
    /// Names of tasks, or patterns of such in Harbor's own notation (`*`, `?`, `[a-z]`). All if none is given.
    #[serde(default)]
    pub include: Vec<String>,
    /// Names or patterns of those to leave out.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// How many of them at most: the first ones, after including and excluding.
    #[serde(default)]
    pub limit: Option<u64>,
}
