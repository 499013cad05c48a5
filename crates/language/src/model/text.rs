//! Instruction, solution, feedback and the optimizer's environment, and the path type that they share.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
#[cfg(feature = "language")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A path written in a spec: relative to the file that says it, with `/` between its parts.
///
/// Once a spec is loaded it is relative to the workspace root, so that it means the same on every machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SpecPath(Utf8PathBuf);

impl SpecPath {
    /// A path as it stands.
    pub fn new(path: impl Into<Utf8PathBuf>) -> Self {
        Self(path.into())
    }

    /// The path, relative to the workspace root once the spec is loaded.
    pub fn as_path(&self) -> &Utf8Path {
        &self.0
    }
}

#[cfg(feature = "language")]
impl JsonSchema for SpecPath {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SpecPath".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 1,
            "description": "A path relative to the file that says it.",
            "x-taskwright-path": true,
        })
    }
}

/// What the optimizer reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Instruction {
    /// A Markdown file that states the problem. What may be evaluated, and how, is added by Taskwright.
    pub file: SpecPath,
    /// Whether to advise trying small subsets before whole splits.
    #[serde(default)]
    pub multifidelity: bool,
    /// Whether to ask the optimizer to go on until its budget is spent.
    #[serde(default)]
    pub exhaust_budget: bool,
}

/// What the oracle does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Solution {
    /// A folder whose files are copied over the baseline, committed, evaluated and submitted.
    pub path: SpecPath,
    /// The message of the oracle's commit.
    #[serde(default = "Solution::default_message")]
    pub message: String,
}

impl Solution {
    fn default_message() -> String {
        "Improve the baseline".to_owned()
    }
}

/// What the optimizer sees of a single sample of a viewable split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Feedback {
    /// Whether the tail of the sample's log or transcript is shown.
    pub transcripts: bool,
    /// The most bytes of feedback kept for one sample.
    pub max_bytes: u64,
    /// Mode B: whether each attempt of a sample is shown, or only what they add up to.
    #[cfg_attr(feature = "language", schemars(extend("x-taskwright-mode" = "b")))]
    pub attempts: bool,
}

impl Default for Feedback {
    fn default() -> Self {
        Self { transcripts: true, max_bytes: 16_000, attempts: false }
    }
}

/// Environment variables of the optimizer's container.
pub type AgentEnv = BTreeMap<String, String>;
