//! The objective, its constraints, how the candidate that counts is chosen, and what the task is tried out by.

use super::Context;
use super::rules::{at_least_one, share};
use crate::model::{Access, Control, Direction};
use taskwright_base::text::{nearest, one_of};

pub fn check(context: &mut Context<'_>) {
    let objective = &context.spec.objective;
    if objective.metric.trim().is_empty() {
        context.error(
            &["objective", "metric"],
            "`metric` is empty",
            "name a metric that the scorer reports, or `score`",
        );
    }
    for (index, constraint) in objective.constraints.iter().enumerate() {
        if constraint.metric.trim().is_empty() {
            context.error(
                &["objective", "constraints", &index.to_string(), "metric"],
                "the constraint names no metric",
                "name a metric that the scorer reports",
            );
        }
    }
    if objective.direction == Direction::Minimize && !context.is_written(&["objective", "failure_value"]) {
        context.warning(
            &["objective", "direction"],
            "a candidate that fails scores 0, which is a good score where less is better",
            "write `failure_value` in `[objective]`: a score worse than any real one",
        );
    }
}

pub fn check_controls(context: &mut Context<'_>) {
    for (control, reason) in &context.spec.controls.waived {
        let path = ["controls", "waived", control.name()];
        if *control == Control::Baseline {
            context.error(
                &path,
                "the baseline is what every other control is compared with",
                "take it out: a task whose baseline cannot be scored tells nothing",
            );
        } else if reason.trim().is_empty() {
            context.error(
                &path,
                "the reason is empty",
                "say why the task need not hold to this control: it is shown in place of a verdict",
            );
        }
    }
}

pub fn check_selection(context: &mut Context<'_>) {
    let spec = context.spec;
    let selection = &spec.selection;
    share(context, &["selection", "min_coverage"], selection.min_coverage);
    at_least_one(
        context,
        &["selection", "rescore_attempts"],
        selection.rescore_attempts,
        "to score nothing again write `rescore_top_k = 0`",
    );
    if spec.splits.is_empty() || !context.trusts("splits") {
        return;
    }
    let names: Vec<&str> = spec.splits.keys().map(String::as_str).collect();
    let evaluable: Vec<&str> = spec
        .splits
        .iter()
        .filter(|(_, split)| split.access != Access::NoAccess)
        .map(|(name, _)| name.as_str())
        .collect();
    if selection.split == "auto" {
        if evaluable.is_empty() {
            context.warning(
                &["splits"],
                "the optimizer may evaluate no split at all",
                "give one of them `access = \"viewable\"` or `\"non_viewable\"`",
            );
        } else if spec.selection_split().is_none() {
            context.error(
                &["selection"],
                format!(
                    "which split ranks the candidates? {} can be evaluated",
                    one_of(evaluable.iter().copied())
                ),
                "name one in `[selection]`: `split = \"...\"`",
            );
        }
        return;
    }
    match spec.splits.get(&selection.split) {
        None => {
            let hint = match nearest(&selection.split, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`? it can be {}", one_of(names)),
                None => format!("it can be {}", one_of(names)),
            };
            context.error(&["selection", "split"], format!("there is no split `{}`", selection.split), hint);
        }
        Some(split) if split.access == Access::NoAccess => {
            context.error_with(
                &["selection", "split"],
                format!(
                    "the split `{}` can rank nothing: the optimizer may not evaluate it",
                    selection.split
                ),
                format!("candidates are ranked by its evaluations; it can be {}", one_of(evaluable)),
                (&["splits", &selection.split, "access"], "no_access"),
            );
        }
        Some(_) => {}
    }
}
