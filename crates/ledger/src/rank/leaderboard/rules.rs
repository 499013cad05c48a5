//! By what rules trials become numbers.

use serde::Serialize;

use crate::rank::statistics::{Direction, Measure};

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
    /// What agents are ranked by. None: the reward; where rewards of tasks are of different size, the share of the solution's
    /// gain if it is known of all tasks, else the gain if that is.
    pub rank_by: Option<Measure>,
    /// The numbers of trials to give pass@k for.
    pub k: Vec<u32>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            metric: None,
            direction: Direction::Maximize,
            partial: None,
            threshold: None,
            rank_by: None,
            k: vec![1],
        }
    }
}
