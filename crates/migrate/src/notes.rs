//! What a migration says in the end: three lists.

use serde::Serialize;

/// Which list a note belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum List {
    /// It came along, and means something else here.
    Changed,
    /// A spec has no way to say it.
    NotCarried,
    /// Somebody has to choose, or to bring something.
    ToDecide,
}

impl List {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Changed, Self::NotCarried, Self::ToDecide];

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Changed => "changed in meaning",
            Self::NotCarried => "not carried",
            Self::ToDecide => "to decide",
        }
    }
}

/// Something to know about a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The list it belongs to.
    pub list: List,
    /// The line of the YAML; none for what it does not say.
    pub line: Option<u64>,
    /// The key, with those above it.
    pub key: String,
    /// What to know.
    pub text: String,
}
