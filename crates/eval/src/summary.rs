//! What samples add up to, by one rule: `cargo xtask eval` and the eval sidecar both call it, and cannot differ.
//!
//! - A sample that the candidate failed counts with its value, which is the failure value where the scorer gave none.
//! - One without a value, for reasons that are not the candidate's, is left out of every mean and counted.
//! - A constraint on the objective's metric is about the mean that is reported: of all values, failures among them.
//! - A constraint on `score` beside another objective is about the mean of the scores.
//! - A constraint on any other metric holds only if every sample that has a value reports the metric.

use std::borrow::Borrow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use taskwright_base::number;
use taskwright_language::model::{Aggregate, Comparison, Constraint, Direction, Objective};

use crate::failure::{ErrorClass, FailureKind};
use crate::result::{SampleResult, Score};

/// The metric that is the score itself.
pub(crate) const SCORE: &str = "score";

/// What is summed up of a sample, or of one attempt at it: all that has to be in memory while an evaluation runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measured {
    /// The value of the objective's metric, or the failure value; none if there is none for reasons that are not the
    /// candidate's.
    pub value: Option<f64>,
    /// The score. Where it is the objective, `value` says it too and this may be left out.
    pub score: Option<f64>,
    /// What else was measured.
    pub metrics: BTreeMap<String, f64>,
    /// How it failed, if it did.
    pub failure: Option<FailureKind>,
}

impl From<&SampleResult> for Measured {
    fn from(sample: &SampleResult) -> Self {
        let score = sample.score();
        Self {
            value: sample.value,
            score: score.map(|score| score.score),
            metrics: score.map(|score| score.metrics.clone()).unwrap_or_default(),
            failure: sample.failure(),
        }
    }
}

/// What samples add up to. Each is in exactly one of `scored`, `candidate_errors` and `infrastructure_errors`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// How many samples there are.
    pub planned: u64,
    /// How many the candidate answered and the scorer judged.
    pub scored: u64,
    /// How many the candidate failed; they count with their value.
    pub candidate_errors: u64,
    /// How many have no value for reasons that are not the candidate's; they are in no mean.
    pub infrastructure_errors: u64,
    /// How many errors of each class there were.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// How many failures of each kind there were: `errors` in more detail.
    #[serde(skip)]
    pub failures: BTreeMap<FailureKind, u64>,
    /// The mean of the values; none if there is no value.
    pub mean: Option<f64>,
    /// The standard error of that mean; none for fewer than two values.
    pub standard_error: Option<f64>,
    /// The mean of each metric over the samples that report it.
    pub metrics: BTreeMap<String, f64>,
    /// The objective's constraints.
    pub constraints: Vec<ConstraintResult>,
}

/// A constraint of the objective, looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstraintResult {
    /// The constraint.
    pub constraint: Constraint,
    /// What it is about, as the rules above say; none if a sample that has a value lacks the metric.
    pub value: Option<f64>,
    /// Whether it holds; a metric that is missing does not hold.
    pub holds: bool,
}

impl Summary {
    /// Whether every sample has a value.
    pub fn is_complete(&self) -> bool {
        self.infrastructure_errors == 0
    }

    /// Whether every constraint holds.
    pub fn is_feasible(&self) -> bool {
        self.constraints.iter().all(|constraint| constraint.holds)
    }

    /// The share of samples that have no value.
    pub fn error_rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "no evaluation has 2^52 samples")]
        match self.planned {
            0 => 0.0,
            planned => self.infrastructure_errors as f64 / planned as f64,
        }
    }
}

