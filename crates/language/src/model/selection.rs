//! What is measured, which candidate counts, and what it is scored on.

#[cfg(feature = "language")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Samples;

/// What is measured and which way is better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Objective {
    /// The metric that counts: `score`, or one that the scorer or the inner verifier reports.
    pub metric: String,
    /// Whether more of it is better, or less.
    pub direction: Direction,
    /// The score of a sample whose candidate failed.
    pub failure_value: f64,
    /// What else must hold for an evaluation to count.
    pub constraints: Vec<Constraint>,
}

impl Default for Objective {
    fn default() -> Self {
        Self {
            metric: "score".to_owned(),
            direction: Direction::default(),
            failure_value: 0.0,
            constraints: Vec::new(),
        }
    }
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// More is better.
    #[default]
    Maximize,
    /// Less is better.
    Minimize,
}

/// What must hold of a metric for an evaluation to count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// The metric.
    pub metric: String,
    /// How it is compared with the value.
    pub operator: Comparison,
    /// The value.
    pub value: f64,
}

/// How a metric is compared with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
pub enum Comparison {
    /// Equal.
    #[serde(rename = "==")]
    Equal,
    /// Not equal.
    #[serde(rename = "!=")]
    NotEqual,
    /// Less.
    #[serde(rename = "<")]
    Less,
    /// Less or equal.
    #[serde(rename = "<=")]
    LessOrEqual,
    /// Greater.
    #[serde(rename = ">")]
    Greater,
    /// Greater or equal.
    #[serde(rename = ">=")]
    GreaterOrEqual,
}

/// How the candidate that counts is chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Selection {
    /// The split whose evaluations rank the candidates; `"auto"` is `validation` if that may be
    /// evaluated, else the only split that may be.
    pub split: String,
    /// Who chooses.
    pub policy: Policy,
    /// How many of the best candidates are scored again on the whole split before one is chosen; 0 is off.
    pub rescore_top_k: u64,
    /// How often each of them is scored again.
    pub rescore_attempts: u64,
    /// The share of the split, 0 to 1, that must have been evaluated for a candidate to be ranked.
    pub min_coverage: f64,
    /// Whether a candidate that is not better than the baseline on this split is replaced by the baseline.
    pub baseline_floor: bool,
    /// Whether the baseline is scored on the targets as well.
    pub score_baseline: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            split: "auto".to_owned(),
            policy: Policy::default(),
            rescore_top_k: 3,
            rescore_attempts: 1,
            min_coverage: 1.0,
            baseline_floor: false,
            score_baseline: false,
        }
    }
}

/// Who chooses the candidate that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// The optimizer, by `taskwright submit`; if it submits nothing, as `auto_best`.
    #[default]
    Submit,
    /// The best candidate on the selection split.
    AutoBest,
}

/// A split that the verifier scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The split. The optimizer must not be able to see its samples.
    pub split: String,
    /// The key under which the score stands in reward.json.
    #[serde(default = "Target::default_reward_key")]
    pub reward_key: String,
    /// Which samples of the split.
    #[serde(default = "Target::default_samples")]
    pub samples: Samples,
    /// How often each sample is scored.
    #[serde(default = "Target::default_attempts")]
    pub attempts: u64,
    /// What the attempts at one sample add up to.
    #[serde(default)]
    pub aggregate: Aggregate,
    /// The baseline's own score, measured before, so that it need not be measured in each trial.
    #[serde(default)]
    pub baseline_reward: Option<f64>,
    /// The score when the candidate fails as a whole; without it the objective's.
    #[serde(default)]
    pub failure_value: Option<f64>,
    /// Which way is better; without it the objective's.
    #[serde(default)]
    pub direction: Option<Direction>,
    /// How often the whole target is tried when it failed because of infrastructure.
    #[serde(default = "Target::default_attempts")]
    pub max_attempts: u64,
}

impl Target {
    fn default_reward_key() -> String {
        "reward".to_owned()
    }
    fn default_samples() -> Samples {
        Samples::Every(super::samples::EverySample::All)
    }
    fn default_attempts() -> u64 {
        1
    }
}

/// What several attempts add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    /// Their mean.
    #[default]
    Mean,
    /// The best of them.
    Best,
    /// The first that could be graded.
    First,
}
