//! A document of Harbor's, read with bounds: whatever stands in its place, the answer is a word and never a panic.

mod lenient;
mod nonfinite;
mod read;

use std::fmt;
use std::path::PathBuf;

pub(crate) use lenient::{Part, any, count, flag, items, keys, number, object, text};
pub(crate) use nonfinite::{NonFinite, marked, written};
pub(crate) use read::{open, read, refused, size};

/// How many bytes of one JSON document are read at most. Results that carry token ids of whole rollouts reach tens of
/// megabytes; beyond this is no result.
pub const MAX_DOCUMENT: u64 = 128 << 20;

/// What is wrong with a document.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// It is not there.
    #[error("does not exist")]
    Missing,
    /// It could not be read.
    #[error("cannot be read: {0}")]
    Io(#[source] std::io::Error),
    /// It is something that Harbor does not put there: a link, a pipe, a folder in a file's place ...
    #[error("is {0}, which Harbor does not put there")]
    NotHarbors(&'static str),
    /// It has more bytes than are read of a document.
    #[error("is too large: more than {limit} bytes")]
    TooLarge {
        /// The most that is read.
        limit: u64,
    },
    /// It has no bytes: whoever wrote it was stopped, or is about to write it.
    #[error("is empty: Harbor was stopped while it wrote it, or is about to")]
    Empty,
    /// It begins with a byte order mark.
    #[error("begins with a byte order mark, which JSON does not allow: save it as UTF-8 without one")]
    ByteOrderMark,
    /// It ends before its JSON does.
    #[error(
        "ends in the middle of its JSON (line {line}): Harbor was stopped while it wrote it, or still writes"
    )]
    Truncated {
        /// The line, from 1.
        line: usize,
    },
    /// It is no JSON.
    #[error("is not valid JSON (line {line}, column {column})")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
    },
    /// It says a key twice, so that it says nothing.
    #[error("says a key twice (line {line})")]
    RepeatedKey {
        /// The line, from 1.
        line: usize,
    },
    /// It holds bytes that are no text.
    #[error("is not UTF-8 text: byte {at} is damaged")]
    NotUtf8 {
        /// Where, from 0.
        at: usize,
    },
    /// It is another kind of document than was asked for.
    #[error("is {found}, not {wanted}")]
    WrongKind {
        /// What it is.
        found: Kind,
        /// What was wanted.
        wanted: Kind,
    },
    /// A newer Harbor wrote it, in a format that may mean something else.
    #[error("has schema_version {0}; this Taskwright reads version 1 (Harbor up to 0.26)")]
    NewerSchema(u64),
}

/// What a JSON document is, told by its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A trial's `result.json`.
    Trial,
    /// A job's `result.json`.
    Job,
    /// A job's `lock.json`.
    JobLock,
    /// A trial's `lock.json`.
    TrialLock,
    /// A trial's `config.json`.
    TrialConfig,
    /// A job's `config.json`.
    JobConfig,
    /// A trial's result of Terminal-Bench 1, Harbor's predecessor.
    TerminalBench1,
    /// An object with other keys.
    Unknown,
    /// Valid JSON that is no object.
    NotAnObject,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trial => "the result of a Harbor trial",
            Self::Job => "the result of a Harbor job",
            Self::JobLock => "the lock of a Harbor job",
            Self::TrialLock => "the lock of a Harbor trial",
            Self::TrialConfig => "the configuration of a Harbor trial",
            Self::JobConfig => "the configuration of a Harbor job",
            Self::TerminalBench1 => "a result of Terminal-Bench 1",
            Self::Unknown => "a JSON object that Harbor does not write",
            Self::NotAnObject => "JSON without keys",
        })
    }
}

/// A document that could not be used, and which.
#[derive(Debug, thiserror::Error)]
#[error("`{}` {problem}", .path.display())]
pub struct DocumentError {
    /// Where it is.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub problem: Problem,
}

impl DocumentError {
    /// Whether there simply is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self.problem, Problem::Missing)
    }
}

/// Defines a type that takes the named keys of an object as they stand, whatever stands there. A key that is absent and
/// one that is `null` are the same.
macro_rules! parts {
    ($(#[$doc:meta])* $name:ident { $($field:ident $(= $key:literal)?),* $(,)? }) => {
        $(#[$doc])*
        #[derive(serde::Deserialize)]
        #[allow(clippy::struct_field_names, reason = "they are the document's own")]
        struct $name<'a> {
            $(#[serde(borrow, default $(, rename = $key)?)] $field: Option<&'a serde_json::value::RawValue>,)*
        }
    };
}
pub(crate) use parts;

/// Defines a type of what is understood of an object, each field declared once: its name, its type, and what takes it from
/// the part of the object under its name, or under the key in brackets. `take` reads the object; `of` does the rest.
macro_rules! fields {
    ($(#[$meta:meta])* $name:ident, $parts:ident {
        $($(#[$field_meta:meta])* $field:ident $([$key:literal])? : $kind:ty = $take:expr,)*
    }) => {
        $crate::document::parts! { $parts { $($field $(= $key)?),* } }

        $(#[$meta])*
        pub struct $name {
            $($(#[$field_meta])* pub $field: $kind,)*
        }

        impl $name {
            #[allow(dead_code, reason = "a whole document is read otherwise")]
            pub(crate) fn take(part: Option<&serde_json::value::RawValue>) -> Option<Self> {
                $crate::document::object(part).map(|parts| Self::of(&parts))
            }

            fn of(parts: &$parts<'_>) -> Self {
                Self { $($field: ($take)(parts.$field),)* }
            }
        }
    };
}
pub(crate) use fields;

/// Reads a JSON object into a type that takes its parts as they stand.
pub(crate) fn parse<T>(
    bytes: &[u8],
    read: impl for<'a> Fn(&'a str) -> serde_json::Result<T>,
) -> Result<T, Problem> {
    // A derived type would take a list for its fields in order.
    if bytes.trim_ascii_start().starts_with(b"{") {
        return parse_any(bytes, read);
    }
    parse_any(bytes, |text| serde_json::from_str::<serde::de::IgnoredAny>(text))?;
    Err(Problem::WrongKind { found: Kind::NotAnObject, wanted: Kind::Unknown })
}

/// Reads any JSON document.
///
/// Python writes `NaN` and `Infinity`, which JSON does not have. Only a text that does not parse is looked through for
/// them, so that the many that do parse cost nothing.
pub(crate) fn parse_any<T>(
    bytes: &[u8],
    read: impl for<'a> Fn(&'a str) -> serde_json::Result<T>,
) -> Result<T, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| Problem::NotUtf8 { at: error.valid_up_to() })?;
    if text.trim_ascii().is_empty() {
        return Err(Problem::Empty);
    }
    if text.starts_with('\u{feff}') {
        return Err(Problem::ByteOrderMark);
    }
    let read = read(text).or_else(|error| marked(text).map_or(Err(error), |marked| read(&marked)));
    read.map_err(|error| match error.classify() {
        serde_json::error::Category::Eof => Problem::Truncated { line: error.line() },
        // Types that take parts as they stand have nothing else to say.
        serde_json::error::Category::Data => Problem::RepeatedKey { line: error.line() },
        _ => Problem::Syntax { line: error.line(), column: error.column() },
    })
}
