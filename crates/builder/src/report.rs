//! What a build did: for each task whether it was built, was up to date or failed, and why.

use std::time::Duration;

use camino::Utf8PathBuf;
use taskwright_language::{Diagnostic, Diagnostics};

use crate::key::Change;
use taskwright_base::Error;

/// What a build did.
#[derive(Debug)]
pub struct Report {
    /// Each task, by name.
    pub tasks: Vec<TaskReport>,
    /// What is odd without being wrong.
    pub warnings: Vec<Diagnostic>,
    /// What failed besides tasks: a lock that could not be written, for example.
    pub errors: Vec<Error>,
    /// How long it took.
    pub elapsed: Duration,
}

/// What became of one task.
#[derive(Debug, Clone)]
pub struct TaskReport {
    /// Its name; the spec's path if the spec could not be read.
    pub name: String,
    /// What became of it.
    pub status: Status,
    /// Which inputs changed since it was built last; empty if none did, or if nothing was asked.
    pub changes: Vec<Change>,
    /// What was found wrong with its outputs before they were mended.
    pub damage: Vec<String>,
    /// Where what no build wrote was moved before its outputs were replaced or removed; none if there was nothing.
    pub lost: Option<Utf8PathBuf>,
}

/// What became of a task.
#[derive(Debug, Clone)]
pub enum Status {
    /// Its directory was made or replaced.
    Built,
    /// Nothing had to be done.
    UpToDate,
    /// It is not what the specs say; only where nothing may be built.
    Stale,
    /// It is of a spec that is gone, and a build would remove it; only where nothing may be built.
    Abandoned,
    /// It is of a spec that is gone, and was removed.
    Removed,
    /// It is of no spec and no build remembers it: it stays where it is.
    Orphaned,
    /// It could not be built, or the build was asked to stop before it was.
    Failed(Failure),
}

/// Why a task could not be built.
#[derive(Debug, Clone)]
pub enum Failure {
    /// Its spec is wrong: with places.
    Spec(Diagnostics),
    /// Something else.
    Error(Error),
}

impl TaskReport {
    /// A report that says no more than what became of the task.
    pub fn new(name: impl Into<String>, status: Status) -> Self {
        Self { name: name.into(), status, changes: Vec::new(), damage: Vec::new(), lost: None }
    }
}

impl Report {
    /// How many tasks have a status.
    pub fn count(&self, is: impl Fn(&Status) -> bool) -> usize {
        self.tasks.iter().filter(|task| is(&task.status)).count()
    }

    /// Whether all went well.
    pub fn is_success(&self) -> bool {
        self.errors.is_empty()
            && self.count(|status| matches!(status, Status::Failed(_) | Status::Stale | Status::Abandoned))
                == 0
    }

    /// Whether the build was asked to stop.
    pub fn is_interrupted(&self) -> bool {
        self.errors.iter().any(Error::is_interrupt) || self.tasks.iter().any(|task| task.status.is_stopped())
    }
}

impl Status {
    /// Whether the build was asked to stop before the task was done.
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Failed(Failure::Error(error)) if error.is_interrupt())
    }

    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Built => "built",
            Self::UpToDate => "up to date",
            Self::Stale | Self::Abandoned => "stale",
            Self::Removed => "removed",
            Self::Orphaned => "of no spec",
            Self::Failed(_) if self.is_stopped() => "stopped",
            Self::Failed(_) => "failed",
        }
    }
}
