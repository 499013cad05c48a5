//! What the optimizer may do with each partition.

use taskwright_base::Result;
use taskwright_base::text::one_of;
use toml::{Table, Value as Toml};

use super::partitions::table;
use super::source::is_registry;
use crate::kind::Kind;
use crate::mapping::{At, Mapping, Rule};
use crate::notes::List;
use crate::yaml::{Entry, Map, Value};

const ACCESS: &[Rule] = &[
    Rule::with("partition"),
    Rule::field("disclosure", DISCLOSURE, ".", "access").absent("\"non_viewable\""),
    Rule::by("expose_case_resources", expose),
    Rule::by("min_aggregate_cases", floor),
    Rule::by("total_runs", budget),
    Rule::with("total_cases"),
];

const DISCLOSURE: Kind =
    Kind::Word(&[("full", "viewable"), ("aggregate", "non_viewable"), ("none", "no_access")]);

/// `agent_access`: one entry for each partition that may be evaluated. All others are held out.
pub fn access(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let mut seen = Vec::new();
    if let Some(entry) = at.entry {
        for (index, map) in mapping.maps(entry)?.into_iter().enumerate() {
            let name = partition(mapping, entry, map)?;
            if seen.contains(&name) {
                return Err(mapping.error(entry.line, format!("`agent_access` has `{name}` twice")));
            }
            let table = table(&name);
            let mut comments =
                map.get("partition").map(|partition| partition.comments.clone()).unwrap_or_default();
            if index == 0 {
                comments.splice(0..0, entry.comments.iter().cloned());
            }
            mapping.draft.comment(&table, &comments);
            mapping.apply(ACCESS, map, &table)?;
            seen.push(name);
        }
    }
    let held_out: Vec<String> =
        mapping.partitions.keys().filter(|name| !seen.contains(name)).cloned().collect();
    for name in held_out {
        mapping.draft.set(&table(&name), "access", "no_access", &[]);
    }
    Ok(())
}

/// The partition that a mapping is about, which must be one of those that have samples.
pub fn partition(mapping: &mut Mapping, list: &Entry, map: &Map) -> Result<String> {
    let Some(entry) = map.get("partition") else {
        return Err(mapping.error(list.line, format!("an entry of `{}` names no `partition`", list.path)));
    };
    let Value::Text(name) = &entry.node.value else {
        return Err(mapping.wrong(entry, &entry.node, "a text"));
    };
    if mapping.partitions.contains_key(name) {
        return Ok(name.clone());
    }
    let known = one_of(mapping.partitions.keys().map(String::as_str));
    let error = mapping.error(entry.line, format!("there is no partition `{name}`"));
    Err(error.hint(format!("it can be {known}")))
}

fn access_of<'a>(mapping: &'a Mapping, table: &str) -> &'a str {
    mapping.draft.get(table, "access").and_then(Toml::as_str).unwrap_or_default()
}

/// Only of samples that may be seen and that are here.
fn expose(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let Toml::Boolean(exposed) = mapping.value(entry, Kind::Flag)? else { return Ok(()) };
    let access = access_of(mapping, at.table);
    if !exposed {
        return Ok(());
    }
    if access != "viewable" {
        mapping.lose(entry, "only the samples of a viewable split can be shown");
    } else if is_registry(mapping) {
        mapping.lose(entry, "the tasks of a registry are not here when a task is built: fetch them and name their folder to show them");
    } else {
        mapping.note(
            List::Changed,
            entry,
            "tests and solutions of the tasks stay hidden; vero shows them too",
        );
        mapping.draft.set(at.table, "expose", true, &entry.comments);
    }
    Ok(())
}

/// The floor of a split that shows its aggregate. Vero reads it of no other.
fn floor(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let said = at.entry.map(|entry| mapping.value(entry, Kind::Count)).transpose()?;
    let access = access_of(mapping, at.table);
    match (at.entry, said) {
        (Some(entry), Some(_)) if access != "non_viewable" => {
            mapping.lose(entry, "a floor means nothing where each sample is shown, or none");
        }
        (Some(entry), Some(floor)) => mapping.draft.set(at.table, "min_samples", floor, &entry.comments),
        _ if access == "non_viewable" => mapping.draft.set(at.table, "min_samples", 5, &[]),
        _ => {}
    }
    Ok(())
}

/// `total_runs` and `total_cases`.
fn budget(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let mut budget = Table::new();
    let mut comments = Vec::new();
    for (there, here) in [("total_runs", "runs"), ("total_cases", "samples")] {
        let Some(entry) = at.map.get(there) else { continue };
        if access_of(mapping, at.table) == "no_access" {
            mapping.lose(entry, "a split that shows nothing cannot be evaluated here");
            continue;
        }
        budget.insert(here.to_owned(), mapping.value(entry, Kind::Limit)?);
        comments.extend_from_slice(&entry.comments);
    }
    if !budget.is_empty() {
        mapping.draft.set(at.table, "budget", Toml::Table(budget), &comments);
    }
    Ok(())
}
