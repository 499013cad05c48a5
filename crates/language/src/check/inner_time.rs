//! The time of a sample against the times that inner tasks have of their own.

use std::collections::BTreeSet;

use taskwright_base::text::count;
use taskwright_harbor::phases::Phases;

use super::Context;
use crate::model::{Mode, Samples, TaskSource};

pub fn check(context: &mut Context<'_>) {
    match context.spec.limits.sample_timeout_sec.seconds() {
        Some(seconds) => cut_short(context, seconds),
        None => own(context),
    }
}

/// Where each task has a time of its own, what an evaluation takes cannot be a default of ours.
fn own(context: &mut Context<'_>) {
    let path = ["limits", "sample_timeout_sec"];
    if context.spec.mode == Mode::A {
        context.error(
            &path,
            "in Mode A no sample has a time of its own",
            "write a number of seconds; `\"task\"` is for inner Harbor tasks",
        );
        return;
    }
    let is_registry = |source: &TaskSource| matches!(source, TaskSource::Registry(_));
    if !context.spec.harbor.as_ref().is_some_and(|harbor| is_registry(&harbor.source)) {
        return;
    }
    let missing: Vec<&str> = ["evaluation_timeout_sec", "finalize_timeout_sec"]
        .into_iter()
        .filter(|key| !context.is_written(&["limits", key]))
        .collect();
    if !missing.is_empty() {
        context.error(
            &path,
            format!(
                "how long the tasks of a registry take is not known here, so `{}` cannot be left to its default",
                missing.join("` and `")
            ),
            "write a number of seconds that covers them: the longest task's agent, verifier, set-up and image, for all samples \
             and attempts, divided by `concurrency`",
        );
    }
}

/// Names the inner tasks on this machine that are given less time than they say.
fn cut_short(context: &mut Context<'_>, seconds: u64) {
    let Some(harbor) = &context.spec.harbor else { return };
    let TaskSource::Local(local) = &harbor.source else { return };
    let folder = context.root.join(local.path.as_path());
    let changes = harbor.phase_changes();
    let mut longer: Vec<(f64, String)> = Vec::new();
    for name in named(context).unwrap_or_else(|| folders(&folder)) {
        let Ok(text) = std::fs::read_to_string(folder.join(&name).join("task.toml")) else { continue };
        let declared = Phases::parse(&text).and_then(|phases| phases.longest_declared(&changes));
        longer.extend(
            declared.filter(|declared| *declared > seconds_of(seconds)).map(|declared| (declared, name)),
        );
    }
    longer.sort_by(|left, right| right.0.total_cmp(&left.0));
    let Some((most, name)) = longer.first() else { return };
    let others = match longer.len() - 1 {
        0 => String::new(),
        more => format!(", as are {}", count(more as u64, "other")),
    };
    context.warning(
        &["limits", "sample_timeout_sec"],
        format!(
            "the inner task `{name}` has {most} s of its own, and is cut short after {seconds} s{others}"
        ),
        format!("write `sample_timeout_sec = \"task\"`, which leaves each its own time, or {most} or more"),
    );
}

/// The inner tasks that the splits name; none if one of them names them in another way than by a list.
fn named(context: &Context<'_>) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for split in context.spec.splits.values() {
        let Samples::List(ids) = &split.samples else { return None };
        names.extend(ids.iter().cloned());
    }
    Some(names)
}

fn folders(folder: &camino::Utf8Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[expect(clippy::cast_precision_loss, reason = "no timeout has 2^52 seconds")]
fn seconds_of(count: u64) -> f64 {
    count as f64
}
