//! What the verifier scores, and how often the best candidates are scored again.

use taskwright_base::Result;
use toml::Value as Toml;

use super::AGGREGATES;
use super::access::partition;
use crate::kind::Kind;
use crate::mapping::{At, Mapping, Rule};
use crate::notes::List;

const TARGET: &[Rule] = &[
    Rule::with("partition"),
    Rule::field("reward_key", Kind::Text, ".", "reward_key"),
    Rule::field("baseline_reward", Kind::Number, ".", "baseline_reward"),
    Rule::field("failure_value", Kind::Number, ".", "failure_value").absent("0.0"),
    Rule::field("max_attempts", Kind::Count, ".", "max_attempts"),
    Rule::by("n_attempts", attempts),
    Rule::by("aggregate_attempts", aggregate),
    Rule::not("model", "a target is scored with the model of `[harbor]`"),
    Rule::not("parameters", "the nested run has the same arguments for every target"),
];

/// `targets`.
pub fn targets(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let entry = at.entry.ok_or_else(|| mapping.missing("targets"))?;
    for (index, map) in mapping.maps(entry)?.into_iter().enumerate() {
        let split = partition(mapping, entry, map)?;
        let table = mapping.draft.element("targets");
        if index == 0 {
            mapping.draft.comment(&table, &entry.comments);
        }
        let comments = map.get("partition").map(|partition| partition.comments.clone()).unwrap_or_default();
        mapping.draft.set(&table, "split", split, &comments);
        mapping.apply(TARGET, map, &table)?;
    }
    Ok(())
}

/// A target that does not say it has the attempts of every evaluation.
fn attempts(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    own_or_general(mapping, at, Kind::Count, "attempts")
}

fn aggregate(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    own_or_general(mapping, at, AGGREGATES, "aggregate")
}

fn own_or_general(mapping: &mut Mapping, at: At<'_>, kind: Kind, field: &str) -> Result<()> {
    let (value, comments) = match at.entry {
        Some(entry) => (Some(mapping.value(entry, kind)?), entry.comments.as_slice()),
        None => (mapping.draft.get("harbor", field).cloned(), [].as_slice()),
    };
    if let Some(value) = value {
        mapping.draft.set(at.table, field, value, comments);
    }
    Ok(())
}

/// There, how often a failed scoring is tried; here, how many scorings are pooled.
pub fn rescore_attempts(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let value = mapping.value(entry, Kind::Count)?;
    if value != Toml::Integer(1) {
        mapping.note(
            List::Changed,
            entry,
            format!("{value}: tries until one succeeds there, scorings that are pooled here"),
        );
    }
    mapping.draft.set("selection", "rescore_attempts", value, &entry.comments);
    Ok(())
}
