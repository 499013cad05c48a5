//! What a comparison says, as plain data for the command line, the report and JSON.

use serde::Serialize;

use crate::rank::leaderboard::{Cell, Row, Rules};
use crate::rank::statistics::{Measure, Paired};

/// Two agents, side by side. Every difference is the first less the second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The rules it was made by.
    pub rules: Rules,
    /// The reward at which a trial counts as a success; none if there is no such reward.
    pub success: Option<f64>,
    /// What they are compared by.
    pub compared_by: Measure,
    /// The first.
    pub a: Side,
    /// The second.
    pub b: Side,
    /// Every task that either has trials of, by name.
    pub tasks: Vec<TaskPair>,
    /// On how many tasks both have trials that count: those that the rest is about.
    pub common: u64,
    /// On how many of them the first is better, by the direction of the rules.
    pub better: u64,
    /// On how many it is worse.
    pub worse: u64,
    /// The mean over the common tasks of the first's means, by what they are compared by.
    pub mean_a: Option<f64>,
    /// The same for the second.
    pub mean_b: Option<f64>,
    /// The mean difference, its interval and its p-value; none without a common task.
    pub paired: Option<Paired>,
    /// What a reader must know to read these rightly.
    pub notes: Vec<Note>,
    /// The mean difference in cost over the common tasks of which both costs are known, in US dollars.
    pub cost_usd: Option<f64>,
    /// The same of what the candidates cost that each had evaluated, where gateways metered it.
    pub evaluation_cost_usd: Option<f64>,
    /// The same of the candidates that were scored in the end.
    pub finalization_cost_usd: Option<f64>,
    /// The mean difference in duration over the common tasks of which both are known, in seconds.
    pub seconds: Option<f64>,
}

/// What a reader must know to read a comparison rightly.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Note {
    /// Rewards of tasks differ so much in size that a mean over them is mostly that of the first.
    DifferentScales {
        /// The one with the largest reward, and the one with the smallest.
        tasks: Vec<String>,
    },
    /// The interval rests on few tasks.
    FewTasks {
        /// How many.
        tasks: u64,
    },
    /// There are so few arrangements that no outcome could have had a p-value below 0.05.
    LeastP {
        /// The least that there is.
        value: f64,
    },
    /// The interval excludes zero and the p-value is not below 0.05, or the other way round: the one asks about other tasks
    /// of the kind, the other about these.
    Disagree {
        /// Which of the two it is.
        interval_excludes_zero: bool,
    },
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// The experiment whose trials are looked at; none for those of all.
    pub experiment: Option<String>,
    /// What it did on all of its tasks, as in a leaderboard.
    #[serde(flatten)]
    pub row: Row,
}

/// A task, as both sides did on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskPair {
    /// The task's name.
    pub task: String,
    /// What the first did; none without trials.
    pub a: Option<Cell>,
    /// What the second did.
    pub b: Option<Cell>,
    /// The difference of their means, by what they are compared by; none where either has none.
    pub difference: Option<f64>,
}
