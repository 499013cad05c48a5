//! Scoring the candidate that counts on the targets.

use std::collections::HashMap;

use taskwright_base::{Error, Result};
use taskwright_eval::summary::is_better;
use taskwright_language::model::Direction;
use taskwright_language::serve::ServeTarget;

use super::pool::{Pool, Step};
use super::verdict::{Outcome, TargetReport, Verdict};
use crate::admin::protocol::Tell;
use crate::api::Candidate;
use crate::events::Summary;
use crate::service::Service;

struct Measured {
    score: f64,
    summary: Summary,
    numbers: Vec<u64>,
    /// Why the score is not the mean.
    reason: Option<String>,
}

/// Scores a candidate on every target. The verdict is a scored one only if each has a score.
pub fn score(service: &Service, candidate: &Candidate, verdict: &mut Verdict, tell: Tell<'_>) {
    let mut complete = !service.config.targets.is_empty();
    let is_baseline = candidate.tree == service.config.baseline.tree;
    for (index, target) in service.config.targets.iter().enumerate() {
        let mut report = report(target);
        if is_baseline && let Some(pinned) = target.baseline_reward {
            report.score = Some(pinned);
            report.source = "pinned";
            verdict.reasons.push(format!(
                "the baseline's own score on `{}` was measured when the task was made: {pinned}",
                target.split
            ));
            verdict.targets.push(report);
            continue;
        }
        tell(format!("scoring {} on `{}`", candidate.commit, target.split));
        match measure(service, candidate, index, target) {
            Ok(measured) => {
                verdict.reasons.extend(measured.reason);
                report.score = Some(measured.score);
                report.scored = measured.summary.scored;
                report.left_out = report.samples.saturating_sub(report.scored);
                if report.left_out > 0 {
                    verdict.reasons.push(format!(
                        "{} of {} samples of `{}` have no value for reasons that are not the candidate's, and its score is \
                         without them",
                        report.left_out, report.samples, target.split
                    ));
                }
                report.failures = measured.summary.failures;
                report.metrics = measured.summary.metrics;
                report.eligible = Some(measured.summary.eligible);
                report.evaluations = measured.numbers;
            }
            Err(error) => {
                complete = false;
                verdict.reasons.push(format!("`{}` has no score: {error}", target.split));
            }
        }
        if is_baseline {
            report.baseline = report.score;
        } else if service.config.selection.score_baseline && target.baseline_reward.is_none() {
            tell(format!("scoring the baseline on `{}`", target.split));
            let baseline = &service.config.baseline;
            let baseline = Candidate { commit: baseline.commit.clone(), tree: baseline.tree.clone() };
            match measure(service, &baseline, index, target) {
                Ok(measured) => report.baseline = Some(measured.score),
                Err(error) => {
                    verdict.reasons.push(format!("the baseline has no score on `{}`: {error}", target.split));
                }
            }
        }
        verdict.targets.push(report);
    }
    if complete {
        verdict.outcome = Outcome::Scored;
    }
}

fn report(target: &ServeTarget) -> TargetReport {
    TargetReport {
        split: target.split.clone(),
        reward_key: target.reward_key.clone(),
        score: None,
        source: "measured",
        direction: target.direction,
        aggregate: target.aggregate,
        attempts: target.attempts,
        samples: target.samples.len() as u64,
        scored: 0,
        left_out: 0,
        failures: std::collections::BTreeMap::new(),
        metrics: std::collections::BTreeMap::new(),
        eligible: None,
        baseline: target.baseline_reward,
        evaluations: Vec::new(),
    }
}

/// Scores a candidate on one target, as often as the target says, and all over again after an infrastructure error.
fn measure(service: &Service, candidate: &Candidate, index: usize, target: &ServeTarget) -> Result<Measured> {
    let samples = positions(service, target)?;
    let part = (samples.len() < service.size_of(&target.split)).then(|| samples.clone());
    let mut last = Error::new("it was never tried");
    for round in 1..=target.max_attempts.max(1) {
        let mut pool = Pool::default();
        let tried = (1..=target.attempts.max(1)).try_for_each(|attempt| {
            let name =
                format!("target {} `{}` round {round} attempt {attempt}", index + 1, target.reward_key);
            let step = Step { name, candidate, split: &target.split, samples: part.clone() };
            step.take(service).and_then(|number| pool.add(service, number))
        });
        let summary = tried.and_then(|()| {
            pool.summarize(service, &target.split, &samples, target.aggregate, target.direction)
        });
        match summary {
            Ok(summary) => return Ok(judge(target, &samples, summary, pool)),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The score: the mean, unless the candidate failed as a whole or a constraint does not hold. Then it is the failure
/// value, or the mean where that is worse: failing must never be the better choice.
fn judge(target: &ServeTarget, samples: &[u32], summary: Summary, pool: Pool) -> Measured {
    let failed = if pool.only_failures(samples) {
        Some(format!("the candidate failed at every sample of `{}`", target.split))
    } else if summary.eligible {
        None
    } else {
        Some(format!("a constraint does not hold on `{}`", target.split))
    };
    let score = match &failed {
        Some(_) => worse(target.direction, target.failure_value, summary.score),
        None => summary.score,
    };
    let reason = failed.map(|what| format!("{what}: it counts with {score}"));
    Measured { score, summary, numbers: pool.numbers, reason }
}

fn worse(direction: Direction, a: f64, b: f64) -> f64 {
    if is_better(direction, a, b) { b } else { a }
}

fn positions(service: &Service, target: &ServeTarget) -> Result<Vec<u32>> {
    let split = service
        .config
        .splits
        .get(&target.split)
        .ok_or_else(|| Error::new(format!("the task has no split `{}`", target.split)))?;
    let positions: HashMap<&str, u32> = split.samples.iter().map(String::as_str).zip(0..).collect();
    let mut samples = Vec::with_capacity(target.samples.len());
    for id in &target.samples {
        let position = positions
            .get(id.as_str())
            .ok_or_else(|| Error::new(format!("the split `{}` has no sample `{id}`", target.split)))?;
        samples.push(*position);
    }
    samples.sort_unstable();
    samples.dedup();
    Ok(samples)
}
