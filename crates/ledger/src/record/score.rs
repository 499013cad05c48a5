//! The few columns of a trial that statistics need.

use super::spending::CostSource;
use super::trial::Trial;
use super::words::{Failure, Status};
use crate::rank::statistics::Reference;

/// What statistics need of a trial.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Score {
    /// Harbor's name of the task.
    pub task: String,
    /// The identity of the agent.
    pub agent_digest: String,
    /// How much came of the trial.
    pub status: Status,
    /// What broke, if something did.
    pub failure: Option<Failure>,
    /// The value of the reward that counts, or of the key that was asked for.
    pub reward: Option<f64>,
    /// What its agent cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// Who says so.
    pub cost_source: Option<CostSource>,
    /// What the candidates cost that the agent had evaluated, as its gateway metered it, in US dollars.
    pub evaluation_cost_usd: Option<f64>,
    /// The same of the candidates that were scored in the end.
    pub finalization_cost_usd: Option<f64>,
    /// How long it took as a whole, in seconds.
    pub seconds: Option<f64>,
    /// The content digest of the task that was run, if it is known.
    pub task_digest: Option<String>,
    /// What the reward is held against, as far as it is known.
    pub reference: Reference,
}

/// The columns of the database that a score is made of, beside the reward: all stand in the index `trials_scores`.
pub(crate) const COLUMNS: [&str; 11] = [
    "task",
    "agent_digest",
    "status",
    "failure",
    "cost_usd",
    "seconds_total",
    "task_digest",
    "metered_producer_requests",
    "metered_producer_cost_usd",
    "metered_evaluation_cost_usd",
    "metered_finalization_cost_usd",
];

impl Score {
    /// Of a trial that has at least the columns above, with the reward that is looked at.
    pub(crate) fn of(trial: &Trial, reward: Option<f64>) -> Self {
        Self {
            task: trial.task.clone(),
            agent_digest: trial.agent_digest.clone(),
            status: trial.status,
            failure: trial.failure,
            reward,
            cost_usd: trial.cost_usd,
            cost_source: trial.cost_source(),
            evaluation_cost_usd: trial.metered.evaluation.cost_usd,
            finalization_cost_usd: trial.metered.finalization.cost_usd,
            seconds: trial.seconds.total,
            task_digest: trial.task_digest.clone(),
            reference: Reference::default(),
        }
    }
}
