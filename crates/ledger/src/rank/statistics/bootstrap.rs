//! The cluster bootstrap over tasks.

use taskwright_base::number::count;

use super::interval::{Interval, IntervalMethod, SEED};
use super::random::SplitMix64;

/// How many resamples an interval rests on. With 4,999 the 2.5th and 97.5th percentile are the 125th and the 4,875th of
/// the sorted resamples, so that nothing has to be interpolated.
pub const RESAMPLES: usize = 4_999;

/// The place of the lower end among the sorted resamples, counted from zero. The upper end is as far from the last.
const LOW: usize = (RESAMPLES + 1) / 40 - 1;

/// The 95 % percentile interval of the mean of these values, one a task; nothing for fewer than two tasks.
///
/// A resample draws as many tasks as there are, with replacement. A task that is drawn brings its mean along: trials
/// within a task are not drawn anew, because the spread of the task means holds the spread within tasks already.
pub fn bootstrap(task_means: &[f64]) -> Option<Interval> {
    let mut sorted = task_means.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let [smallest, .., largest] = sorted[..] else { return None };
    let tasks = u32::try_from(sorted.len()).ok()?;
    let mut random = SplitMix64::new(SEED);
    let mut sums: Vec<f64> = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        sums.push((0..tasks).map(|_| sorted[random.below(tasks) as usize]).sum());
    }
    let mut end = |place| {
        let (_, sum, _) = sums.select_nth_unstable_by(place, f64::total_cmp);
        (*sum / count(sorted.len())).clamp(smallest, largest) + 0.0
    };
    Some(Interval { low: end(LOW), high: end(RESAMPLES - 1 - LOW), method: IntervalMethod::ClusterBootstrap })
}
