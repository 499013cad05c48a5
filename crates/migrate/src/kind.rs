//! What a key of a configuration may hold.

/// What a key may hold, and how it is written.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Text,
    Count,
    /// A count, of which `null` says that there is none.
    Limit,
    /// Whole seconds here, any number there.
    Seconds,
    Number,
    Flag,
    Texts,
    /// Texts by name, each a key of a table.
    Variables,
    /// One of some words, each with the word for it here.
    Word(&'static [(&'static str, &'static str)]),
}

impl Kind {
    /// What it is, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Text | Self::Word(_) => "a text",
            Self::Count | Self::Seconds => "a number that is not negative",
            Self::Limit => "a count, or null",
            Self::Number => "a number",
            Self::Flag => "a truth value",
            Self::Texts => "a list of texts",
            Self::Variables => "a mapping",
        }
    }
}
