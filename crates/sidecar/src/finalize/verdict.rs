//! The verdict: what was decided, why, and on what evidence.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use taskwright_base::Error;
use taskwright_language::model::{Aggregate, Direction};
use taskwright_language::serve::ServeConfig;

use crate::api::{Metered, Models, Use};

const VERSION: u32 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Scored,
    /// Some target has none, for reasons that are not the candidate's.
    Unscored,
}

/// How the candidate that counts came to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    Submit,
    AutoBest,
    /// Nothing else was there or good enough.
    Baseline,
}

impl By {
    pub fn word(self) -> &'static str {
        match self {
            Self::Submit => "it was submitted",
            Self::AutoBest => "it did best",
            Self::Baseline => "the baseline",
        }
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    #[serde(rename = "verdict_version")]
    format: u32,
    task: String,
    version: String,
    config: String,
    pub outcome: Outcome,
    /// Why it came out as it did, in the order in which it was decided.
    pub reasons: Vec<String>,
    pub winner: Option<WinnerReport>,
    pub targets: Vec<TargetReport>,
    /// The candidates that were ranked, best first.
    pub ranking: Vec<Ranked>,
    pub budgets: BTreeMap<String, Use>,
    /// The budgets for language models, by user, and what is left of them.
    #[serde(skip_serializing_if = "Models::is_empty")]
    pub models: Models,
    /// What each user took of language models, as the gateway metered it: the ledger reads this.
    #[serde(skip_serializing_if = "Metered::is_empty")]
    pub usage: Metered,
    /// The digests of the other files of the evidence.
    pub evidence: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct WinnerReport {
    pub commit: String,
    pub tree: String,
    pub by: By,
    /// Whether it has the baseline's very files.
    pub is_baseline: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct Ranked {
    /// Its first commit with these files.
    pub commit: String,
    pub tree: String,
    /// The optimizer's evaluations of it, pooled.
    pub score: Option<f64>,
    /// The share of the split that these cover.
    pub coverage: f64,
    /// The service's own evaluations of it, pooled.
    pub rescored: Option<f64>,
    pub left_out: Option<LeftOut>,
}

/// Why a candidate was left out of the choice.
#[derive(Debug, Clone)]
pub enum LeftOut {
    /// Too little of the split was evaluated.
    Coverage {
        share: f64,
        least: f64,
        split: String,
    },
    Constraint,
    /// The samples add up to nothing.
    Unscored(Error),
    /// Others did better in the search, and only so many are scored again.
    NotAmongBest(usize),
    ConstraintWhenRescored,
    /// An infrastructure error kept it from being scored again: the choice cannot be made without it.
    NotRescored(Error),
}

impl fmt::Display for LeftOut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coverage { share, least, split } => write!(
                formatter,
                "it was evaluated on {:.1} % of `{split}`, and {:.1} % are needed",
                share * 100.0,
                least * 100.0
            ),
            Self::Constraint => formatter.write_str("a constraint does not hold"),
            Self::Unscored(error) => error.fmt(formatter),
            Self::NotAmongBest(most) => write!(formatter, "it is not among the best {most}"),
            Self::ConstraintWhenRescored => {
                formatter.write_str("a constraint does not hold when it is scored again")
            }
            Self::NotRescored(error) => write!(formatter, "it could not be scored again: {error}"),
        }
    }
}

impl Serialize for LeftOut {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[derive(Debug, Clone, Serialize)]
pub struct TargetReport {
    pub split: String,
    pub reward_key: String,
    /// The score; none if there is none.
    pub score: Option<f64>,
    /// Where the score is from: `measured`, or the `pinned` score of the baseline.
    pub source: &'static str,
    pub direction: Direction,
    /// What the attempts at a sample add up to.
    pub aggregate: Aggregate,
    pub attempts: u64,
    pub samples: u64,
    pub scored: u64,
    /// How many samples have no value for reasons that are not the candidate's, so that the score is without them.
    pub left_out: u64,
    pub failures: BTreeMap<String, u64>,
    pub metrics: BTreeMap<String, f64>,
    pub eligible: Option<bool>,
    /// The baseline's own score, where it is known.
    pub baseline: Option<f64>,
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
            models: Models::new(),
            usage: Metered::new(),
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
