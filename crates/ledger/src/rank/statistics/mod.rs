//! The statistics of the ledger: each is defined here once, and used by the leaderboard, comparisons, report and export.
//!
//! `docs/statistics.md` gives the formulas and where they come from. All of them are pure functions of the *multiset* of
//! their inputs: the order of rows changes no bit of a result, and neither does the machine, since nothing but the basic
//! operations and the square root of IEEE 754 is used. None of them gives NaN: what has no value is `None`.

mod gain;
mod interval;
mod paired;
mod pass;
mod permutation;
mod random;
mod student;
#[cfg(test)]
mod tests;
mod wilson;

pub use gain::{Gain, Measure, Reference};
pub use interval::{
    CONFIDENCE, Direction, Interval, IntervalMethod, LARGEST_REWARD, SEED, is_amount, is_reward,
};
pub use paired::{ARRANGEMENTS, EXACT_UP_TO, Paired, Significance, SignificanceMethod, paired};
pub use pass::pass_at_k;
pub use permutation::paired_trials;
pub use random::SplitMix64;
pub use student::student;
pub(crate) use taskwright_base::number::{mean, sum};
pub use wilson::wilson;
