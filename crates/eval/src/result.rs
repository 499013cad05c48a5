//! What comes out of an evaluation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use taskwright_language::model::Constraint;

use crate::attempts::Attempts;

/// Whose failure something is, which decides what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// Ours: the machine, the sandbox, a missing file. It costs the optimizer nothing.
    Infrastructure,
    /// The candidate's: it counts with the failure value.
    Candidate,
    /// The scorer's: it crashed, stayed silent, or answered something that is no score. Ours as well.
    Verifier,
    /// There was no budget left for it.
    Budget,
    /// The candidate was not finished in time: it counts with the failure value.
    Timeout,
}

/// What became of a sample's `run`, in the words that a scorer reads in `error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunErrorKind {
    /// It did not finish in time.
    Timeout,
    /// It ended with an error, or was killed for passing a limit, before it had answered.
    Crash,
    /// It ended well without an answer for this sample.
    NoOutput,
    /// It answered something that is not a usable JSON line, or more than the limit of output.
    InvalidOutput,
    /// Mode B: it had used up the money or tokens it was given.
    Budget,
}

impl RunErrorKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Crash => "crash",
            Self::NoOutput => "no_output",
            Self::InvalidOutput => "invalid_output",
            Self::Budget => "budget",
        }
    }

    /// The class of error it is.
    pub fn class(self) -> ErrorClass {
        match self {
            Self::Timeout => ErrorClass::Timeout,
            Self::Budget => ErrorClass::Budget,
            Self::Crash | Self::NoOutput | Self::InvalidOutput => ErrorClass::Candidate,
        }
    }
}

/// What the scorer said of a sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The score; always finite.
    pub score: f64,
    /// What else was measured; always finite.
    pub metrics: BTreeMap<String, f64>,
    /// What may be shown to the optimizer where it may see samples; at most `feedback.max_bytes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
}

/// How a sample ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The candidate answered and the scorer judged it.
    Scored(Score),
    /// The candidate failed: it counts with the score that the scorer gives a failure.
    CandidateError {
        /// How it failed.
        kind: RunErrorKind,
        /// What happened, in words that may be shown where samples may be seen.
        detail: String,
        /// What it counts with.
        #[serde(flatten)]
        score: Score,
    },
    /// We failed: it has no score.
    Infrastructure {
        /// Whose failure: [`ErrorClass::Infrastructure`] or [`ErrorClass::Verifier`].
        class: ErrorClass,
        /// What happened; may name what the optimizer must not see.
        message: String,
    },
}

/// One sample of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleResult {
    /// The sample.
    pub id: String,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The value of the objective's metric: the score, a metric, or the failure value. None if we failed.
    pub value: Option<f64>,
    /// Seconds from the start of its `run`, or from the answer before it, to its answer.
    pub seconds: f64,
    /// The tail of what the candidate printed to standard error meanwhile; at most `feedback.max_bytes`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub transcript: String,
    /// Mode B: what became of each attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Box<Attempts>>,
}

impl SampleResult {
    /// The class of its error; none if the candidate answered and was judged.
    pub fn error_class(&self) -> Option<ErrorClass> {
        match &self.outcome {
            Outcome::Scored(_) => None,
            Outcome::CandidateError { kind, .. } => Some(kind.class()),
            Outcome::Infrastructure { class, .. } => Some(*class),
        }
    }

    /// What the scorer said, unless we failed.
    pub fn score(&self) -> Option<&Score> {
        match &self.outcome {
            Outcome::Scored(score) | Outcome::CandidateError { score, .. } => Some(score),
            Outcome::Infrastructure { .. } => None,
        }
    }
}

/// How an evaluation as a whole ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Every sample was tried.
    Completed,
    /// Its time was over: what was finished is kept, what the candidate had not finished counts as its timeout.
    TimedOut,
    /// It was cancelled: what was finished is kept, the rest has no score.
    Cancelled,
    /// More samples than `error_rate_threshold` failed for reasons of ours: give the budget back.
    Failed,
}

/// What the samples add up to. Every planned sample is in exactly one of `scored`, `candidate_errors` and
/// `infrastructure_errors`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Aggregated {
    /// How many samples were planned.
    pub planned: u64,
    /// How many the candidate answered and the scorer judged.
    pub scored: u64,
    /// How many the candidate failed; they count with the failure value.
    pub candidate_errors: u64,
    /// How many we failed; they have no value and are in no mean.
    pub infrastructure_errors: u64,
    /// How many errors of each class there were.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// The mean of the objective's metric over the samples that have a value; none if none has.
    pub mean: Option<f64>,
    /// The standard error of that mean; none for fewer than two samples.
    pub standard_error: Option<f64>,
    /// The mean of each metric over the samples that report it.
    pub metrics: BTreeMap<String, f64>,
    /// The objective's constraints.
    pub constraints: Vec<ConstraintResult>,
}

impl Aggregated {
    /// Whether every planned sample has a value.
    pub fn is_complete(&self) -> bool {
        self.infrastructure_errors == 0
    }

    /// Whether every constraint holds.
    pub fn is_feasible(&self) -> bool {
        self.constraints.iter().all(|constraint| constraint.holds)
    }
}

/// A constraint of the objective, looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstraintResult {
    /// The constraint.
    pub constraint: Constraint,
    /// The mean of its metric; none if a sample that has a score lacks the metric.
    pub value: Option<f64>,
    /// Whether it holds; a metric that is missing does not hold.
    pub holds: bool,
}

/// An evaluation of a candidate on some samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvaluationResult {
    /// How it ended.
    pub end: End,
    /// Every planned sample, in the order of the plan.
    pub samples: Vec<SampleResult>,
    /// What they add up to.
    pub aggregate: Aggregated,
    /// How long it took.
    pub seconds: f64,
}