/// Sums up samples. Their order decides nothing.
pub fn summarize<M: Borrow<Measured>>(
    objective: &Objective,
    samples: impl IntoIterator<Item = M>,
) -> Summary {
    let mut summary = Summary::default();
    let (mut values, mut scores) = (Vec::new(), Vec::new());
    let mut reported: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for sample in samples {
        let sample = sample.borrow();
        summary.planned += 1;
        let value = sample.value.filter(|value| value.is_finite());
        let failure = match (value, sample.failure) {
            (None, failure) => Some(failure.unwrap_or(FailureKind::Infrastructure)),
            (Some(_), failure) => failure,
        };
        match (value, failure) {
            (None, _) => summary.infrastructure_errors += 1,
            (Some(_), Some(_)) => summary.candidate_errors += 1,
            (Some(_), None) => summary.scored += 1,
        }
        if let Some(failure) = failure {
            *summary.failures.entry(failure).or_default() += 1;
            *summary.errors.entry(failure.class()).or_default() += 1;
        }
        let Some(value) = value else { continue };
        values.push(value);
        scores.extend(sample.score);
        for (name, value) in &sample.metrics {
            match reported.get_mut(name) {
                Some(values) => values.push(*value),
                None => drop(reported.insert(name.clone(), vec![*value])),
            }
        }
    }
    let look = |constraint: &Constraint| {
        let values = match constraint.metric.as_str() {
            metric if metric == objective.metric => Some(&values),
            SCORE => Some(&scores).filter(|scores| scores.len() == values.len()),
            metric => reported.get(metric).filter(|reported| reported.len() == values.len()),
        };
        let value = values.and_then(|values| number::mean(values.iter().copied()));
        let holds = value.is_some_and(|value| compare(value, constraint.operator, constraint.value));
        ConstraintResult { constraint: constraint.clone(), value, holds }
    };
    summary.constraints = objective.constraints.iter().map(look).collect();
    summary.standard_error = number::standard_error(&values);
    summary.mean = number::mean(values);
    summary.metrics =
        reported.into_iter().filter_map(|(name, values)| Some((name, number::mean(values)?))).collect();
    summary
}

/// What several attempts at one sample add up to. Those without a value are left out; a metric that one of the others
/// lacks is lacking.
pub fn pool(attempts: &[Measured], aggregate: Aggregate, direction: Direction) -> Measured {
    let valued: Vec<(&Measured, f64)> =
        attempts.iter().filter_map(|attempt| Some((attempt, attempt.value?))).collect();
    let Some(first) = valued.first() else { return Measured::default() };
    let all = |values: Vec<f64>| if values.len() == valued.len() { number::mean(values) } else { None };
    match aggregate {
        Aggregate::First => first.0.clone(),
        Aggregate::Best => {
            let mut best = first;
            for other in &valued {
                if is_better(direction, other.1, best.1) {
                    best = other;
                }
            }
            best.0.clone()
        }
        Aggregate::Mean => Measured {
            value: all(valued.iter().map(|(_, value)| *value).collect()),
            score: all(valued.iter().filter_map(|(attempt, _)| attempt.score).collect()),
            metrics: first
                .0
                .metrics
                .keys()
                .filter_map(|name| {
                    let values = valued.iter().filter_map(|(attempt, _)| attempt.metrics.get(name).copied());
                    Some((name.clone(), all(values.collect())?))
                })
                .collect(),
            failure: valued.iter().find_map(|(attempt, _)| attempt.failure),
        },
    }
}

/// Whether one value is better than another.
pub fn is_better(direction: Direction, value: f64, than: f64) -> bool {
    match direction {
        Direction::Maximize => value > than,
        Direction::Minimize => value < than,
    }
}

/// The value of the objective's metric; none if the scorer does not report it.
pub(crate) fn value(objective: &Objective, score: &Score) -> Option<f64> {
    match objective.metric.as_str() {
        SCORE => Some(score.score),
        metric => score.metrics.get(metric).copied(),
    }
}

