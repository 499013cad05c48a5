//! What an evaluation's samples add up to, as far as the split may say so.
//!
//! The sum itself is `taskwright_eval`'s, the same as for `cargo xtask eval`; here stands which samples are summed up.

use std::collections::{BTreeMap, HashMap, HashSet};

use taskwright_base::{Error, Result};
use taskwright_eval::{FailureKind, Measured, summarize as sum_up};
use taskwright_language::model::Access;
use taskwright_language::serve::ServeConfig;

use crate::chooser::Chooser;
use crate::events::{Sample, Summary};

impl From<&Sample> for Measured {
    fn from(sample: &Sample) -> Self {
        Self {
            value: sample.value,
            score: sample.score,
            metrics: sample.metrics.clone(),
            failure: sample.failure,
        }
    }
}

/// Sums up the results of the samples that an evaluation covers, or says why they add up to nothing.
///
/// A sample without a value is never a zero: it is left out and counted, and too many of them fail the evaluation. On a
/// split that shows only aggregates the whole block of such a sample is left out, so that what is shown stays a sum over
/// whole blocks.
pub fn summarize(
    config: &ServeConfig,
    split: &str,
    chooser: &Chooser,
    covered: &[u32],
    results: &HashMap<u32, Measured>,
) -> Result<Summary> {
    let has_value =
        |sample: &u32| results.get(sample).and_then(|result| result.value).is_some_and(f64::is_finite);
    let missing = covered.iter().filter(|sample| !has_value(sample)).count();
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 samples")]
    let share = missing as f64 / covered.len().max(1) as f64;
    if covered.is_empty() || share > config.limits.error_rate_threshold || missing == covered.len() {
        return Err(Error::new(format!(
            "{missing} of {} samples could not be scored for reasons that are not the candidate's",
            covered.len()
        )));
    }
    let aggregate_only =
        config.splits.get(split).is_some_and(|split| split.access == Access::NonViewable) && missing > 0;
    let counted: Vec<u32> = if aggregate_only {
        let within: HashSet<u32> = covered.iter().copied().collect();
        chooser
            .blocks()
            .filter(|block| block.iter().all(|sample| within.contains(sample) && has_value(sample)))
            .flatten()
            .copied()
            .collect()
    } else {
        covered.iter().copied().filter(has_value).collect()
    };
    let sum = sum_up(&config.objective, counted.iter().filter_map(|sample| results.get(sample)));
    let Some(score) = sum.mean else {
        return Err(Error::new(format!(
            "{missing} of {} samples could not be scored for reasons that are not the candidate's, and no whole \
             block of samples is left",
            covered.len()
        )));
    };
    let mut failures: BTreeMap<String, u64> =
        sum.failures.iter().map(|(kind, count)| (kind.as_str().to_owned(), *count)).collect();
    let left_out = (covered.len() - counted.len()) as u64;
    if left_out > 0 {
        failures.insert(FailureKind::Infrastructure.as_str().to_owned(), left_out);
    }
    let eligible = sum.is_feasible();
    Ok(Summary { score, eligible, metrics: sum.metrics, scored: counted.len() as u64, failures })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use taskwright_eval::{ErrorClass, Outcome, RunErrorKind, SampleResult, Score};
    use taskwright_language::model::{Comparison, Constraint};
    use taskwright_testing::test;

    use super::*;
    use crate::testing;

    fn measured(value: Option<f64>) -> Measured {
        Measured { value, ..Measured::default() }
    }

    #[test]
    fn the_score_is_the_mean() {
        let config = testing::config();
        let chooser = Chooser::new("train", &config.splits["train"]);
        let results = (0..4).map(|i| (i, measured(Some(f64::from(i))))).collect();
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
        let results = covered.iter().map(|i| (*i, measured((*i != broken).then_some(1.0)))).collect();
        let summary = summarize(&config, "validation", &chooser, &covered, &results).unwrap();
        assert_eq!(summary.scored, 8);
        assert_eq!(summary.failures["infrastructure"], 4);
    }

    #[test]
    fn too_many_missing_samples_are_no_score() {
        let config = testing::config();
        let chooser = Chooser::new("train", &config.splits["train"]);
        let results = HashMap::from([(0, measured(Some(1.0)))]);
        assert!(summarize(&config, "train", &chooser, &[0, 1, 2], &results).is_err());
        assert!(summarize(&config, "train", &chooser, &[], &results).is_err());
    }

    /// A sample as an evaluation ends with it: the candidate answered, failed, or there is no value.
    fn any_sample() -> impl Strategy<Value = SampleResult> {
        let number = || (-4_i32..5).prop_map(|quarter| f64::from(quarter) / 4.0);
        let metrics = proptest::collection::btree_map(
            proptest::sample::select(vec!["accuracy".to_owned(), "cost".to_owned()]),
            number(),
            0..3,
        );
        (0..4_u8, number(), metrics).prop_map(|(way, score, metrics)| {
            let value = metrics.get("accuracy").copied().unwrap_or(-1.0);
            let score = Score { score, metrics, feedback: None };
            let (outcome, value) = match way {
                0 => {
                    let class = ErrorClass::Verifier;
                    (Outcome::Infrastructure { class, message: String::new() }, None)
                }
                1 => {
                    let (kind, detail) = (RunErrorKind::Crash, String::new());
                    (Outcome::CandidateError { kind, detail, score }, Some(value))
                }
                _ => (Outcome::Scored(score), Some(value)),
            };
            let id = String::new();
            SampleResult { id, outcome, value, seconds: 0.0, transcript: String::new(), attempts: None }
        })
    }

    /// `accuracy` is the objective; some constraints are on it, on the score and on another metric.
    fn with_constraints() -> ServeConfig {
        let mut config = testing::config();
        config.limits.error_rate_threshold = 1.0;
        config.objective.metric = "accuracy".to_owned();
        config.objective.failure_value = -1.0;
        let on = |metric: &str| Constraint {
            metric: metric.to_owned(),
            operator: Comparison::GreaterOrEqual,
            value: 0.0,
        };
        config.objective.constraints = ["score", "accuracy", "cost"].map(on).into();
        config
    }

    proptest! {
        #[test]
        fn a_trial_and_eval_sum_up_alike(samples in proptest::collection::vec(any_sample(), 1..11), which in 0..4_usize) {
            let mut config = with_constraints();
            if which < 3 {
                config.objective.constraints = vec![config.objective.constraints[which].clone()];
            }
            let by_eval = taskwright_eval::summarize(&config.objective, samples.iter().map(Measured::from));
            let chooser = Chooser::new("train", &config.splits["train"]);
            // By way of the journal, as the sidecar has them.
            let journalled = (0..).zip(&samples).map(|(index, sample)| {
                let line = serde_json::to_string(&Sample::of(index, sample, &config.objective)).unwrap();
                (index, Measured::from(&serde_json::from_str::<Sample>(&line).unwrap()))
            });
            let results: HashMap<u32, Measured> = journalled.collect();
            let covered: Vec<u32> = (0..u32::try_from(samples.len()).unwrap()).collect();
            match summarize(&config, "train", &chooser, &covered, &results) {
                Ok(summary) => {
                    prop_assert_eq!(Some(summary.score), by_eval.mean);
                    prop_assert_eq!(summary.eligible, by_eval.is_feasible());
                    prop_assert_eq!(summary.metrics, by_eval.metrics);
                    prop_assert_eq!(summary.scored, by_eval.scored + by_eval.candidate_errors);
                    let failures = summary.failures.values().sum::<u64>();
                    prop_assert_eq!(failures, by_eval.candidate_errors + by_eval.infrastructure_errors);
                }
                Err(_) => prop_assert_eq!(by_eval.mean, None),
            }
        }
    }

    #[test]
    fn a_constraint_on_the_score_holds_beside_another_objective() {
        let mut config = with_constraints();
        config.objective.constraints.truncate(1);
        let chooser = Chooser::new("train", &config.splits["train"]);
        let score = Score { score: 0.5, metrics: [("accuracy".to_owned(), 1.0)].into(), feedback: None };
        let sample = SampleResult {
            id: "train-0".to_owned(),
            outcome: Outcome::Scored(score),
            value: Some(1.0),
            seconds: 0.0,
            transcript: String::new(),
            attempts: None,
        };
        let results = HashMap::from([(0, Measured::from(&Sample::of(0, &sample, &config.objective)))]);
        let summary = summarize(&config, "train", &chooser, &[0], &results).unwrap();
        assert_eq!((summary.score, summary.eligible), (1.0, true));
    }
}
