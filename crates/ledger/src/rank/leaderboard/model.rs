//! What a leaderboard says, as plain data for the command line, the report and JSON.

use serde::Serialize;

use super::row::{Cell, Row};
use super::rules::Rules;
use crate::rank::statistics::{Direction, Measure};

/// The agents, ranked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Leaderboard {
    /// The rules it was made by.
    pub rules: Rules,
    /// The reward at which a trial counts as a success in pass@k; none if there is no such reward, and no pass@k.
    pub success: Option<f64>,
    /// What the rows are ranked by.
    pub ranked_by: Measure,
    /// One row an agent configuration, the best first.
    pub rows: Vec<Row>,
    /// One entry a task, by name.
    pub tasks: Vec<TaskCells>,
    /// What a reader must know to read the numbers rightly.
    pub notes: Vec<Note>,
}

/// A task, with a cell for each row of the leaderboard.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskCells {
    /// The task's name.
    pub task: String,
    /// The baseline's reward, if it is known and trials are of one content.
    pub baseline: Option<f64>,
    /// The reward of the task's own solution.
    pub oracle: Option<f64>,
    /// Which rewards the task says are better.
    pub direction: Option<Direction>,
    /// In the order of the rows; none where an agent has no trial of the task.
    pub cells: Vec<Option<Cell>>,
}

/// What a reader must know to read the numbers rightly.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Note {
    /// Partial trials count in the means.
    PartialCounted {
        /// How many.
        trials: u64,
        /// As what.
        value: f64,
    },
    /// The rows' means are not over the same tasks, so that they cannot be compared as they stand.
    DifferentTasks {
        /// Those that count for some of the agents and not for others.
        tasks: Vec<String>,
    },
    /// pass@k was asked for, and nothing says which rewards are a success.
    NoThreshold,
    /// Agents whose tasks all have the same mean: their interval has no width, and says nothing.
    NoVariation {
        /// Their labels.
        agents: Vec<String>,
    },
    /// Agents whose interval rests on fewer than ten tasks.
    FewTasks {
        /// Their labels.
        agents: Vec<String>,
    },
    /// Agents that failed, or succeeded, in so few of their tasks that their interval is too narrow.
    NearAnEnd {
        /// Their labels.
        agents: Vec<String>,
    },
    /// Agents of which trials were killed or stopped: what these report as their cost is a lower bound.
    CostAtLeast {
        /// Their labels.
        agents: Vec<String>,
    },
    /// Tasks whose rewards differ so much in size that a mean over both is mostly that of the first.
    DifferentScales {
        /// The one with the largest reward, and the one with the smallest.
        tasks: Vec<String>,
        /// Those that keep agents from being ranked by their gain: nothing is known of what their baseline comes to.
        without_baseline: Vec<String>,
    },
    /// Tasks that say the other rewards are better than the rules do.
    OtherDirection {
        /// Their names.
        tasks: Vec<String>,
    },
    /// Tasks that changed between trials that count: their means are over different contents.
    ChangedTasks {
        /// Their names.
        tasks: Vec<String>,
    },
}
