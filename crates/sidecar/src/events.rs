//! What the journal and the records say: every on-disk type of the service.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use taskwright_eval::{Attempts, FailureKind, Outcome as SampleOutcome, SampleResult};
use taskwright_gateway::Usage;
use taskwright_language::model::Objective;

use crate::api::Charge;

pub const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The first line: what the journal belongs to.
    Opened {
        version: u32,
        config: String,
    },
    Candidate {
        commit: String,
        tree: String,
    },
    /// An evaluation was charged; its work may begin.
    Charged(Charged),
    Ended {
        number: u64,
        end: End,
    },
    Submitted {
        commit: String,
        tree: String,
    },
    Sealed,
    Verdict {
        digest: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Charged {
    pub number: u64,
    pub purpose: Purpose,
    pub commit: String,
    pub tree: String,
    pub split: String,
    /// The samples' positions in the split, ascending; none if all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<Vec<u32>>,
    pub charge: Charge,
    /// How the request was understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Seconds since 1970.
    pub created: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Optimizer,
    /// It is part of finalizing: a re-scoring or a target, with the attempt.
    Finalize(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    pub outcome: Outcome,
    pub refund: Charge,
    /// Its result; none if it has none.
    pub summary: Option<Summary>,
    /// How many samples were answered from the record.
    pub recorded: u64,
    /// Why there is no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub seconds: f64,
    /// What was used of language models, where a gateway counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Box<Usage>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    /// An infrastructure error kept it from having one.
    Failed,
    /// Nothing was left of what candidates may use of language models: what came out would not be the candidate's score.
    Refused,
    Cancelled,
    /// The service ended while it ran.
    Interrupted,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Summary {
    pub score: f64,
    pub eligible: bool,
    pub metrics: BTreeMap<String, f64>,
    /// How many samples the score is made of.
    pub scored: u64,
    pub failures: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    Sample(Sample),
    /// All are, and this is what came out.
    End(End),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Its position in the split.
    pub index: u32,
    pub id: String,
    /// The value of the objective's metric; none after an infrastructure error.
    pub value: Option<f64>,
    /// The score, where something else is the objective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureKind>,
    /// What the scorer says, or what went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    pub seconds: f64,
    /// Mode B: what became of each attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Box<Attempts>>,
    /// The evaluation that it was copied from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<u64>,
}

impl Sample {
    /// A result as the record has it.
    pub fn of(index: u32, result: &SampleResult, objective: &Objective) -> Self {
        let score = result.score();
        let feedback = match &result.outcome {
            SampleOutcome::Scored(score) => score.feedback.clone(),
            SampleOutcome::CandidateError { detail, score, .. } => Some(
                score.feedback.clone().map_or_else(|| detail.clone(), |said| format!("{said} ({detail})")),
            ),
            SampleOutcome::Infrastructure { message, .. } => Some(message.clone()),
        };
        Self {
            index,
            id: result.id.clone(),
            value: result.value.filter(|value| value.is_finite()),
            score: score.map(|score| score.score).filter(|_| objective.metric != "score"),
            metrics: score.map(|score| score.metrics.clone()).unwrap_or_default(),
            failure: result.failure(),
            feedback,
            log: Some(result.transcript.clone()).filter(|text| !text.is_empty()),
            seconds: result.seconds,
            attempts: result.attempts.clone(),
            copied: None,
        }
    }

    /// Whether it would come out the same again: what failed for want of time, or for no fault of the candidate's, might not.
    pub fn is_lasting(&self) -> bool {
        self.value.is_some() && self.failure != Some(FailureKind::Timeout)
    }
}
