//! Splits: which samples they hold, that no two share one, and what their access allows.

use std::collections::BTreeMap;

use super::Context;
use super::rules::at_least_one;
use crate::model::{Access, HarborRun, Samples, Split, TaskSource};

pub fn check(context: &mut Context<'_>) {
    let spec = context.spec;
    if spec.splits.is_empty() {
        context.error(&["splits"], "there is no split", "add one: `[splits.test]` with its `samples`");
    }
    for (name, split) in &spec.splits {
        split_name(context, name);
        if let Samples::List(ids) = &split.samples {
            list(context, &["splits", name, "samples"], ids);
        }
        floor(context, name, split);
        access(context, name, split);
    }
    overlaps(context);
}

fn split_name(context: &mut Context<'_>, name: &str) {
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') {
        context.error_at_key(
            &["splits", name],
            format!("`{}` cannot be the name of a split", name.escape_debug()),
            "use letters, digits, `-` and `_`: it is typed on command lines",
        );
    } else if name == "auto" {
        context.error_at_key(
            &["splits", name],
            "a split cannot be called `auto`",
            "`selection.split = \"auto\"` has a meaning of its own; take another name",
        );
    }
}

/// The rules of a list of ids, wherever one stands.
pub fn list(context: &mut Context<'_>, path: &[&str], ids: &[String]) {
    if ids.is_empty() {
        context.error(path, "the list of samples is empty", "name at least one, or write \"all\"");
    }
    for (index, id) in ids.iter().enumerate() {
        if id.trim() != id || id.is_empty() || id.contains(char::is_control) {
            let index = index.to_string();
            let path: Vec<&str> = path.iter().copied().chain([index.as_str()]).collect();
            context.error(
                &path,
                format!("`{}` cannot be the id of a sample", id.escape_debug()),
                "ids are not empty, and have no spaces at their ends and no control characters",
            );
        }
    }
    super::rules::refuse_doubles(context, path, ids, "sample");
}

fn floor(context: &mut Context<'_>, name: &str, split: &Split) {
    let path = ["splits", name, "min_samples"];
    if split.access != Access::NonViewable {
        if context.is_written(&path) {
            let access = word(split.access);
            context.error_at_key(
                &path,
                format!("`min_samples` means nothing on a split that is `{access}`"),
                "it is the floor of a `non_viewable` split; leave it out, or change the access",
            );
        }
        return;
    }
    at_least_one(context, &path, split.min_samples, "it is the fewest samples that one evaluation takes");
    if let Samples::List(ids) = &split.samples {
        let count = ids.len() as u64;
        if split.min_samples > count && count > 0 {
            let path: &[&str] = if context.is_written(&path) { &path } else { &["splits", name, "samples"] };
            context.error(
                path,
                format!(
                    "the split `{name}` has {count} samples, and an evaluation of it takes at least {}",
                    split.min_samples
                ),
                format!("write `min_samples` of at most {count}, or add samples"),
            );
        }
    }
    if let Some(paid) = split.budget.samples.at_most()
        && paid < split.min_samples
    {
        context.error(
            &["splits", name, "budget", "samples"],
            format!(
                "a budget of {paid} samples never pays for an evaluation of at least {}",
                split.min_samples
            ),
            "raise it, or lower `min_samples`",
        );
    }
}

fn access(context: &mut Context<'_>, name: &str, split: &Split) {
    let registry = |harbor: &HarborRun| matches!(harbor.source, TaskSource::Registry(_));
    if split.expose && context.spec.harbor.as_ref().is_some_and(registry) {
        context.error(
            &["splits", name, "expose"],
            "the tasks of a registry are not here when this task is built, so none can be shown to the optimizer",
            "leave `expose` out, or fetch the tasks and name their folder in `harbor.source`",
        );
    }
    if split.expose && split.access != Access::Viewable {
        context.error(
            &["splits", name, "expose"],
            format!("the samples of a split that is `{}` cannot be exposed", word(split.access)),
            "only a `viewable` split's samples may lie in the optimizer's container",
        );
    }
    for (key, limit) in [("runs", split.budget.runs), ("samples", split.budget.samples)] {
        if split.access == Access::NoAccess && context.is_written(&["splits", name, "budget", key]) {
            context.error_at_key(
                &["splits", name, "budget", key],
                "a budget means nothing on a split that is `no_access`",
                "leave it out, or give the split `access = \"viewable\"` or `\"non_viewable\"`",
            );
        } else if split.access != Access::NoAccess && limit.at_most() == Some(0) {
            context.error(
                &["splits", name, "budget", key],
                "a budget of 0 allows no evaluation",
                "to hold the split out write `access = \"no_access\"`",
            );
        }
    }
}

/// The word for an access, as it is written.
pub fn word(access: Access) -> &'static str {
    match access {
        Access::NoAccess => "no_access",
        Access::NonViewable => "non_viewable",
        Access::Viewable => "viewable",
    }
}

/// The most samples shared by two splits that are named one by one; more of them say nothing new.
const SHOWN: usize = 20;

fn overlaps(context: &mut Context<'_>) {
    let spec = context.spec;
    let mut owners: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    let mut shown = 0;
    for (name, split) in &spec.splits {
        let Samples::List(ids) = &split.samples else { continue };
        for (index, id) in ids.iter().enumerate() {
            match owners.get(id.as_str()) {
                Some((owner, first)) if *owner != name && shown < SHOWN => {
                    shown += 1;
                    let (index, first) = (index.to_string(), first.to_string());
                    let (this, other) =
                        (["splits", name, "samples", &index], ["splits", owner, "samples", &first]);
                    let (second, first) =
                        if context.is_later(&this, &other) { (this, other) } else { (other, this) };
                    context.error_with(
                        &second,
                        format!("the sample `{id}` is in the splits `{}` and `{}`", first[1], second[1]),
                        "every sample belongs to one split: what is learnt in one must not be tested in another",
                        (&first, "first here"),
                    );
                }
                Some(_) => {}
                None => {
                    owners.insert(id, (name, index));
                }
            }
        }
    }
    let others: Vec<(&String, &Split)> =
        spec.splits.iter().filter(|(_, split)| !matches!(split.samples, Samples::List(_))).collect();
    for (position, (name, split)) in others.iter().enumerate() {
        if matches!(split.samples, Samples::Every(_)) {
            if let Some(other) = spec.splits.keys().find(|other| other != name) {
                context.error_with(
                    &["splits", name, "samples"],
                    format!("the split `{name}` holds all samples, also those of `{other}`"),
                    "every sample belongs to one split; list those of each",
                    (&["splits", other, "samples"], "also here"),
                );
            }
        } else if let Some((earlier, _)) =
            others[..position].iter().find(|(_, earlier)| earlier.samples == split.samples)
        {
            let (this, other) = (["splits", name, "samples"], ["splits", earlier, "samples"]);
            let (second, first) = if context.is_later(&this, &other) { (this, other) } else { (other, this) };
            context.error_with(
                &second,
                format!("the splits `{}` and `{}` hold the same samples", first[1], second[1]),
                "every sample belongs to one split",
                (&first, "also here"),
            );
        }
    }
}
