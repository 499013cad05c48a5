//! The repository that the optimizer starts from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SpecPath;

/// The repository that the optimizer starts from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// The folder that becomes the repository's root. Without `git` it is a folder of the git work tree that holds the
    /// spec; with `git` it is a folder of that other repository, written from its root.
    pub path: SpecPath,
    /// Another git repository on this machine that holds `path`: its work tree, or a bare repository.
    #[serde(default)]
    pub git: Option<SpecPath>,
    /// The revision to take: a commit, a tag or a branch.
    #[serde(default = "Baseline::default_rev")]
    pub rev: String,
    /// `commit` takes the files as they are in `rev` and refuses uncommitted changes under `path`; `work-tree` takes
    /// them as they are on disk, less what git ignores.
    #[serde(default)]
    pub source: BaselineSource,
    /// Patterns of files that a candidate must leave as they are, for example `"tests/**"`.
    #[serde(default)]
    pub read_only: Vec<String>,
    /// Folders or files copied over the baseline.
    #[serde(default)]
    pub overlays: Vec<Overlay>,
}

impl Baseline {
    fn default_rev() -> String {
        "HEAD".to_owned()
    }
}

/// Where the baseline's files come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BaselineSource {
    /// The files as they are in the revision.
    #[default]
    Commit,
    /// The files as they are on disk, committed or not, less what git ignores.
    WorkTree,
}

/// Something copied over the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    /// The file or folder to copy.
    pub from: SpecPath,
    /// Where in the baseline it goes, from its root; `"."` is the root.
    #[serde(default = "Overlay::default_to")]
    pub to: String,
    /// Whether a candidate must leave what was copied as it is.
    #[serde(default)]
    pub read_only: bool,
}

impl Overlay {
    fn default_to() -> String {
        ".".to_owned()
    }
}
