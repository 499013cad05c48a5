//! Stops an evaluation from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A switch that stops an evaluation: clones are the same switch, and once thrown it stays so.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl From<Arc<AtomicBool>> for Cancel {
    /// A switch that somebody else throws too, such as a signal.
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

impl Cancel {
    /// A switch that has not been thrown.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the evaluation: what runs is killed within a tenth of a second, what is finished is kept.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was thrown.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
