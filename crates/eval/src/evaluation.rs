//! What comes out of an evaluation as a whole.

use serde::{Deserialize, Serialize};

use crate::result::SampleResult;
use crate::summary::Summary;

/// How an evaluation as a whole ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Every sample was attempted.
    Completed,
    /// Its time was over: what was finished is kept, what the candidate had not finished counts as its timeout.
    TimedOut,
    /// It was cancelled: what was finished is kept, the rest has no score.
    Cancelled,
    /// More samples than `error_rate_threshold` have no value: give the budget back.
    Failed,
}

/// An evaluation of a candidate on some samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvaluationResult {
    /// How it ended.
    pub end: End,
    /// Every planned sample, in the order of the plan.
    pub samples: Vec<SampleResult>,
    /// What they add up to.
    pub aggregate: Summary,
    /// How long it took.
    pub seconds: f64,
}
