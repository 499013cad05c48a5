//! What becomes of one sample.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::attempts::Attempts;
use crate::failure::{ErrorClass, FailureKind, RunErrorKind};

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
    /// The scorer or the infrastructure failed: it has no score.
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
    /// The value of the objective's metric: the score, a metric, or the failure value. None if the scorer or the
    /// infrastructure failed.
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
    /// A sample of which nothing is known but how it ended.
    pub(crate) fn new(id: &str, outcome: Outcome, value: Option<f64>) -> Self {
        Self { id: id.to_owned(), outcome, value, seconds: 0.0, transcript: String::new(), attempts: None }
    }

    /// A sample that has no value, and whose failure that is: the infrastructure's or the scorer's.
    pub(crate) fn without_value(id: &str, class: ErrorClass, message: impl Into<String>) -> Self {
        Self::new(id, Outcome::Infrastructure { class, message: message.into() }, None)
    }

    /// How it failed; none if the candidate answered and was judged.
    pub fn failure(&self) -> Option<FailureKind> {
        match &self.outcome {
            Outcome::Scored(_) => None,
            Outcome::CandidateError { kind, .. } => Some((*kind).into()),
            Outcome::Infrastructure { class: ErrorClass::Verifier, .. } => Some(FailureKind::Verifier),
            Outcome::Infrastructure { .. } => Some(FailureKind::Infrastructure),
        }
    }

    /// Whose failure it is; none if the candidate answered and was judged.
    pub fn error_class(&self) -> Option<ErrorClass> {
        self.failure().map(FailureKind::class)
    }

    /// What the scorer said; none if there is no value.
    pub fn score(&self) -> Option<&Score> {
        match &self.outcome {
            Outcome::Scored(score) | Outcome::CandidateError { score, .. } => Some(score),
            Outcome::Infrastructure { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn what_is_read_from_a_record_is_what_was_written() {
        for value in
            [1.530_032_948, 0.1 + 0.2, 5e-324, f64::MAX, 9_007_199_254_740_993.0, 2.166_666_666_664_5]
        {
            let score = Score { score: value, metrics: BTreeMap::new(), feedback: None };
            let written = SampleResult::new("a", Outcome::Scored(score), Some(value));
            let text = serde_json::to_string(&written).unwrap();
            assert_eq!(serde_json::from_str::<SampleResult>(&text).unwrap(), written, "{text}");
        }
    }
}
