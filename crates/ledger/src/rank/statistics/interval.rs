//! The terms of every statistic: rewards, their direction, and intervals.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use taskwright_base::words;

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

/// Whether an amount of money or time can have been spent: nobody is paid for a trial, so less than nothing is a mistake of whoever
/// reported it.
pub fn is_amount(value: f64) -> bool {
    is_reward(value) && value >= 0.0
}

/// Where a mean lies with a confidence of [`CONFIDENCE`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How it was found.
    pub method: IntervalMethod,
}

impl Interval {
    /// Whether it has no width: every task has the same mean, so that there is no spread to go by. It says nothing
    /// of how sure the mean is, and must not be shown as if it did.
    pub fn is_degenerate(&self) -> bool {
        self.low >= self.high
    }
}

/// One without a width says so: whoever reads it must not take it for certainty.
impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = 3 + usize::from(self.is_degenerate());
        let mut object = serializer.serialize_struct("Interval", fields)?;
        object.serialize_field("low", &self.low)?;
        object.serialize_field("high", &self.high)?;
        object.serialize_field("method", &self.method)?;
        if self.is_degenerate() {
            object.serialize_field("all_tasks_alike", &true)?;
        }
        object.end()
    }
}

/// How an interval was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// From the spread of the task means, by Student's distribution ([`student`](super::student)).
    StudentT,
    /// From the number of successes of one task with rewards of 0 and 1 ([`wilson`](super::wilson)).
    Wilson,
}

words! {
    /// Which rewards are better.
    #[derive(Default)]
    Direction {
        /// Larger ones.
        #[default]
        Maximize = "maximize",
        /// Smaller ones.
        Minimize = "minimize",
    }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn an_interval_without_a_width_says_so() {
        let json = |low, high| {
            serde_json::to_value(Interval { low, high, method: IntervalMethod::StudentT }).unwrap()
        };
        assert_eq!(json(1.0, 1.0)["all_tasks_alike"], true);
        assert_eq!(json(0.5, 1.0).get("all_tasks_alike"), None);
    }
}
