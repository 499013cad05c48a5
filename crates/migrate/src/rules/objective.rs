//! What is measured.

use taskwright_base::Result;
use toml::{Table, Value as Toml};

use crate::kind::Kind;
use crate::mapping::{At, Mapping, Rule};
use crate::yaml::{Map, Value};

const OBJECTIVE: &[Rule] = &[
    Rule::by("selector", selector),
    Rule::field(
        "direction",
        Kind::Word(&[("maximize", "maximize"), ("minimize", "minimize")]),
        ".",
        "direction",
    ),
    Rule::field("failure_value", Kind::Number, ".", "failure_value"),
    Rule::by("constraints", constraints),
];

const SELECTOR: &[Rule] =
    &[Rule::field("metric", Kind::Text, "objective", "metric"), Rule::by("aggregation", aggregation)];

/// How metrics are compared; both sides write it alike.
const OPERATORS: Kind =
    Kind::Word(&[("==", "=="), ("!=", "!="), ("<", "<"), ("<=", "<="), (">", ">"), (">=", ">=")]);

/// `objective`: its metric, direction and constraints.
pub fn objective(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let map = mapping.map(entry)?;
    mapping.draft.comment("objective", &entry.comments);
    mapping.apply(OBJECTIVE, map, "objective")
}

fn selector(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let map = mapping.map(entry)?;
    mapping.apply(SELECTOR, map, "objective")
}

/// A metric is what is reported, or the mean of it; nothing else can be asked for here.
fn aggregation(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    match at.entry.map(|entry| (entry, &entry.node.value)) {
        None => Ok(()),
        Some((_, Value::Text(word))) if word == "report" => Ok(()),
        Some((entry, Value::Text(_))) => {
            mapping.lose(entry, "a metric is the mean over the samples");
            Ok(())
        }
        Some((entry, _)) => Err(mapping.wrong(entry, &entry.node, "a text")),
    }
}

fn constraints(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let mut constraints = Vec::new();
    for map in mapping.maps(entry)? {
        constraints.push(Toml::Table(constraint(mapping, map)?));
    }
    mapping.draft.set("objective", "constraints", constraints, &entry.comments);
    Ok(())
}

fn constraint(mapping: &mut Mapping, map: &Map) -> Result<Table> {
    let mut table = Table::new();
    for entry in &map.0 {
        match entry.key.as_str() {
            "selector" => {
                for inner in &mapping.map(entry)?.0 {
                    match inner.key.as_str() {
                        "metric" => {
                            table.insert("metric".to_owned(), mapping.value(inner, Kind::Text)?);
                        }
                        "aggregation" => aggregation(mapping, At { entry: Some(inner), map, table: "" })?,
                        _ => mapping.lose(inner, "vero has no such key"),
                    }
                }
            }
            "operator" => {
                table.insert("operator".to_owned(), mapping.value(entry, OPERATORS)?);
            }
            "value" => {
                table.insert("value".to_owned(), mapping.value(entry, Kind::Number)?);
            }
            _ => mapping.lose(entry, "vero has no such key"),
        }
    }
    Ok(table)
}
