//! The few columns of a trial that statistics need.

use super::words::{Failure, Status};

/// The few columns of a trial that statistics need.
#[derive(Debug, Clone, PartialEq)]
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
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How long it took as a whole, in seconds.
    pub seconds: Option<f64>,
    /// The content digest of the task that was run, if it is known.
    pub task_digest: Option<String>,
}
