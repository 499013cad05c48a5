//! The terms of every statistic: rewards, their direction, and intervals.

use serde::Serialize;

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// The seed of everything that is drawn at random. Fixed, so that the same trials give the same bytes everywhere.
pub const SEED: u64 = 0x7461_736b_7772_6967;

/// The largest magnitude that counts as a reward. Sums of such numbers cannot overflow, however many there are; a
/// verifier that writes a larger one is mistaken.
pub const LARGEST_REWARD: f64 = 1e100;

/// Whether a number can be averaged with others: finite, and no larger than [`LARGEST_REWARD`].
pub fn is_reward(value: f64) -> bool {
    value.abs() <= LARGEST_REWARD
}

/// Where a mean lies with a confidence of [`CONFIDENCE`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How it was found.
    pub method: IntervalMethod,
}

impl Interval {
    /// Whether it has no width: every task has the same mean, so that a bootstrap has nothing to vary. It says nothing
    /// of how sure the mean is, and must not be shown as if it did.
    pub fn is_degenerate(&self) -> bool {
        self.low >= self.high
    }
}

/// How an interval was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// By drawing whole tasks with replacement ([`bootstrap`](super::bootstrap)).
    ClusterBootstrap,
    /// From the number of successes of one task with rewards of 0 and 1 ([`wilson`](super::wilson)).
    Wilson,
}

/// Which rewards are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Larger ones.
    #[default]
    Maximize,
    /// Smaller ones.
    Minimize,
}
