//! Stops an evaluation from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A switch that stops an evaluation: clones are the same switch, and once thrown it stays so.
#[derive(Debug, Clone)]
pub struct Cancel {
    own: Arc<AtomicBool>,
    /// Those that are thrown for this one, too.
    above: Vec<Arc<AtomicBool>>,
}

impl Default for Cancel {
    fn default() -> Self {
        Self::from(Arc::default())
    }
}

impl From<Arc<AtomicBool>> for Cancel {
    /// A switch that somebody else throws too, such as a signal.
    fn from(own: Arc<AtomicBool>) -> Self {
        Self { own, above: Vec::new() }
    }
}

impl Cancel {
    /// A switch that has not been thrown.
    pub fn new() -> Self {
        Self::default()
    }

    /// A switch for a part of what this one stops: it is thrown with this one, and this one not with it.
    #[must_use]
    pub fn part(&self) -> Self {
        let above = self.above.iter().chain([&self.own]).map(Arc::clone).collect();
        Self { own: Arc::default(), above }
    }

    /// Stops the evaluation: what runs is killed within a tenth of a second, what is finished is kept.
    pub fn cancel(&self) {
        self.own.store(true, Ordering::Relaxed);
    }

    /// Whether it was thrown.
    pub fn is_cancelled(&self) -> bool {
        self.above.iter().chain([&self.own]).any(|switch| switch.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn a_part_stops_with_the_whole_and_not_the_other_way_round() {
        let whole = Cancel::new();
        let (one, other) = (whole.part(), whole.part());
        one.part().cancel();
        assert!(!one.is_cancelled() && !whole.is_cancelled());
        one.cancel();
        assert!(one.is_cancelled() && one.part().is_cancelled() && !other.is_cancelled());
        whole.cancel();
        assert!(other.is_cancelled() && other.part().is_cancelled());
    }
}
