//! Limits, and whether the timeouts leave time for what must run.

use super::rules::{at_least_one, share};
use super::{Context, Counts, evaluation_problem, finalize_problem, inner_time};
use crate::model::{Access, Mode, Samples};

pub fn check(context: &mut Context<'_>) {
    let limits = &context.spec.limits;
    let counts = [
        ("evaluation_timeout_sec", limits.evaluation_timeout_sec, "it is a number of seconds"),
        ("sample_timeout_sec", limits.sample_timeout_sec.seconds().unwrap_or(1), "it is a number of seconds"),
        ("finalize_timeout_sec", limits.finalize_timeout_sec, "it is a number of seconds"),
        ("concurrency", limits.concurrency, "1 runs the samples one after the other"),
        ("infrastructure_max_attempts", limits.infrastructure_max_attempts, "1 tries each sample once"),
        ("candidate_mb", limits.candidate_mb, "it is a number of mebibytes"),
        ("state_mb", limits.state_mb, "it is a number of mebibytes"),
    ];
    for (key, value, why) in counts {
        at_least_one(context, &["limits", key], value, why);
    }
    if context.spec.mode == Mode::A {
        let counts = [
            ("memory_mb", limits.memory_mb, "it is a number of mebibytes"),
            ("processes", limits.processes, "the command itself is one"),
            ("file_size_mb", limits.file_size_mb, "it is a number of mebibytes"),
            ("output_mb", limits.output_mb, "answers are output"),
        ];
        for (key, value, why) in counts {
            at_least_one(context, &["limits", key], value, why);
        }
    }
    if limits.candidate_mb > limits.state_mb && limits.state_mb > 0 {
        let key = if context.is_written(&["limits", "candidate_mb"]) { "candidate_mb" } else { "state_mb" };
        context.error(
            &["limits", key],
            format!(
                "one candidate may have {} MiB, but all of them together only {} MiB",
                limits.candidate_mb, limits.state_mb
            ),
            "raise `state_mb`, or lower `candidate_mb`",
        );
    }
    share(context, &["limits", "error_rate_threshold"], limits.error_rate_threshold);
    let sample = limits.sample_timeout_sec.seconds().unwrap_or(0);
    if sample > limits.evaluation_timeout_sec && limits.evaluation_timeout_sec > 0 {
        let key = if context.is_written(&["limits", "sample_timeout_sec"]) {
            "sample_timeout_sec"
        } else {
            "evaluation_timeout_sec"
        };
        context.error(
            &["limits", key],
            format!(
                "one sample may take {sample} s, but a whole evaluation only {} s",
                limits.evaluation_timeout_sec
            ),
            "raise `evaluation_timeout_sec`, or lower `sample_timeout_sec`",
        );
    } else if limits.evaluation_timeout_sec > 0
        && ["splits", "targets", "selection", "harbor"].iter().all(|section| context.trusts(section))
    {
        times(context);
        inner_time::check(context);
    }
}

/// The arithmetic, as far as the numbers of samples are known without reading a file.
fn times(context: &mut Context<'_>) {
    let spec = context.spec;
    let size = |name: &str| match spec.splits.get(name).map(|split| &split.samples) {
        Some(Samples::List(ids)) => ids.len() as u64,
        _ => 0,
    };
    let targets: Vec<u64> = spec
        .targets
        .iter()
        .map(|target| match &target.samples {
            Samples::List(ids) => ids.len() as u64,
            Samples::Every(_) => size(&target.split),
            Samples::File(_) | Samples::Where(_) => 0,
        })
        .collect();
    let selection = spec.selection_split().map_or(0, size);
    let counts = Counts { targets: &targets, selection, own_seconds: None };
    if let Some(problem) = finalize_problem(spec, &counts) {
        let path = ["limits", "finalize_timeout_sec"];
        if problem.certain {
            context.error(&path, problem.message, problem.hint);
        } else {
            context.warning(&path, problem.message, problem.hint);
        }
    }
    let largest = spec
        .splits
        .iter()
        .filter(|(_, split)| split.access != Access::NoAccess)
        .map(|(name, _)| (size(name), name))
        .max_by_key(|(samples, _)| *samples);
    if let Some((samples, name)) = largest
        && let Some(problem) = evaluation_problem(spec, name, samples)
    {
        context.warning(&["limits", "evaluation_timeout_sec"], problem.message, problem.hint);
    }
}
