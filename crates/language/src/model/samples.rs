//! Splits: which samples they hold, and what the optimizer may learn of them.

#[cfg(feature = "language")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Limit, SpecPath};

/// A named group of samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// Which samples it holds: `"all"`, a list of their ids (of directory names in Mode B), `{ file = "..." }` with a
    /// JSON array or one id a line, or `{ field = "...", equals = "..." }`, the rows whose field has that value.
    pub samples: Samples,
    /// What the optimizer may learn of it.
    #[serde(default)]
    pub access: Access,
    /// How much of it the optimizer may evaluate.
    #[serde(default)]
    pub budget: Budget,
    /// The fewest distinct samples that one evaluation of a `non_viewable` split takes.
    #[serde(default = "Split::default_min_samples")]
    pub min_samples: u64,
    /// Whether the samples themselves (rows without labels, inner tasks without tests and solution) are put into the
    /// optimizer's container. Only for a `viewable` split of a dataset or of tasks that lie here.
    #[serde(default)]
    pub expose: bool,
}

impl Split {
    fn default_min_samples() -> u64 {
        5
    }
}

/// Which samples a split or a target holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(untagged)]
pub enum Samples {
    /// The word `all`, every sample of the source.
    Every(EverySample),
    /// These ids, in this order.
    List(Vec<String>),
    /// The ids that a file lists: a JSON array of strings, or one id a line.
    File(SampleFile),
    /// The rows whose field has a value.
    Where(SampleFilter),
}

/// The word that stands for every sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum EverySample {
    /// Every sample of the source.
    All,
}

/// A file that lists sample ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SampleFile {
    /// A JSON array of strings, or a text with one id a line.
    pub file: SpecPath,
}

/// The rows whose field has a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "language", schemars(extend("x-taskwright-mode" = "a")))]
pub struct SampleFilter {
    /// The field's name.
    pub field: String,
    /// The text that the field must be equal to.
    pub equals: String,
}

/// What the optimizer may learn of a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Nothing: it is held out.
    #[default]
    NoAccess,
    /// The aggregate of at least `min_samples` samples.
    NonViewable,
    /// Each sample's result.
    Viewable,
}

/// How much of a split the optimizer may evaluate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// The most evaluations, or `"unlimited"`.
    pub runs: Limit,
    /// The most samples over all evaluations, or `"unlimited"`.
    pub samples: Limit,
}
