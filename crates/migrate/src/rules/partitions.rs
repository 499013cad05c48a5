//! Partitions are splits: their ids stay in the files that hold them, or become lists.

use std::collections::BTreeSet;

use camino::Utf8Path;
use serde_json::Value as Json;
use taskwright_base::text::count;
use taskwright_base::{Digest, Result, error::failed};
use toml::{Table, Value as Toml};

use crate::draft;
use crate::kind::Kind;
use crate::mapping::{At, Mapping};
use crate::notes::List;
use crate::yaml::{Entry, Value};

/// The table of a split.
pub fn table(split: &str) -> String {
    format!("splits.{}", draft::key(split))
}

/// `partition_files`: a JSON array of ids for each partition.
pub fn files(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    if let Some(other) = at.map.get("partitions") {
        let message = format!("`partition_files` and, on line {}, `partitions` say the same", other.line);
        return Err(mapping.error(entry.line, message).hint("take one of them out"));
    }
    for (index, partition) in mapping.map(entry)?.0.iter().enumerate() {
        let Value::Text(path) = &partition.node.value else {
            return Err(mapping.wrong(partition, &partition.node, "a text"));
        };
        let ids = ids(mapping, partition, path)?;
        mapping.partitions.insert(partition.key.clone(), ids);
        let written = mapping.path(partition, path);
        let file: Table = [("file".to_owned(), Toml::from(written))].into_iter().collect();
        let table = table(&partition.key);
        if index == 0 {
            mapping.draft.comment(&table, &entry.comments);
        }
        mapping.draft.set(&table, "samples", Toml::Table(file), &partition.comments);
    }
    Ok(())
}

fn ids(mapping: &Mapping, partition: &Entry, path: &str) -> Result<Vec<String>> {
    let file = mapping.places.named(path);
    let wrong = |what: String| mapping.error(partition.line, format!("`{}`: {what}", partition.path));
    let text = std::fs::read_to_string(&file).map_err(|error| {
        wrong(format!("reading `{path}`: {}", taskwright_base::error::reason(&error)))
            .hint("bring the file first: it says which samples there are")
    })?;
    serde_json::from_str(&text).map_err(|error| wrong(format!("`{path}` is no JSON array of ids: {error}")))
}

/// `partitions`: the ids themselves.
pub fn lists(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else {
        return if mapping.partitions.is_empty() { Err(mapping.missing("partition_files")) } else { Ok(()) };
    };
    for (index, partition) in mapping.map(entry)?.0.iter().enumerate() {
        let samples = mapping.value(partition, Kind::Texts)?;
        let names =
            samples.as_array().into_iter().flatten().filter_map(Toml::as_str).map(str::to_owned).collect();
        mapping.partitions.insert(partition.key.clone(), names);
        let table = table(&partition.key);
        if index == 0 {
            mapping.draft.comment(&table, &entry.comments);
        }
        mapping.draft.set(&table, "samples", samples, &partition.comments);
    }
    Ok(())
}

/// `task_manifest`: here the source's pin says which tasks there are, so the list is looked at once, now.
pub fn manifest(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let Value::Text(path) = &entry.node.value else {
        return Err(mapping.wrong(entry, &entry.node, "a text"));
    };
    let file = mapping.places.named(path);
    let bytes = std::fs::read(&file).map_err(failed("reading", mapping.places.shown(&file)))?;
    let manifest: Json = serde_json::from_slice(&bytes)
        .map_err(|error| mapping.error(entry.line, format!("`{path}` is not JSON: {error}")))?;
    let listed = listed(&manifest)
        .ok_or_else(|| mapping.error(entry.line, format!("`{path}` has no `tasks`, a list of names")))?;
    let unknown = mapping.partitions.values().flatten().find(|id| !listed.contains(id.as_str()));
    if let Some(unknown) = unknown {
        let message = format!("`{unknown}` is in a partition, and `{path}` does not list it");
        return Err(mapping.error(entry.line, message).hint("mend it first: vero refuses it too"));
    }
    if let Some(source) = at.map.get("task_source") {
        same_source(mapping, entry, (path, &file), manifest["task_source"].as_str(), source)?;
    }
    let text = format!(
        "`{path}` ({}, {}) agrees with the partitions today; no build looks at it again",
        count(listed.len() as u64, "task"),
        Digest::of(&bytes)
    );
    mapping.note(List::Changed, entry, text);
    Ok(())
}

fn listed(manifest: &Json) -> Option<BTreeSet<&str>> {
    let tasks = manifest["tasks"].as_array()?;
    tasks.iter().map(|task| task.as_str().or_else(|| task["name"].as_str())).collect()
}

/// A folder is written from the manifest there, and from the configuration here.
fn same_source(
    mapping: &Mapping,
    entry: &Entry,
    (path, file): (&str, &Utf8Path),
    said: Option<&str>,
    source: &Entry,
) -> Result<()> {
    let Value::Text(wanted) = &source.node.value else { return Ok(()) };
    let folder = file.parent().unwrap_or(file);
    let from_manifest = said.map(|said| taskwright_language::normalize(&folder.join(said)));
    let from_here = taskwright_language::normalize(&mapping.places.named(wanted));
    if said == Some(wanted.as_str()) || from_manifest == Some(from_here) {
        return Ok(());
    }
    let said = said.unwrap_or("nothing");
    let message =
        format!("`{path}` is of `{said}`, and the tasks come from `{wanted}` (line {})", source.line);
    Err(mapping.error(entry.line, message).hint("mend it first: vero refuses it too"))
}
