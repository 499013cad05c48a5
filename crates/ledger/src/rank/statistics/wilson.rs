//! Wilson's interval of a proportion.

use super::interval::{Interval, IntervalMethod};

/// The 97.5th percentile of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The 95 % interval of the probability of success, given how often it was had in so many trials; nothing without trials
/// or with more successes than trials. It lies within 0 and 1.
pub fn wilson(successes: u64, trials: u64) -> Option<Interval> {
    if trials == 0 || successes > trials {
        return None;
    }
    #[allow(clippy::cast_precision_loss)] // Exact up to 2^53.
    let (n, share) = (trials as f64, successes as f64 / trials as f64);
    let scale = 1.0 + Z * Z / n;
    let center = (share + Z * Z / (2.0 * n)) / scale;
    let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt() / scale;
    // Exactly the bound where the formula gives it but for rounding.
    let low = if successes == 0 { 0.0 } else { (center - half).max(0.0) };
    let high = if successes == trials { 1.0 } else { (center + half).min(1.0) };
    Some(Interval { low, high, method: IntervalMethod::Wilson })
}
