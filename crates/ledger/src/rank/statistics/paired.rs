//! The comparison of two agents on the tasks that both have.

use serde::Serialize;
use taskwright_base::number::{count, mean_of_sorted};

use super::interval::{Interval, SEED};
use super::random::SplitMix64;
use super::student::student;

/// Up to so many tasks that differ, every arrangement of signs is tried; beyond, [`ARRANGEMENTS`] are drawn.
pub const EXACT_UP_TO: usize = 20;

/// How many arrangements of signs are drawn where they are too many to try all.
pub const ARRANGEMENTS: u32 = 9_999;

/// Sums this close, as a share of the sum of all magnitudes, count as equal: they differ by rounding only.
pub(super) const EQUAL: f64 = 1e-9;

/// What the differences between two agents amount to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Paired {
    /// The mean of the differences.
    pub difference: f64,
    /// Where it lies with 95 % confidence, by Student's distribution over the tasks; none for one task.
    pub interval: Option<Interval>,
    /// How likely a difference as large as this would be if the agents were alike.
    pub significance: Significance,
}

/// The outcome of the permutation test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Significance {
    /// The two-sided p-value, in (0, 1].
    pub p_value: f64,
    /// Whether every arrangement was tried.
    pub method: SignificanceMethod,
    /// How many arrangements it rests on: ways to exchange the agents' trials within tasks.
    pub arrangements: u64,
}

/// Whether every arrangement was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SignificanceMethod {
    /// Every one.
    Exact,
    /// As many as [`ARRANGEMENTS`], drawn with a fixed seed.
    Sampled,
}

/// Compares two agents by their differences, one a task; nothing without any.
///
/// With the sides exchanged, everything is the same but for the sign of the difference and of its interval.
pub fn paired(differences: &[f64]) -> Option<Paired> {
    paired_by(differences, sign_flip)
}

/// The same by a test of the caller's, which is given the differences in order.
pub(super) fn paired_by(differences: &[f64], test: impl FnOnce(&[f64]) -> Significance) -> Option<Paired> {
    let sorted = |sign: f64| {
        let mut sorted: Vec<_> = differences.iter().map(|difference| sign * difference + 0.0).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    };
    // Of the two orientations always the same one is computed with.
    let (forward, backward) = (sorted(1.0), sorted(-1.0));
    let is_mirrored = forward < backward;
    let sorted = if is_mirrored { backward } else { forward };
    let difference = mean_of_sorted(&sorted)?;
    let interval = student(&sorted);
    let significance = test(&sorted);
    if !is_mirrored {
        return Some(Paired { difference, interval, significance });
    }
    let mirror =
        |Interval { low, high, method }: Interval| Interval { low: 0.0 - high, high: 0.0 - low, method };
    Some(Paired { difference: 0.0 - difference, interval: interval.map(mirror), significance })
}

/// How often the sum of the differences is at least as far from zero if each may have either sign.
fn sign_flip(sorted: &[f64]) -> Significance {
    // A task on which the agents do not differ adds nothing, whatever its sign.
    let differing: Vec<f64> = sorted.iter().copied().filter(|difference| *difference != 0.0).collect();
    let magnitude: f64 = differing.iter().map(|difference| difference.abs()).sum();
    let far = differing.iter().sum::<f64>().abs() - EQUAL * magnitude;
    if differing.len() <= EXACT_UP_TO {
        let arrangements = 1_u64 << differing.len();
        let as_far = arrangements_as_far(&differing, 0.0, far);
        return Significance {
            p_value: ratio(as_far, arrangements),
            method: SignificanceMethod::Exact,
            arrangements,
        };
    }
    let mut random = SplitMix64::new(SEED);
    let mut as_far = 0;
    for _ in 0..ARRANGEMENTS {
        let mut sum = 0.0;
        for differences in differing.chunks(64) {
            let mut signs = random.next();
            for difference in differences {
                sum += if signs & 1 == 0 { *difference } else { -difference };
                signs >>= 1;
            }
        }
        as_far += u64::from(f64::abs(sum) >= far);
    }
    // The arrangement that was observed is one of those possible: a p-value of zero would claim too much.
    let arrangements = u64::from(ARRANGEMENTS);
    Significance {
        p_value: ratio(as_far + 1, arrangements + 1),
        method: SignificanceMethod::Sampled,
        arrangements,
    }
}

/// How many of the arrangements of signs of these differences, added to the sum so far, are as far from zero.
fn arrangements_as_far(differences: &[f64], sum: f64, far: f64) -> u64 {
    match differences {
        [] => u64::from(sum.abs() >= far),
        [first, rest @ ..] => {
            arrangements_as_far(rest, sum + first, far) + arrangements_as_far(rest, sum - first, far)
        }
    }
}

#[allow(clippy::cast_possible_truncation)]
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    count(part as usize) / count(whole as usize)
}
