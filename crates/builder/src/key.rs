//! Keys: the labelled list of everything a result depends on. Its digest is the fingerprint, and the difference of two
//! lists is the explanation of a rebuild.

use std::fmt;

use serde::{Deserialize, Serialize};

use taskwright_base::digest::{Digest, Hasher};

/// Identifies the sources that decide what a task directory holds.
pub const GENERATOR: &str = env!("TASKWRIGHT_GENERATOR");

/// Everything that a step's result depends on, as labels with values.
///
/// The list itself is kept beside the result, so that an explanation can never differ from what was compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Key {
    entries: Vec<(String, String)>,
}

impl Key {
    /// The key of a kind of step. The version is raised when the step's meaning changes.
    pub fn new(kind: &str, version: u32) -> Self {
        let mut key = Self::default();
        key.add("step", format!("{kind}/{version}"));
        key
    }

    pub fn add(&mut self, label: impl Into<String>, value: impl Into<String>) {
        self.entries.push((label.into(), value.into()));
    }

    pub fn add_digest(&mut self, label: impl Into<String>, digest: Digest) {
        self.add(label, digest.to_string());
    }

    /// Adds every leaf of a structure as an entry of its own, so that a difference names the very field.
    pub fn add_fields(&mut self, label: &str, value: &serde_json::Value) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, field) in fields {
                    self.add_fields(&format!("{label}.{name}"), field);
                }
            }
            // Lists of plain values, such as sample ids, read better whole, and there may be many of them.
            leaf => self.add(label, leaf.to_string()),
        }
    }

    /// The digest of the whole list.
    pub fn fingerprint(&self) -> Digest {
        let mut hasher = Hasher::new();
        for (label, value) in &self.entries {
            hasher.field(label.as_bytes());
            hasher.field(value.as_bytes());
        }
        hasher.finish()
    }

    /// What is different in `new`, in the order of the labels.
    pub fn changes(old: &Self, new: &Self) -> Vec<Change> {
        let values = |key: &Self| key.entries.iter().cloned().collect::<std::collections::BTreeMap<_, _>>();
        let (old, new) = (values(old), values(new));
        let labels: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
        labels
            .into_iter()
            .filter(|label| old.get(*label) != new.get(*label))
            .map(|label| Change {
                label: label.clone(),
                old: old.get(label).cloned(),
                new: new.get(label).cloned(),
            })
            .collect()
    }
}

/// One entry that differs between two keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What it is: a field of the spec, a file, a template ...
    pub label: String,
    /// Its value before; none if it is new.
    pub old: Option<String>,
    /// Its value now; none if it is gone.
    pub new: Option<String>,
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = |value: &str| value.parse::<Digest>().map(|digest| digest.short());
        let show = |value: &String| match (digest(value), value.split_once(' ')) {
            (Ok(digest), _) => digest,
            (Err(()), Some((first, rest))) if digest(first).is_ok() => {
                format!("{} {rest}", digest(first).unwrap_or_default())
            }
            (Err(()), _) if value.chars().count() > 60 => {
                value.chars().take(57).chain("...".chars()).collect()
            }
            (Err(()), _) => value.clone(),
        };
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => write!(formatter, "{}: {} -> {}", self.label, show(old), show(new)),
            (None, Some(new)) => write!(formatter, "{}: added, {}", self.label, show(new)),
            (Some(old), None) => write!(formatter, "{}: removed, was {}", self.label, show(old)),
            (None, None) => write!(formatter, "{}", self.label),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(entries: &[(&str, &str)]) -> Key {
        let mut key = Key::new("test", 1);
        entries.iter().for_each(|(label, value)| key.add(*label, *value));
        key
    }

    #[test]
    fn a_change_names_the_entry_with_old_and_new() {
        let changes =
            Key::changes(&key(&[("a", "1"), ("b", "2")]), &key(&[("a", "1"), ("b", "3"), ("c", "4")]));
        let text: Vec<_> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(text, ["b: 2 -> 3", "c: added, 4"]);
    }

    #[test]
    fn a_structure_is_taken_apart() {
        let mut key = Key::default();
        key.add_fields("spec", &serde_json::json!({"limits": {"concurrency": 2}, "authors": ["a", "b"]}));
        assert_eq!(
            key.entries,
            [
                ("spec.authors".to_owned(), "[\"a\",\"b\"]".to_owned()),
                ("spec.limits.concurrency".to_owned(), "2".to_owned())
            ]
        );
    }

    proptest! {
        #[test]
        fn keys_are_equal_exactly_when_nothing_changed(
            old in proptest::collection::btree_map("[a-c]{1,2}", "[0-9]", 0..5),
            new in proptest::collection::btree_map("[a-c]{1,2}", "[0-9]", 0..5),
        ) {
            let make = |entries: &std::collections::BTreeMap<String, String>| {
                let mut key = Key::default();
                entries.iter().for_each(|(label, value)| key.add(label, value));
                key
            };
            let (old, new) = (make(&old), make(&new));
            prop_assert_eq!(Key::changes(&old, &new).is_empty(), old.fingerprint() == new.fingerprint());
        }
    }
}
