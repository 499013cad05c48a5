//! What an evaluation's samples add up to.

use std::collections::{BTreeMap, HashMap};

use taskwright_language::model::{Access, Comparison, Constraint};
use taskwright_language::serve::ServeConfig;

use crate::blocks::Chooser;
use crate::events::{Sample, Summary};

/// What is kept of a sample while its evaluation runs.
#[derive(Debug, Clone)]
pub struct Slim {
    /// The objective's metric; none if it could not be scored for reasons of ours.
    pub value: Option<f64>,
    /// All metrics.
    pub metrics: BTreeMap<String, f64>,
    /// What kind of failure it was.
    pub failure: Option<String>,
}

impl From<&Sample> for Slim {
    fn from(sample: &Sample) -> Self {
        Self { value: sample.value, metrics: sample.metrics.clone(), failure: sample.failure.clone() }
    }
}

/// Adds up the results of the samples that an evaluation covers, or says why they add up to nothing.
///
/// A sample without a value is never a zero: it is left out and counted, and too many of them fail the evaluation. On a
/// split that shows only aggregates the whole block of such a sample is left out, so that what is shown stays a sum over
/// whole blocks.
pub fn summarize(
    config: &ServeConfig,
    split: &str,
    chooser: &Chooser,
    covered: &[u32],
    results: &HashMap<u32, Slim>,
) -> Result<Summary, String> {
    let value =
        |sample: &u32| results.get(sample).and_then(|result| result.value).filter(|value| value.is_finite());
    let missing = covered.iter().filter(|sample| value(sample).is_none()).count();
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 samples")]
    let share = missing as f64 / covered.len().max(1) as f64;
    if covered.is_empty() || share > config.limits.error_rate_threshold || missing == covered.len() {
        return Err(format!(
            "{missing} of {} samples could not be scored for reasons that are not the candidate's",
            covered.len()
        ));
    }
    let aggregate_only =
        config.splits.get(split).is_some_and(|split| split.access == Access::NonViewable) && missing > 0;
    let mut counted: Vec<u32> = if aggregate_only {
        let within: std::collections::HashSet<u32> = covered.iter().copied().collect();
        chooser
            .blocks()
            .filter(|block| block.iter().all(|sample| within.contains(sample) && value(sample).is_some()))
            .flatten()
            .copied()
            .collect()
    } else {
        covered.iter().copied().filter(|sample| value(sample).is_some()).collect()
    };
    counted.sort_unstable();
    let Some(score) = mean(counted.iter().filter_map(value)) else {
        return Err(format!(
            "{missing} of {} samples could not be scored for reasons that are not the candidate's, and no whole \
             block of samples is left",
            covered.len()
        ));
    };
    let shown = || counted.iter().filter_map(|sample| results.get(sample));
    let mut metrics: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut failures: BTreeMap<String, u64> = BTreeMap::new();
    for result in shown() {
        for (name, value) in &result.metrics {
            metrics.entry(name.clone()).or_default().push(*value);
        }
        if let Some(failure) = &result.failure {
            *failures.entry(failure.clone()).or_default() += 1;
        }
    }
    let left_out = (covered.len() - counted.len()) as u64;
    if left_out > 0 {
        failures.insert("infrastructure".to_owned(), left_out);
    }
    let metrics: BTreeMap<String, f64> = metrics
        .into_iter()
        .filter_map(|(name, values)| Some((name, mean(values.into_iter()).filter(|mean| mean.is_finite())?)))
        .collect();
    // A metric that a sample does not report cannot be said to hold.
    let eligible = config.objective.constraints.iter().all(|constraint| {
        if constraint.metric == config.objective.metric {
            return holds(constraint, score);
        }
        shown().all(|result| result.metrics.contains_key(&constraint.metric))
            && metrics.get(&constraint.metric).is_some_and(|value| holds(constraint, *value))
    });
    Ok(Summary { score, eligible, metrics, scored: counted.len() as u64, failures })
}

/// The mean of finite numbers; none if there are none.
pub fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut count = 0.0;
    let mut mean = 0.0;
    let mut sum = 0.0;
    for value in values {
        count += 1.0;
        sum += value;
        mean += (value - mean) / count;
    }
    // The sum is exact more often; the running mean does not overflow.
    (count > 0.0).then(|| if f64::is_finite(sum) { sum / count } else { mean })
}

#[expect(clippy::float_cmp, reason = "the spec says `==`")]
fn holds(constraint: &Constraint, value: f64) -> bool {
    match constraint.operator {
        Comparison::Equal => value == constraint.value,
        Comparison::NotEqual => value != constraint.value,
        Comparison::Less => value < constraint.value,
        Comparison::LessOrEqual => value <= constraint.value,
        Comparison::Greater => value > constraint.value,
        Comparison::GreaterOrEqual => value >= constraint.value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn slim(value: Option<f64>) -> Slim {
        Slim { value, metrics: BTreeMap::new(), failure: None }
    }

    #[test]
    fn the_score_is_the_mean() {
        let config = testing::config();
        let chooser = Chooser::new("train", &config.splits["train"]);
        let results = (0..4).map(|i| (i, slim(Some(f64::from(i))))).collect();
        let summary = summarize(&config, "train", &chooser, &[0, 1, 2, 3], &results).unwrap();
        assert_eq!((summary.score, summary.scored), (1.5, 4));
    }

    #[test]
    fn a_block_with_a_sample_that_failed_for_our_reasons_is_left_out_whole() {
        let mut config = testing::config();
        config.limits.error_rate_threshold = 0.5;
        let chooser = Chooser::new("validation", &config.splits["validation"]);
        let covered: Vec<u32> = (0..12).collect();
        let broken = chooser.blocks().next().unwrap()[0];
        let results = covered.iter().map(|i| (*i, slim((*i != broken).then_some(1.0)))).collect();
        let summary = summarize(&config, "validation", &chooser, &covered, &results).unwrap();
        assert_eq!(summary.scored, 8);
        assert_eq!(summary.failures["infrastructure"], 4);
    }

    #[test]
    fn too_many_missing_samples_are_no_score() {
        let config = testing::config();
        let chooser = Chooser::new("train", &config.splits["train"]);
        let results = HashMap::from([(0, slim(Some(1.0)))]);
        assert!(summarize(&config, "train", &chooser, &[0, 1, 2], &results).is_err());
        assert!(summarize(&config, "train", &chooser, &[], &results).is_err());
    }

    #[test]
    fn means_do_not_overflow() {
        assert_eq!(mean([f64::MAX, f64::MAX].into_iter()), Some(f64::MAX));
        assert_eq!(mean(std::iter::empty()), None);
    }
}