#[expect(clippy::float_cmp, reason = "the constraint says equal")]
fn compare(left: f64, operator: Comparison, right: f64) -> bool {
    match operator {
        Comparison::Equal => left == right,
        Comparison::NotEqual => left != right,
        Comparison::Less => left < right,
        Comparison::LessOrEqual => left <= right,
        Comparison::Greater => left > right,
        Comparison::GreaterOrEqual => left >= right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    fn sample(value: f64, metrics: &[(&str, f64)]) -> Measured {
        let metrics = metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Measured { value: Some(value), score: Some(value), metrics, failure: None }
    }

    fn objective(metric: &str, constraints: &[(&str, Comparison, f64)]) -> Objective {
        let constraints = constraints.iter().map(|(metric, operator, value)| Constraint {
            metric: (*metric).to_owned(),
            operator: *operator,
            value: *value,
        });
        Objective { metric: metric.to_owned(), constraints: constraints.collect(), ..Objective::default() }
    }

    fn looked(summary: &Summary) -> Vec<(Option<f64>, bool)> {
        summary.constraints.iter().map(|result| (result.value, result.holds)).collect()
    }

    #[test]
    fn every_sample_counts_but_those_without_a_value() {
        let failed = Measured { failure: Some(FailureKind::Timeout), ..sample(0.0, &[]) };
        let without = Measured { failure: Some(FailureKind::Verifier), ..Measured::default() };
        let samples = [sample(1.0, &[("a", 2.0)]), sample(2.0, &[("a", 4.0)]), failed, without];
        let all = summarize(&Objective::default(), &samples);
        assert_eq!((all.planned, all.scored, all.candidate_errors, all.infrastructure_errors), (4, 2, 1, 1));
        assert_eq!(all.mean, Some(1.0));
        assert!((all.standard_error.unwrap() - 0.577_350_269).abs() < 1e-9);
        assert_eq!(all.metrics.get("a"), Some(&3.0));
        assert_eq!(all.errors, BTreeMap::from([(ErrorClass::Verifier, 1), (ErrorClass::Timeout, 1)]));
        assert!((all.error_rate() - 0.25).abs() < 1e-9 && !all.is_complete());
    }

    #[test]
    fn nothing_is_no_mean() {
        let none = summarize(&Objective::default(), Vec::<Measured>::new());
        assert_eq!((none.mean, none.standard_error, none.error_rate()), (None, None, 0.0));
        let one = summarize(&Objective::default(), [sample(f64::MAX, &[])]);
        assert_eq!((one.mean, one.standard_error), (Some(f64::MAX), None));
        let huge = summarize(&Objective::default(), [sample(f64::MAX, &[]), sample(f64::MAX, &[])]);
        assert_eq!(huge.mean, Some(f64::MAX));
    }

    #[test]
    fn constraints_are_looked_at() {
        let objective = objective(
            "score",
            &[
                ("a", Comparison::LessOrEqual, 3.0),
                ("a", Comparison::Greater, 3.0),
                ("b", Comparison::Equal, 1.0),
                ("score", Comparison::NotEqual, 0.0),
            ],
        );
        let all = summarize(&objective, [sample(1.0, &[("a", 2.0), ("b", 1.0)]), sample(1.0, &[("a", 4.0)])]);
        assert_eq!(looked(&all), [(Some(3.0), true), (Some(3.0), false), (None, false), (Some(1.0), true)]);
        assert!(!all.is_feasible());
    }

    #[test]
    fn a_constraint_on_the_objective_is_about_the_mean_with_its_failures() {
        let objective = objective(
            "accuracy",
            &[("accuracy", Comparison::GreaterOrEqual, 0.25), ("score", Comparison::Greater, 4.0)],
        );
        let good = Measured { score: Some(10.0), ..sample(0.5, &[("accuracy", 0.5)]) };
        // The scorer gives a failure a score and no accuracy: its value is the failure value.
        let failed = Measured { score: Some(0.0), failure: Some(FailureKind::Crash), ..sample(0.0, &[]) };
        let all = summarize(&objective, [good.clone(), failed]);
        assert_eq!(looked(&all), [(Some(0.25), true), (Some(5.0), true)]);
        let all = summarize(&objective, [good.clone(), Measured { score: None, ..good }]);
        assert_eq!(looked(&all), [(Some(0.5), true), (None, false)]);
    }

    #[test]
    fn attempts_are_pooled() {
        let attempts = [
            Measured { failure: Some(FailureKind::Infrastructure), ..Measured::default() },
            Measured { failure: Some(FailureKind::Crash), ..sample(1.0, &[("a", 1.0), ("b", 1.0)]) },
            sample(3.0, &[("a", 2.0)]),
            sample(2.0, &[("a", 3.0), ("b", 1.0)]),
        ];
        let (first, best) = (&attempts[1], &attempts[2]);
        assert_eq!(&pool(&attempts, Aggregate::First, Direction::Maximize), first);
        assert_eq!(&pool(&attempts, Aggregate::Best, Direction::Maximize), best);
        assert_eq!(&pool(&attempts, Aggregate::Best, Direction::Minimize), first);
        let mean = Measured { failure: Some(FailureKind::Crash), ..sample(2.0, &[("a", 2.0)]) };
        assert_eq!(pool(&attempts, Aggregate::Mean, Direction::Maximize), mean);
        assert_eq!(pool(&attempts[..1], Aggregate::Best, Direction::Maximize), Measured::default());
    }
}
