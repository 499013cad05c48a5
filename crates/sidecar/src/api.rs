//! The service's JSON: what the client sends and what the server answers, version 1.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use taskwright_eval::Claimed;
use taskwright_gateway::{Budget as ModelBudget, Scope, Usage};
use taskwright_language::model::{Access, Constraint, Direction, Limit};

/// What every path of the service begins with.
pub const PREFIX: &str = "/v1";
/// The media type of a stream of JSON values, one a line.
pub const JSON_LINES: &str = "application/x-ndjson";
/// The media type of an error (RFC 9457).
pub const PROBLEM: &str = "application/problem+json";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewEvaluation {
    pub commit: String,
    pub split: String,
    #[serde(default)]
    pub samples: Choice,
}

/// Which samples of a split are meant.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    #[default]
    All,
    /// At least so many; which ones depends on the split alone.
    Count(u64),
    Ids(Vec<String>),
}

/// A request that names a candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nomination {
    pub commit: String,
}

/// A candidate as the service knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    pub commit: String,
    /// The git tree of the commit: what is evaluated.
    pub tree: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Queued,
    Running,
    Done,
    /// It has none, and never will.
    Failed,
    /// It has none: the budget for language models is spent.
    Refused,
    Cancelled,
}

/// What each user of language models has left.
pub type Models = BTreeMap<Scope, ModelBudget>;

/// What each user of language models has used, as the gateway metered it.
pub type Metered = BTreeMap<Scope, Usage>;

impl State {
    /// Whether nothing more will happen to it.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Refused | Self::Cancelled)
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Charge {
    pub runs: u64,
    pub samples: u64,
}

/// An evaluation: a candidate on samples of a split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    pub id: String,
    pub commit: String,
    pub tree: String,
    pub split: String,
    pub state: State,
    pub samples: u64,
    /// How many of them are finished; on a split that shows only aggregates, in steps of its floor.
    pub finished: u64,
    /// How many were answered from the record, at no cost.
    pub recorded: u64,
    /// What it cost, after what was given back.
    pub charged: Charge,
    /// The score: the mean of the objective's metric.
    pub score: Option<f64>,
    /// Whether the constraints hold; none while there is no score.
    pub eligible: Option<bool>,
    /// The mean of each metric that the scorer reports.
    #[serde(default)]
    pub metrics: BTreeMap<String, f64>,
    /// How many samples the score is made of.
    pub scored: u64,
    /// How many samples failed, by the kind of failure.
    #[serde(default)]
    pub failures: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What is worth knowing about how the request was understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When it was asked for, in seconds since 1970.
    pub created: u64,
    pub seconds: f64,
    /// What was used of language models, where a gateway counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<Box<Usage>>,
}

/// One sample's result, as the optimizer sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleView {
    pub id: String,
    pub score: Option<f64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    pub seconds: f64,
    /// Each attempt, where the task shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<AttemptView>,
}

/// One attempt at a sample, as the optimizer sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptView {
    /// Its score; none if it has none.
    pub score: Option<f64>,
    /// The type of what was raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The end of the candidate's transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    pub seconds: Option<f64>,
    /// What the candidate's agent says that it took of language models; nobody metered that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Claimed>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    Progress(Progress),
    /// A sample is finished. Only on splits that show each sample.
    Sample(SampleView),
    /// Nothing happened for a while; the service is still there.
    Waiting(Progress),
    End(Evaluation),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub state: State,
    /// Finished samples, as in [`Evaluation::finished`].
    pub finished: u64,
    pub samples: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub task: String,
    pub description: String,
    /// The commit that everything starts from.
    pub baseline: String,
    pub metric: String,
    pub direction: Direction,
    pub constraints: Vec<Constraint>,
    /// Files that must stay as they are.
    pub read_only: Vec<String>,
    pub splits: Vec<SplitPlan>,
    /// How the result is chosen, in words.
    pub selection: String,
    pub rules: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitPlan {
    pub name: String,
    pub access: Access,
    pub samples: u64,
    pub min_samples: u64,
    /// On a split that shows only aggregates, how many samples each of its fixed blocks has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<u64>,
    pub runs: Limit,
    pub runs_used: u64,
    pub sample_budget: Limit,
    pub samples_used: u64,
    /// The samples' ids; only of a split that shows each sample.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Whether no more evaluations and submissions are taken.
    pub sealed: bool,
    pub submitted: Option<Candidate>,
    pub evaluations: u64,
    pub active: Vec<Evaluation>,
    pub budgets: BTreeMap<String, Use>,
    /// What is left of language models.
    #[serde(default, skip_serializing_if = "Models::is_empty")]
    pub models: Models,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    pub runs: Limit,
    pub runs_used: u64,
    pub samples: Limit,
    pub samples_used: u64,
}

/// Finished and unfinished evaluations, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    pub evaluations: Vec<Evaluation>,
    /// Where the next page begins, if there is one.
    pub next: Option<u64>,
}
