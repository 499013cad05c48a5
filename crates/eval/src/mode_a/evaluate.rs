//! An evaluation as a whole: its plan, its clock, its attempts, its end.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::limits::{Clock, Cut, TICK};
use super::schedule::{Ended, Pass};
use super::{Hear, ModeA, Plan};
use crate::cancel::Cancel;
use crate::evaluation::{End, EvaluationResult};
use crate::failure::ErrorClass;
use crate::result::{Outcome, SampleResult};
use crate::summary::{Measured, summarize};

pub(super) fn evaluate(
    mode: &ModeA,
    plan: &Plan<'_>,
    observe: &(dyn Fn(&SampleResult) + Sync),
    hear: &Hear<'_>,
    cancel: &Cancel,
) -> EvaluationResult {
    let start = Instant::now();
    let limits = &mode.serve.limits;
    let deadline = start.checked_add(Duration::from_secs(limits.evaluation_timeout_sec));
    let clock = Clock { deadline, cancel };
    let mut ended: Vec<Option<Ended>> = vec![None; plan.samples.len()];
    let mut seen = HashSet::new();
    for (id, ended) in plan.samples.iter().zip(&mut ended) {
        let fault = match (mode.rows.contains(id), seen.insert(id)) {
            (true, true) => continue,
            (false, _) => "the dataset has no such row",
            (_, false) => "it stands in the plan twice",
        };
        let result = SampleResult::without_value(id, ErrorClass::Infrastructure, fault);
        observe(&result);
        *ended = Some(Ended { result, cut: None });
    }
    let mut todo: Vec<usize> = (0..ended.len()).filter(|index| ended[*index].is_none()).collect();
    let attempts = limits.infrastructure_max_attempts.max(1);
    for attempt in 1..=attempts {
        let is_last = attempt == attempts;
        // One that gets another attempt is not finished.
        let finished = |result: &SampleResult| {
            if is_last || !is_without_value(result) {
                observe(result);
            }
        };
        let samples: Vec<&str> = todo.iter().map(|index| plan.samples[*index].as_str()).collect();
        let pass = Pass::new(mode, (plan.candidate, plan.models), &samples, &clock, &finished, hear);
        for (index, sample) in todo.iter().zip(pass.go()) {
            ended[*index] = Some(sample);
        }
        todo.retain(|index| ended[*index].as_ref().is_none_or(|ended| is_without_value(&ended.result)));
        if todo.is_empty() || is_last {
            break;
        }
        let pause = Instant::now();
        while clock.is_over().is_none()
            && pause.elapsed() < Duration::from_secs(limits.infrastructure_retry_delay_sec)
        {
            std::thread::sleep(TICK);
        }
        if clock.is_over().is_some() {
            todo.iter().filter_map(|index| ended[*index].as_ref()).for_each(|ended| observe(&ended.result));
            break;
        }
    }
    let was_cut = |cut: Cut| ended.iter().flatten().any(|ended| ended.cut == Some(cut));
    let (is_cancelled, is_time_over) = (was_cut(Cut::Cancelled), was_cut(Cut::TimeOver));
    let samples: Vec<SampleResult> = ended.into_iter().flatten().map(|ended| ended.result).collect();
    let aggregate = summarize(&mode.serve.objective, samples.iter().map(Measured::from));
    let end = if is_cancelled {
        End::Cancelled
    } else if aggregate.error_rate() > limits.error_rate_threshold {
        End::Failed
    } else if is_time_over {
        End::TimedOut
    } else {
        End::Completed
    };
    EvaluationResult { end, samples, aggregate, seconds: start.elapsed().as_secs_f64() }
}

fn is_without_value(result: &SampleResult) -> bool {
    matches!(result.outcome, Outcome::Infrastructure { .. })
}
