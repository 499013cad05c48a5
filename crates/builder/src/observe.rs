//! What follows a build: a progress bar, or a test that kills it at a boundary.

use crate::report::TaskReport;

/// The edge between two steps of a build. A build that is killed at any of them leaves old or new outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Boundary {
    /// The workspace is locked and the state is loaded.
    Started,
    /// It is known which tasks have to be looked at.
    Planned,
    /// A baseline is in the store.
    Baseline,
    /// A dataset is in the store.
    Dataset,
    /// The binary is in the store.
    Binary,
    /// The files of a task are rendered.
    Rendered,
    /// A task is written beside its place.
    Staged,
    /// A task is in its place.
    Published,
    /// The outputs of specs that are gone have been removed.
    Pruned,
    /// The lock is written.
    Locked,
    /// The state is written.
    Saved,
}

impl Boundary {
    /// All of them, in the order in which a build reaches them.
    pub const ALL: [Self; 11] = [
        Self::Started,
        Self::Planned,
        Self::Baseline,
        Self::Dataset,
        Self::Binary,
        Self::Rendered,
        Self::Staged,
        Self::Published,
        Self::Pruned,
        Self::Locked,
        Self::Saved,
    ];
}

/// Follows a build, from several threads.
pub trait Observer: Sync {
    /// Another build holds the workspace; this one waits for it.
    fn waiting(&self, _holder: &str) {}
    /// This many tasks are looked at.
    fn planned(&self, _tasks: usize) {}
    /// Something that takes a while has begun.
    fn working(&self, _what: &str) {}
    /// Something is not as it should be, and the build goes on without it.
    fn warning(&self, _what: &str) {}
    /// A task is done, one way or the other.
    fn task(&self, _report: &TaskReport) {}
    /// A step has ended.
    fn boundary(&self, _boundary: Boundary) {}
}

/// An observer that is not interested.
pub struct Silent;

impl Observer for Silent {}
