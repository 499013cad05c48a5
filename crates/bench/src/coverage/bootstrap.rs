//! The percentile bootstrap over tasks: what the ledger's intervals are held against.

use taskwright_ledger::statistics::SplitMix64;

/// How many resamples an interval rests on. With 4,999 the 2.5th and 97.5th percentile are the 125th and the 4,875th of
/// the sorted resamples, so that nothing has to be interpolated.
const RESAMPLES: usize = 4_999;

/// The place of the lower end among the sorted resamples, counted from zero. The upper end is as far from the last.
const LOW: usize = (RESAMPLES + 1) / 40 - 1;

/// The 95 % interval of the mean of these values, one a task: a resample draws as many tasks as there are, with replacement.
pub fn bootstrap(task_means: &[f64], random: &mut SplitMix64) -> Option<(f64, f64)> {
    let tasks = u32::try_from(task_means.len()).ok().filter(|tasks| *tasks > 1)?;
    let mut sums: Vec<f64> =
        (0..RESAMPLES).map(|_| (0..tasks).map(|_| task_means[random.below(tasks) as usize]).sum()).collect();
    let mut end = |place| *sums.select_nth_unstable_by(place, f64::total_cmp).1 / f64::from(tasks);
    Some((end(LOW), end(RESAMPLES - 1 - LOW)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 46,656 resamples of these six, each listed and its mean taken in Python, have these percentiles; so have `scipy`'s
    /// 200,000 resamples (`scipy.stats.bootstrap(..., np.mean, method='percentile')`).
    #[test]
    fn a_bootstrap_of_six_tasks_is_that_of_all_resamples() {
        let mut random = SplitMix64::new(1);
        let (low, high) = bootstrap(&[0.5, 0.0, 1.0, 0.25, 0.5, 0.875], &mut random).unwrap();
        assert!((low - 0.25).abs() < 0.011 && (high - 0.791_667).abs() < 0.011, "{low} {high}");
        assert_eq!(bootstrap(&[0.5], &mut random), None);
    }
}
