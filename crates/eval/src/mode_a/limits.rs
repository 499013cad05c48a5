//! What an evaluation may take, and the clock that says when it is over.

use std::time::{Duration, Instant};

use super::ModeA;
use crate::cancel::Cancel;
use crate::sandbox::order::{Network, RunLimits};

/// How often cancellation and deadlines are looked at.
pub(super) const TICK: Duration = Duration::from_millis(50);
/// How many bytes of answers may wait for the scorer before no further run is started.
pub(super) const MOST_WAITING: u64 = 64 << 20;
/// How long the scorer may take for what it was handed once the evaluation's time is over.
pub(super) const LAST_CALL: Duration = Duration::from_secs(5);
/// How long a process that has answered everything may take to end by itself.
pub(super) const FAREWELL: Duration = Duration::from_secs(1);
/// How many lines a process may print that answer nothing: each costs us work.
pub(super) const MOST_GARBAGE: u32 = 1000;

/// When everything has to stop.
pub(super) struct Clock<'a> {
    pub deadline: Option<Instant>,
    pub cancel: &'a Cancel,
}

/// Why a sample was not carried to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// The evaluation was cancelled.
    Cancelled,
    /// The evaluation's time was over.
    TimeOver,
}

impl Cut {
    /// What its sample is told to have failed of.
    pub fn message(self) -> &'static str {
        match self {
            Self::Cancelled => "the evaluation was cancelled",
            Self::TimeOver => "the evaluation's time was over",
        }
    }
}

impl Clock<'_> {
    pub fn is_over(&self) -> Option<Cut> {
        if self.cancel.is_cancelled() {
            Some(Cut::Cancelled)
        } else if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            Some(Cut::TimeOver)
        } else {
            None
        }
    }
}

/// What one process may use for so many samples.
pub(super) fn run_limits(mode: &ModeA, samples: u64) -> RunLimits {
    let limits = &mode.serve.limits;
    let seconds = limits.sample_seconds().saturating_mul(samples.max(1)).min(limits.evaluation_timeout_sec);
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let file = limits.file_size_mb.saturating_mul(1 << 20);
    RunLimits {
        memory: limits.memory_mb.saturating_mul(1 << 20),
        processes: limits.processes,
        file,
        disk: file.saturating_mul(4),
        files: 50_000,
        processor_seconds: seconds.saturating_add(10).saturating_mul(processors),
        // The clock of the evaluation is first; this one is for when nobody looks at that one any more.
        seconds: seconds.saturating_add(10),
        // What a candidate is asked must not reach anybody.
        network: Network::Nothing,
    }
}
