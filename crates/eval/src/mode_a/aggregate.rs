//! What the samples of an evaluation add up to.

use std::collections::BTreeMap;

use taskwright_language::model::{Comparison, Constraint, Objective};

use crate::result::{Aggregated, ConstraintResult, ErrorClass, Outcome, SampleResult, Score};

/// The metric of the objective that is the score itself.
const SCORE: &str = "score";

/// The value of the objective's metric; none if the scorer does not report it.
pub(crate) fn value(objective: &Objective, score: &Score) -> Option<f64> {
    metric(&objective.metric, score)
}

fn metric(name: &str, score: &Score) -> Option<f64> {
    if name == SCORE { Some(score.score) } else { score.metrics.get(name).copied() }
}

/// Adds up samples. Those that we failed have no value; all others count.
pub fn aggregate(objective: &Objective, samples: &[SampleResult]) -> Aggregated {
    let mut errors = BTreeMap::new();
    let (mut scored, mut candidate_errors, mut infrastructure_errors) = (0, 0, 0);
    for sample in samples {
        match sample.outcome {
            Outcome::Scored(_) => scored += 1,
            Outcome::CandidateError { .. } => candidate_errors += 1,
            Outcome::Infrastructure { .. } => infrastructure_errors += 1,
        }
        if let Some(class) = sample.error_class() {
            *errors.entry(class).or_insert(0) += 1;
        }
    }
    let values: Vec<f64> = samples.iter().filter_map(|sample| sample.value).collect();
    let mut reported: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for score in samples.iter().filter_map(SampleResult::score) {
        for (name, value) in &score.metrics {
            reported.entry(name.clone()).or_default().push(*value);
        }
    }
    let metrics = reported.into_iter().filter_map(|(name, values)| Some((name, mean(&values)?))).collect();
    Aggregated {
        planned: samples.len() as u64,
        scored,
        candidate_errors,
        infrastructure_errors,
        errors,
        mean: mean(&values),
        standard_error: standard_error(&values),
        metrics,
        constraints: objective.constraints.iter().map(|constraint| look(constraint, samples)).collect(),
    }
}

/// The share of samples that failed for reasons of ours.
pub fn error_rate(aggregated: &Aggregated) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "no evaluation has 2^52 samples")]
    match aggregated.planned {
        0 => 0.0,
        planned => aggregated.infrastructure_errors as f64 / planned as f64,
    }
}

fn look(constraint: &Constraint, samples: &[SampleResult]) -> ConstraintResult {
    let values: Option<Vec<f64>> = samples
        .iter()
        .filter_map(SampleResult::score)
        .map(|score| metric(&constraint.metric, score))
        .collect();
    let value = values.as_deref().and_then(mean);
    let holds = value.is_some_and(|value| compare(value, constraint.operator, constraint.value));
    ConstraintResult { constraint: constraint.clone(), value, holds }
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

/// The mean of finite numbers, itself finite; none of no numbers.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let count = count(values);
    let sum = exact_sum(values.iter().copied());
    let mean = sum / count;
    // A sum that is too large for a double, though the mean is not.
    Some(if mean.is_finite() { mean } else { values.iter().map(|value| value / count).sum() })
}

fn standard_error(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let count = count(values);
    let squares = exact_sum(values.iter().map(|value| (value - mean).powi(2)));
    (values.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt()).filter(|error| error.is_finite())
}

#[expect(clippy::cast_precision_loss, reason = "no evaluation has 2^52 samples")]
fn count(values: &[f64]) -> f64 {
    values.len() as f64
}

/// Neumaier's sum: the same whatever the order, but for the last bit.
fn exact_sum(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for value in values {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
    }
    sum + lost
}

/// The class of an error that is ours.
pub(crate) fn infrastructure(class: ErrorClass, message: impl Into<String>) -> Outcome {
    Outcome::Infrastructure { class, message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::RunErrorKind;

    fn sample(score: f64, metrics: &[(&str, f64)]) -> SampleResult {
        let metrics = metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let outcome = Outcome::Scored(Score { score, metrics, feedback: None });
        SampleResult {
            id: "x".to_owned(),
            outcome,
            value: Some(score),
            seconds: 0.0,
            transcript: String::new(),
            attempts: None,
        }
    }

    #[test]
    fn every_sample_counts_but_ours() {
        let mut failed = sample(0.0, &[]);
        failed.outcome = Outcome::CandidateError {
            kind: RunErrorKind::Timeout,
            detail: String::new(),
            score: Score { score: 0.0, metrics: BTreeMap::new(), feedback: None },
        };
        let mut ours = sample(9.0, &[]);
        (ours.outcome, ours.value) = (infrastructure(ErrorClass::Verifier, "x"), None);
        let samples = [sample(1.0, &[("a", 2.0)]), sample(2.0, &[("a", 4.0)]), failed, ours];
        let all = aggregate(&Objective::default(), &samples);
        assert_eq!((all.planned, all.scored, all.candidate_errors, all.infrastructure_errors), (4, 2, 1, 1));
        assert_eq!(all.mean, Some(1.0));
        assert!((all.standard_error.unwrap() - 0.577_350_269).abs() < 1e-9);
        assert_eq!(all.metrics.get("a"), Some(&3.0));
        assert_eq!(all.errors, BTreeMap::from([(ErrorClass::Verifier, 1), (ErrorClass::Timeout, 1)]));
        assert!((error_rate(&all) - 0.25).abs() < 1e-9 && !all.is_complete());
    }

    #[test]
    fn nothing_is_no_mean() {
        let none = aggregate(&Objective::default(), &[]);
        assert_eq!((none.mean, none.standard_error, error_rate(&none)), (None, None, 0.0));
        let one = aggregate(&Objective::default(), &[sample(f64::MAX, &[])]);
        assert_eq!((one.mean, one.standard_error), (Some(f64::MAX), None));
        let huge = aggregate(&Objective::default(), &[sample(f64::MAX, &[]), sample(f64::MAX, &[])]);
        assert_eq!(huge.mean, Some(f64::MAX));
    }

    #[test]
    fn constraints_are_looked_at() {
        let constraint =
            |metric: &str, operator, value| Constraint { metric: metric.to_owned(), operator, value };
        let objective = Objective {
            constraints: vec![
                constraint("a", Comparison::LessOrEqual, 3.0),
                constraint("a", Comparison::Greater, 3.0),
                constraint("b", Comparison::Equal, 1.0),
                constraint("score", Comparison::NotEqual, 0.0),
            ],
            ..Objective::default()
        };
        let samples = [sample(1.0, &[("a", 2.0), ("b", 1.0)]), sample(1.0, &[("a", 4.0)])];
        let all = aggregate(&objective, &samples);
        let looked: Vec<_> = all.constraints.iter().map(|result| (result.value, result.holds)).collect();
        assert_eq!(looked, [(Some(3.0), true), (Some(3.0), false), (None, false), (Some(1.0), true)]);
        assert!(!all.is_feasible());
    }
}
