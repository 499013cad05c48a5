//! What a client calls a model, put in place of what the upstream calls it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::reading::Reading;
use crate::fields::{place, quoted};

/// Which name takes the place of the upstream's.
#[derive(Debug, Clone)]
pub enum Naming {
    /// None: the client's name is the upstream's.
    AsItIs,
    /// The name that was asked for, whatever the upstream says.
    Asked(String),
    /// The client's name for each name of the upstream's.
    Known(BTreeMap<String, String>),
}

impl Naming {
    /// What has to be changed in a text.
    pub fn edits(&self, text: &str, reading: &Reading<'_>) -> Vec<(Range<usize>, String)> {
        let name = |said: &str| match self {
            Self::AsItIs => None,
            Self::Asked(name) => Some(name.clone()),
            Self::Known(names) => names.get(&serde_json::from_str::<String>(said).ok()?).cloned(),
        };
        let edit = |said: &&str| Some((place(text, said), quoted(&name(said)?)));
        reading.models.iter().filter_map(edit).collect()
    }

    /// Whether nothing is ever changed.
    pub fn is_idle(&self) -> bool {
        matches!(self, Self::AsItIs)
    }
}
