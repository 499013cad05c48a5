//! Splits resolved to sample ids, and the rules that can only be checked once they are.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use taskwright_language::check::{Counts, finalize_problem};
use taskwright_language::model::{Access, Samples, Spec};

use super::dataset;
use super::inner_tasks::InnerTasks;
use crate::inputs::Recorder;
use taskwright_base::text::nearest;
use taskwright_base::{Error, Result};

pub enum Source<'a> {
    /// The rows of a dataset.
    Rows(&'a dataset::Node),
    Tasks(&'a InnerTasks),
    /// Tasks in a registry, of which nothing is known until Harbor fetches them.
    Registry,
}

/// The samples of each split and of each target.
#[derive(Debug, PartialEq)]
pub struct Resolved {
    pub splits: BTreeMap<String, Vec<String>>,
    /// In the order of the targets.
    pub targets: Vec<Vec<String>>,
}

impl Resolved {
    /// Every sample that a split names.
    pub fn all(&self) -> BTreeSet<String> {
        self.splits.values().flatten().cloned().collect()
    }
}

/// Resolves the samples of all splits and targets.
pub fn resolve(spec: &Spec, source: &Source<'_>, recorder: &mut Recorder<'_>) -> Result<Resolved> {
    let mut splits = BTreeMap::new();
    for (name, split) in &spec.splits {
        let field = ["splits", name.as_str(), "samples"];
        let ids = pick(&split.samples, source, recorder).map_err(|error| error.at(&field))?;
        let ids = known(ids, source).map_err(|error| error.at(&field))?;
        if ids.is_empty() {
            return Err(Error::new(format!("the split `{name}` holds no sample")).at(&field));
        }
        let most = ids.len() as u64;
        if split.access == Access::NonViewable && split.min_samples > most {
            return Err(Error::new(format!(
                "the split `{name}` has {most} samples, fewer than its `min_samples` of {}: it could never be evaluated",
                split.min_samples
            ))
            .hint("lower `min_samples`, or add samples")
            .at(&["splits", name, "min_samples"]));
        }
        splits.insert(name.clone(), ids);
    }
    refuse_shared(&splits)?;
    let mut targets = Vec::new();
    for (index, target) in spec.targets.iter().enumerate() {
        let index = index.to_string();
        let field = ["targets", index.as_str(), "samples"];
        let Some(split) = splits.get(&target.split) else {
            return Err(
                Error::new(format!("there is no split `{}`", target.split)).at(&["targets", &index, "split"])
            );
        };
        let ids = match &target.samples {
            Samples::Every(_) => split.clone(),
            other => pick(other, source, recorder)
                .and_then(|ids| known(ids, source))
                .map_err(|error| error.at(&field))?,
        };
        if let Some(stranger) = ids.iter().find(|id| !split.contains(id)) {
            return Err(Error::new(format!(
                "the sample `{stranger}` is not in the split `{}`",
                target.split
            ))
            .at(&field));
        }
        targets.push(ids);
    }
    Ok(Resolved { splits, targets })
}

fn pick(samples: &Samples, source: &Source<'_>, recorder: &mut Recorder<'_>) -> Result<Vec<String>> {
    match (samples, source) {
        (Samples::List(ids), _) => Ok(ids.clone()),
        (Samples::File(list), _) => listed(recorder, list.file.as_path()),
        (Samples::Every(_), Source::Rows(node)) => Ok(node.ids.clone()),
        (Samples::Every(_), Source::Tasks(tasks)) => Ok(tasks.ids()),
        (Samples::Every(_), Source::Registry) => {
            Err(Error::new("the tasks of a registry are not known here")
                .hint("list their names, or name a file that lists them"))
        }
        (Samples::Where(filter), Source::Rows(node)) => {
            let values = node.fields.get(&filter.field).map_or(&[][..], Vec::as_slice);
            let ids: Vec<_> = node
                .ids
                .iter()
                .zip(values)
                .filter(|(_, value)| value.as_deref() == Some(filter.equals.as_str()))
                .map(|(id, _)| id.clone())
                .collect();
            if ids.is_empty() {
                let seen: BTreeSet<_> = values.iter().flatten().take(10_000).collect();
                let seen: Vec<_> = seen.into_iter().take(8).map(|value| format!("`{value}`")).collect();
                let hint = if seen.is_empty() {
                    "no row has that field".to_owned()
                } else {
                    format!("the field has the values {}", seen.join(", "))
                };
                return Err(Error::new(format!(
                    "no row has `{}` equal to `{}`",
                    filter.field, filter.equals
                ))
                .hint(hint));
            }
            Ok(ids)
        }
        (Samples::Where(_), Source::Tasks(_) | Source::Registry) => {
            Err(Error::new("only rows of a dataset can be picked by a field")
                .hint("list the names of the inner tasks"))
        }
    }
}

/// The ids in a file: a JSON array of texts, or one a line.
fn listed(recorder: &mut Recorder<'_>, path: &camino::Utf8Path) -> Result<Vec<String>> {
    let text = recorder.text(path)?;
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(&text).map_err(|error| {
            Error::new(format!("`{path}` is not a JSON array of texts: {error}"))
                .hint("write `[\"first\", \"second\"]`, or one id a line")
        });
    }
    Ok(text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect())
}

