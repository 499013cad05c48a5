//! The verdict: what was decided, why, and on what evidence.

use std::collections::BTreeMap;

use serde::Serialize;
use taskwright_language::model::{Aggregate, Direction};
use taskwright_language::serve::ServeConfig;

use crate::api::Use;

/// The version of the verdict's format.
const VERSION: u32 = 1;

/// Whether there is a reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every target has a score.
    Scored,
    /// Some target has none, for reasons that are not the candidate's.
    Unscored,
}

/// How the candidate that counts came to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The optimizer submitted it.
    Submit,
    /// It did best.
    AutoBest,
    /// Nothing else was there or good enough.
    Baseline,
}

impl By {
    /// The words for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Submit => "it was submitted",
            Self::AutoBest => "it did best",
            Self::Baseline => "the baseline",
        }
    }
}

/// The verdict.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    #[serde(rename = "verdict_version")]
    format: u32,
    task: String,
    version: String,
    config: String,
    /// Whether there is a reward.
    pub outcome: Outcome,
    /// Why it came out as it did, in the order in which it was decided.
    pub reasons: Vec<String>,
    /// The candidate that counts.
    pub winner: Option<WinnerReport>,
    /// What each target says.
    pub targets: Vec<TargetReport>,
    /// The candidates that were ranked, best first.
    pub ranking: Vec<Ranked>,
    /// What was used of the budgets.
    pub budgets: BTreeMap<String, Use>,
    /// The digests of the other files of the evidence.
    pub evidence: BTreeMap<String, String>,
}

/// The candidate that counts.
#[derive(Debug, Clone, Serialize)]
pub struct WinnerReport {
    /// Its commit.
    pub commit: String,
    /// Its tree.
    pub tree: String,
    /// How it came to count.
    pub by: By,
    /// Whether it has the baseline's very files.
    pub is_baseline: bool,
}

/// A candidate that was ranked.
#[derive(Debug, Clone, Serialize)]
pub struct Ranked {
    /// Its first commit with these files.
    pub commit: String,
    /// Its tree.
    pub tree: String,
    /// The optimizer's evaluations of it, pooled.
    pub score: Option<f64>,
    /// The share of the split that these cover.
    pub coverage: f64,
    /// Our own evaluations of it, pooled.
    pub rescored: Option<f64>,
    /// Why it was left out, if it was.
    pub left_out: Option<String>,
}

/// What a target says.
#[derive(Debug, Clone, Serialize)]
pub struct TargetReport {
    /// The split.
    pub split: String,
    /// The key in the reward.
    pub reward_key: String,
    /// The score; none if there is none.
    pub score: Option<f64>,
    /// Where the score is from: `measured`, or the `pinned` score of the baseline.
    pub source: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// What the attempts at a sample add up to.
    pub aggregate: Aggregate,
    /// How often each sample was scored.
    pub attempts: u64,
    /// How many samples there are.
    pub samples: u64,
    /// How many have a score.
    pub scored: u64,
    /// How many failed, by kind.
    pub failures: BTreeMap<String, u64>,
    /// The means of the metrics.
    pub metrics: BTreeMap<String, f64>,
    /// Whether the constraints hold.
    pub eligible: Option<bool>,
    /// The baseline's own score, where it is known.
    pub baseline: Option<f64>,
    /// The evaluations that it rests on.
    pub evaluations: Vec<u64>,
}

impl Verdict {
    /// A verdict before anything is decided.
    pub fn new(config: &ServeConfig, digest: &str) -> Self {
        Self {
            format: VERSION,
            task: config.task.clone(),
            version: config.version.clone(),
            config: digest.to_owned(),
            outcome: Outcome::Unscored,
            reasons: Vec::new(),
            winner: None,
            targets: Vec::new(),
            ranking: Vec::new(),
            budgets: BTreeMap::new(),
            evidence: BTreeMap::new(),
        }
    }

    /// The reward: the first target's score, and each target's under its own key.
    pub fn reward(&self) -> Option<serde_json::Map<String, serde_json::Value>> {
        if self.outcome != Outcome::Scored {
            return None;
        }
        let mut reward = serde_json::Map::new();
        for target in &self.targets {
            let score = serde_json::Number::from_f64(target.score?)?;
            reward.insert(target.reward_key.clone(), score.clone().into());
        }
        let first = serde_json::Number::from_f64(self.targets.first()?.score?)?;
        reward.insert("reward".to_owned(), first.into());
        Some(reward)
    }
}
