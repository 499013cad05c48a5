//! Free tables made fit for TOML 1.0 readers, whatever TOML they were read from.

use toml::{Table, Value};

/// The same table in the one order and notation we write.
///
/// Two things could differ for one value: the order of keys (a dependency may turn on insertion order for all of us),
/// and times without seconds, which TOML 1.1 allows and Python's `tomllib` does not.
pub(super) fn canonical(table: &Table) -> Table {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries.into_iter().map(|(key, value)| (key.clone(), canonical_value(value))).collect()
}

// Recursion is bounded: the parser that made the value refuses deeper nesting than the stack takes.
fn canonical_value(value: &Value) -> Value {
    match value {
        Value::Table(table) => Value::Table(canonical(table)),
        Value::Array(items) => Value::Array(items.iter().map(canonical_value).collect()),
        Value::Datetime(datetime) => {
            let mut datetime = *datetime;
            if let Some(time) = &mut datetime.time {
                time.second.get_or_insert(0);
            }
            Value::Datetime(datetime)
        }
        other => other.clone(),
    }
}