/// The ids as the source spells them, each known to it and none twice.
fn known(ids: Vec<String>, source: &Source<'_>) -> Result<Vec<String>> {
    let rows: Option<std::collections::HashSet<&str>> = match source {
        Source::Rows(node) => Some(node.ids.iter().map(String::as_str).collect()),
        Source::Tasks(_) | Source::Registry => None,
    };
    let mut seen = std::collections::HashSet::new();
    let mut result = Vec::with_capacity(ids.len());
    for id in ids {
        let spelled = match (source, &rows) {
            (Source::Rows(_), Some(rows)) => rows.contains(id.as_str()).then(|| id.clone()),
            (Source::Tasks(tasks), _) => tasks.resolve(&id).map(str::to_owned),
            _ => Some(id.clone()),
        };
        let Some(spelled) = spelled else {
            let near = match source {
                Source::Rows(node) => nearest(&id, node.ids.iter().map(String::as_str)),
                Source::Tasks(tasks) => nearest(&id, tasks.tasks.keys().map(String::as_str)),
                Source::Registry => None,
            };
            let hint = near.map_or_else(
                || "see which samples there are".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            return Err(Error::new(format!("there is no sample `{id}`")).hint(hint));
        };
        if !seen.insert(spelled.clone()) {
            return Err(
                Error::new(format!("the sample `{id}` is listed twice")).hint("list each sample once")
            );
        }
        result.push(spelled);
    }
    Ok(result)
}

fn refuse_shared(splits: &BTreeMap<String, Vec<String>>) -> Result<()> {
    let mut owner: HashMap<&str, &str> = HashMap::new();
    for (split, ids) in splits {
        for id in ids {
            if let Some(other) = owner.insert(id, split) {
                return Err(Error::new(format!(
                    "the sample `{id}` is in the splits `{other}` and `{split}`"
                ))
                .hint("a sample belongs to one split: one that is held out must not be seen in another")
                .at(&["splits", split, "samples"]));
            }
        }
    }
    Ok(())
}

/// Refuses a `finalize_timeout_sec` that the samples, now that they are counted, cannot be scored in.
pub fn check_time(spec: &Spec, resolved: &Resolved, own_seconds: Option<u64>) -> Result<()> {
    let rank = spec.selection_split().unwrap_or_default();
    let ranked = resolved.splits.get(rank).map_or(0, |ids| ids.len() as u64);
    let targets: Vec<u64> = resolved.targets.iter().map(|ids| ids.len() as u64).collect();
    // Only what is certain: that further attempts after infrastructure errors may not fit was a warning when the spec was read.
    let counts = Counts { targets: &targets, selection: ranked, own_seconds };
    match finalize_problem(spec, &counts) {
        Some(problem) if problem.certain => {
            Err(Error::new(problem.message).hint(problem.hint).at(&["limits", "finalize_timeout_sec"]))
        }
        _ => Ok(()),
    }
}
