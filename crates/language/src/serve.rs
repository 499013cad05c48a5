//! The serve config: what a built task tells its eval sidecar. Written by the build, read by the sidecar.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    Access, Aggregate, Budget, Direction, Feedback, Gateway, HarborRun, Limits, Mode, Objective, Selection,
    WandbRun,
};

/// The version of this format.
pub const SERVE_VERSION: u32 = 1;

/// What a built task tells its eval sidecar.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeConfig {
    /// The version of this format.
    pub serve_version: u32,
    /// The task's name as Harbor has it, `organization/name`.
    pub task: String,
    /// The task's version.
    pub version: String,
    /// One sentence that says what is to be improved.
    pub description: String,
    /// What a sample is.
    pub mode: Mode,
    /// The repository that the optimizer starts from.
    pub baseline: ServeBaseline,
    /// What is measured and which way is better.
    pub objective: Objective,
    /// The groups of samples.
    pub splits: BTreeMap<String, ServeSplit>,
    /// How the candidate that counts is chosen; the split is named, never `auto`.
    pub selection: Selection,
    /// What is scored in the end.
    pub targets: Vec<ServeTarget>,
    /// Timeouts and limits.
    pub limits: Limits,
    /// What the optimizer sees of a sample.
    pub feedback: Feedback,
    /// Mode A: how a candidate is run and scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scorer: Option<ServeScorer>,
    /// Mode B: the nested `harbor run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harbor: Option<ServeHarbor>,
    /// Names of the environment variables that hold secrets.
    pub secrets: Vec<String>,
    /// The metered way to a language model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<Gateway>,
    /// Where evaluations are reported to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wandb: Option<WandbRun>,
}

impl ServeConfig {
    /// Whether candidates may ask language models.
    pub fn candidates_ask_models(&self) -> bool {
        self.gateway.as_ref().is_some_and(|gateway| gateway.evaluation.is_some())
    }
}

/// The repository that the optimizer starts from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeBaseline {
    /// The commit that the optimizer starts from.
    pub commit: String,
    /// The git tree of that commit.
    pub tree: String,
    /// Patterns of files that a candidate must leave as they are.
    pub read_only: Vec<String>,
}

/// A group of samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeSplit {
    /// What the optimizer may learn of it.
    pub access: Access,
    /// How much of it the optimizer may evaluate.
    pub budget: Budget,
    /// The fewest distinct samples of one evaluation.
    pub min_samples: u64,
    /// Whether its samples are in the optimizer's container.
    pub expose: bool,
    /// The ids of its samples.
    pub samples: Vec<String>,
}

/// A split that the verifier scores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeTarget {
    /// The split.
    pub split: String,
    /// The key in reward.json.
    pub reward_key: String,
    /// The ids of the samples.
    pub samples: Vec<String>,
    /// How often each is scored.
    pub attempts: u64,
    /// What the attempts add up to.
    pub aggregate: Aggregate,
    /// The baseline's own score, if it is pinned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_reward: Option<f64>,
    /// The score of a candidate that failed as a whole.
    pub failure_value: f64,
    /// Which way is better.
    pub direction: Direction,
    /// How often the whole target is tried when it failed because of infrastructure.
    pub max_attempts: u64,
}

/// Mode A: how a candidate is run and scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeScorer {
    /// The candidate's side.
    pub run: Vec<String>,
    /// Our side.
    pub score: Vec<String>,
    /// How many samples one `run` process is handed.
    pub batch: u64,
    /// Whether the same candidate always gets the same score.
    pub deterministic: bool,
    /// Environment variables of both.
    pub env: BTreeMap<String, String>,
    /// The files of the dataset that hold rows, from the dataset's folder.
    pub rows: Vec<String>,
    /// The field that names a row.
    pub id: String,
    /// The fields that no candidate may see.
    pub labels: Vec<String>,
    /// The digest of the scorer's files.
    pub scorer_digest: String,
    /// The digest of the dataset's files.
    pub dataset_digest: String,
}

/// Mode B: the nested `harbor run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeHarbor {
    /// What the spec says of it.
    pub run: HarborRun,
    /// The digest of the file that says which version of each package Harbor and the baseline have, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<String>,
    /// The inner tasks by sample id; empty if they come from a registry.
    pub tasks: BTreeMap<String, ServeInnerTask>,
}

/// One inner task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServeInnerTask {
    /// Its directory below `inner-tasks`.
    pub directory: String,
    /// Its name as its own task.toml has it.
    pub name: String,
    /// Its content digest as Harbor computes it.
    pub digest: String,
}
