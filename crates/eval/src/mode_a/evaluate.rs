//! An evaluation as a whole: its plan, its clock, its tries, its end.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::conduct::Pass;
use super::{ModeA, Plan};
use crate::cancel::Cancel;
use crate::evaluation::{End, EvaluationResult};
use crate::failure::ErrorClass;
use crate::result::{Outcome, SampleResult};
use crate::summary::{Measured, summarize};

/// How often cancellation and deadlines are looked at.
pub(super) const TICK: Duration = Duration::from_millis(50);

pub(super) fn evaluate(
    mode: &ModeA,
    plan: &Plan<'_>,
    observe: &(dyn Fn(&SampleResult) + Sync),
    cancel: &Cancel,
) -> EvaluationResult {
    let start = Instant::now();
    let limits = &mode.serve.limits;
    let deadline = start.checked_add(Duration::from_secs(limits.evaluation_timeout_sec));
    let clock = Clock { deadline, cancel };
    let mut results: Vec<Option<SampleResult>> = vec![None; plan.samples.len()];
    let mut seen = HashSet::new();
    for (id, result) in plan.samples.iter().zip(&mut results) {
        let fault = match (mode.rows.contains(id), seen.insert(id)) {
            (true, true) => continue,
            (false, _) => "the dataset has no such row",
            (_, false) => "it stands in the plan twice",
        };
        let failed = SampleResult::without_value(id, ErrorClass::Infrastructure, fault);
        observe(&failed);
        *result = Some(failed);
    }
    let mut todo: Vec<usize> = (0..results.len()).filter(|place| results[*place].is_none()).collect();
    let tries = limits.infrastructure_max_attempts.max(1);
    for attempt in 1..=tries {
        let last = attempt == tries;
        let tell = |result: &SampleResult| {
            if last || !is_ours(result) {
                observe(result);
            }
        };
        let pass = Pass::new(mode, plan, &todo, &clock, &tell);
        for (place, result) in pass.go() {
            results[place] = Some(result);
        }
        todo.retain(|place| results[*place].as_ref().is_none_or(is_ours));
        if todo.is_empty() || last {
            break;
        }
        let pause = Instant::now();
        while !clock.is_over() && pause.elapsed() < Duration::from_secs(limits.infrastructure_retry_delay_sec)
        {
            std::thread::sleep(TICK);
        }
        if clock.is_over() {
            todo.iter().filter_map(|place| results[*place].as_ref()).for_each(observe);
            break;
        }
    }
    let samples: Vec<SampleResult> = results
        .into_iter()
        .zip(plan.samples)
        .map(|(result, id)| {
            result.unwrap_or_else(|| {
                SampleResult::without_value(id, ErrorClass::Infrastructure, "it was not tried")
            })
        })
        .collect();
    let aggregate = summarize(&mode.serve.objective, samples.iter().map(Measured::from));
    let unfinished =
        |text: &str| samples.iter().any(|sample| detail(sample).is_some_and(|detail| detail == text));
    let end = if cancel.is_cancelled() && unfinished(CANCELLED) {
        End::Cancelled
    } else if aggregate.error_rate() > limits.error_rate_threshold {
        End::Failed
    } else if unfinished(TIME_OVER) {
        End::TimedOut
    } else {
        End::Completed
    };
    EvaluationResult { end, samples, aggregate, seconds: start.elapsed().as_secs_f64() }
}

pub(super) const CANCELLED: &str = "the evaluation was cancelled";
pub(super) const TIME_OVER: &str = "the evaluation's time was over";

fn detail(sample: &SampleResult) -> Option<&str> {
    match &sample.outcome {
        Outcome::Scored(_) => None,
        Outcome::CandidateError { detail, .. } => Some(detail),
        Outcome::Infrastructure { message, .. } => Some(message),
    }
}

fn is_ours(result: &SampleResult) -> bool {
    matches!(result.outcome, Outcome::Infrastructure { .. })
}

/// When everything has to stop.
pub(super) struct Clock<'a> {
    pub deadline: Option<Instant>,
    pub cancel: &'a Cancel,
}

impl Clock<'_> {
    pub fn time_is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    pub fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.time_is_over()
    }
}
