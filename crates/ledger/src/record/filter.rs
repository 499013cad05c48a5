//! Which trials are asked for.

use super::words::{Failure, Source, Status};

/// Which trials are asked for: those that meet every condition given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this experiment.
    pub experiment: Option<String>,
    /// Of the job of this name.
    pub job: Option<String>,
    /// Of the task of this name, with or without what stands before its `/`.
    pub task: Option<String>,
    /// Of the agent with this label, or whose digest begins like this (six digits at least).
    pub agent: Option<String>,
    /// With this status.
    pub status: Option<Status>,
    /// With this class of failure.
    pub failure: Option<Failure>,
    /// Made by this command.
    pub source: Option<Source>,
    /// Scored by this reward instead of the one that counts. In [`Score`]s only; a trial without it has no reward.
    pub reward_key: Option<String>,
}
