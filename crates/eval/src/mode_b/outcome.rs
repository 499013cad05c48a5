//! An evaluation from its samples.

use std::path::PathBuf;
use std::time::Instant;

use super::collate::{Collated, Collation, PlannedSample};
use super::{EvaluationB, ModeB, Observer, PlanB};
use crate::evaluation::{End, EvaluationResult};
use crate::failure::ErrorClass;
use crate::summary::{Measured, summarize};

/// What comes of a candidate that cannot be installed: every sample counts as failed.
pub(super) fn unusable(
    mode: &ModeB,
    plan: &PlanB<'_>,
    planned: &[PlannedSample],
    fault: &str,
    observer: &dyn Observer,
) -> EvaluationB {
    let start = Instant::now();
    let mut collation = Collation::new(planned, plan.rules);
    for place in 0..planned.len() {
        for _ in 0..plan.rules.attempts {
            collation.add_failed(place, ErrorClass::Candidate, fault);
        }
    }
    let collated = collation.conclude();
    collated.samples.iter().for_each(|sample| observer.sample(sample, false));
    evaluation(mode, collated, Vec::new(), End::Completed, start)
}

/// What samples come to: a failed evaluation, if too many of them have no value.
pub(super) fn evaluation(
    mode: &ModeB,
    collated: Collated,
    jobs: Vec<PathBuf>,
    end: End,
    start: Instant,
) -> EvaluationB {
    let Collated { samples, notes } = collated;
    let aggregate = summarize(&mode.serve.objective, samples.iter().map(Measured::from));
    let end = match end {
        End::Cancelled => End::Cancelled,
        _ if aggregate.error_rate() > mode.serve.limits.error_rate_threshold => End::Failed,
        end => end,
    };
    let result = EvaluationResult { end, samples, aggregate, seconds: start.elapsed().as_secs_f64() };
    EvaluationB { result, notes, jobs, trials_run: 0, trouble: None }
}
