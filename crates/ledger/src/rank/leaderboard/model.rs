//! What a leaderboard says, as plain data for the command line, the report and JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::rank::statistics::{Direction, Interval};
use crate::record::{Agent, Failure};

/// By what rules trials become numbers. The answer repeats them, so that it can be read by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rules {
    /// The key of the reward that is looked at; none for the one that each trial's task declares as its own.
    pub metric: Option<String>,
    /// Which rewards are better.
    pub direction: Direction,
    /// What a partial trial counts as; none where partial trials do not count. A trial that infrastructure broke or that
    /// was cancelled never counts.
    pub partial: Option<f64>,
    /// From which reward on (or down to which, where smaller is better) a trial succeeded. None: rewards of 1 are
    /// successes if all rewards are 0 or 1 and larger is better, and nothing is otherwise.
    pub threshold: Option<f64>,
    /// The numbers of trials to give pass@k for.
    pub k: Vec<u32>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { metric: None, direction: Direction::Maximize, partial: None, threshold: None, k: vec![1] }
    }
}

/// The agents, ranked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Leaderboard {
    /// The rules it was made by.
    pub rules: Rules,
    /// The reward at which a trial counts as a success in pass@k; none if there is no such reward, and no pass@k.
    pub success: Option<f64>,
    /// One row an agent configuration, the best first.
    pub rows: Vec<Row>,
    /// One entry a task, by name.
    pub tasks: Vec<TaskCells>,
    /// What a reader must know to read the numbers rightly.
    pub notes: Vec<Note>,
}

/// One agent configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The place, from 1. Agents with the same mean share theirs. None without a mean.
    pub rank: Option<u32>,
    /// The name to show: the agent's, and what sets this configuration apart from others of the same name.
    pub label: String,
    /// Who it is; `agent.digest` is what tells agents apart.
    pub agent: Agent,
    /// How many tasks have trials, whatever their outcome.
    pub tasks: u64,
    /// How many of them have a trial that counts: the tasks that the mean is over.
    pub tasks_counted: u64,
    /// Trials that were graded, with a valid reward.
    pub complete: u64,
    /// Trials that ran and have no valid reward under the metric.
    pub partial: u64,
    /// Trials that were planned and have no result.
    pub missing: u64,
    /// Partial trials that count nevertheless, because the rules say so.
    pub partial_counted: u64,
    /// The mean over tasks of the mean over each task's trials.
    pub mean: Option<f64>,
    /// Where the mean lies with 95 % confidence; none if too little is known to say.
    pub interval: Option<Interval>,
    /// pass@k, for each `k` that was asked for.
    pub pass_at_k: Vec<PassAtK>,
    /// What it cost, in US dollars.
    pub cost_usd: Spend,
    /// How long it took, from the start of a trial to its end, in seconds.
    pub seconds: Spend,
    /// Trials that are not complete, by class of failure.
    pub failures: BTreeMap<Failure, u64>,
    /// Trials that are complete although something failed (as an agent that ran out of time, and was graded), by class.
    pub flagged: BTreeMap<Failure, u64>,
}

/// An estimate of pass@k.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PassAtK {
    /// How many trials one may have.
    pub k: u32,
    /// The mean over the tasks that have at least `k` trials that count.
    pub mean: Option<f64>,
    /// How many tasks those are.
    pub tasks: u64,
}

/// Money or time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spend {
    /// The mean over tasks of the mean over each task's trials that count and of which it is known.
    pub mean: Option<f64>,
    /// The sum over all trials of which it is known, whatever their outcome.
    pub total: Option<f64>,
    /// How many trials that sum is over.
    pub known: u64,
}

/// A task, with a cell for each row of the leaderboard.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskCells {
    /// The task's name.
    pub task: String,
    /// In the order of the rows; none where an agent has no trial of the task.
    pub cells: Vec<Option<Cell>>,
}

/// What an agent did on a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// Trials that were graded, with a valid reward.
    pub complete: u64,
    /// Trials that ran and have no valid reward under the metric.
    pub partial: u64,
    /// Trials that were planned and have no result.
    pub missing: u64,
    /// The trials that the mean is over.
    pub counted: u64,
    /// Their mean reward.
    pub mean: Option<f64>,
    /// Wilson's interval, if all of their rewards are 0 or 1.
    pub interval: Option<Interval>,
    /// How many of them succeeded, where success is defined.
    pub successes: Option<u64>,
    /// The mean cost of the trials that count and of which it is known, in US dollars.
    pub cost_usd: Option<f64>,
    /// The mean duration of the trials that count and of which it is known, in seconds.
    pub seconds: Option<f64>,
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
    DifferentTasks,
    /// pass@k was asked for, and nothing says which rewards are a success.
    NoThreshold,
    /// Agents whose tasks all have the same mean: their interval has no width, and says nothing.
    NoVariation {
        /// Their labels.
        agents: Vec<String>,
    },
    /// Agents with fewer than ten tasks: a bootstrap over so few makes intervals that are too narrow.
    FewTasks {
        /// Their labels.
        agents: Vec<String>,
    },
    /// Tasks that changed between trials that count: their means are over different contents.
    ChangedTasks {
        /// Their names.
        tasks: Vec<String>,
    },
}
