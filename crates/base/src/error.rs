//! The one error type: what happened, where, and what to do about it.
//!
//! A crate that knows more about its failures than these kinds (a refusal with an HTTP status, the mistakes of a whole
//! spec) has a type of its own and keeps this one for the rest.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::rule::Rule;

/// Why something could not be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    message: String,
    hint: Option<String>,
    place: Option<Place>,
    io: Option<io::ErrorKind>,
    rule: Option<Rule>,
    files: Box<[PathBuf]>,
}

/// What the failure says about the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It could not be done.
    Failed,
    /// It makes no sense: an argument is wrong, or names what is not there.
    Usage,
    /// It was asked to stop; nothing is wrong.
    Interrupted,
    /// Something would have to be made first, by a command that makes nothing.
    Stale,
}

/// Where the cause stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A field of a spec, as its keys from the root.
    Field(Vec<String>),
    /// A file; lines and columns count from one.
    File {
        /// The file.
        path: PathBuf,
        /// The line, and the column in it if that is known.
        at: Option<(u64, Option<u64>)>,
    },
}

/// A result whose error is an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with what happened.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Failed,
            message: message.into(),
            hint: None,
            place: None,
            io: None,
            rule: None,
            files: Box::default(),
        }
    }

    /// The error of a command that was asked to stop.
    pub fn interrupted() -> Self {
        Self { kind: Kind::Interrupted, ..Self::new("interrupted") }
    }

    /// What would have to be made, in a command that makes nothing.
    pub fn stale(what: &str) -> Self {
        Self { kind: Kind::Stale, ..Self::new(format!("needs {what}")) }
    }

    /// What the operating system said while something was done to a path: "reading `a/b`: permission denied".
    pub fn io(doing: impl fmt::Display, path: impl AsRef<Path>, error: &io::Error) -> Self {
        Self::os(format_args!("{doing} `{}`", path.as_ref().display()), error)
    }

    /// What the operating system said while something was done that concerns no path.
    pub fn os(doing: impl fmt::Display, error: &io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Some("free some space and try again")
            }
            io::ErrorKind::PermissionDenied => Some("change the permissions or the owner, and try again"),
            io::ErrorKind::ReadOnlyFilesystem => Some("name a place that can be written to"),
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                Some("a file stands where a folder should be, there or further up: move it away")
            }
            _ => None,
        };
        Self {
            hint: hint.map(str::to_owned),
            io: Some(error.kind()),
            ..Self::new(format!("{doing}: {}", reason(error)))
        }
    }

    /// Adds what to do about it, instead of what was said before.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says which rule was broken.
    #[must_use]
    pub fn of(self, rule: Rule) -> Self {
        Self { rule: Some(rule), ..self }
    }

    /// Adds which files break the rule, where that is more than a place: from the workspace's root.
    #[must_use]
    pub fn with_files(self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { files: files.into_iter().collect(), ..self }
    }

    /// Says that the request makes no sense.
    #[must_use]
    pub fn usage(self) -> Self {
        Self { kind: Kind::Usage, ..self }
    }

    /// Adds which field of the spec it is about.
    #[must_use]
    pub fn at(mut self, field: &[&str]) -> Self {
        self.place = Some(Place::Field(field.iter().map(|&part| part.to_owned()).collect()));
        self
    }

    /// Adds which file it is about, and the line and column in it.
    #[must_use]
    pub fn in_file(mut self, path: impl Into<PathBuf>, at: Option<(u64, Option<u64>)>) -> Self {
        self.place = Some(Place::File { path: path.into(), at });
        self
    }

    /// The same error with other words before its own: "`smoke`: reading `a`: permission denied".
    #[must_use]
    pub fn within(mut self, what: impl fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// What the failure says about the request.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What to do about it, if there is something to say.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Where the cause stands, if that is known.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Which field of the spec it is about; empty if none.
    pub fn field(&self) -> Vec<&str> {
        match &self.place {
            Some(Place::Field(keys)) => keys.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// Which rule was broken, if one has a name.
    pub fn rule(&self) -> Option<Rule> {
        self.rule
    }

    /// Which files break the rule, from the workspace's root; empty where nobody said so.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The operating system's answer, if it was that.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        self.io
    }

    /// Whether the command was called wrongly, and no input is to blame.
    pub fn is_usage(&self) -> bool {
        self.kind == Kind::Usage
    }

    /// Whether the command was asked to stop.
    pub fn is_interrupt(&self) -> bool {
        self.kind == Kind::Interrupted
    }

    /// Whether it only says that something would have to be made.
    pub fn is_stale(&self) -> bool {
        self.kind == Kind::Stale
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place::File { path, at }) = &self.place {
            write!(formatter, "{}", path.display())?;
            if let Some((line, column)) = at {
                write!(formatter, ":{line}")?;
                if let Some(column) = column {
                    write!(formatter, ":{column}")?;
                }
            }
            formatter.write_str(": ")?;
        }
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Says what was being done to a path: `.map_err(failed("reading", path))`.
pub fn failed<'a, P: AsRef<Path> + ?Sized>(
    doing: impl fmt::Display + 'a,
    path: &'a P,
) -> impl FnOnce(io::Error) -> Error + 'a {
    move |error| Error::io(doing, path, &error)
}

/// The same where there is no path to name: `.map_err(failed_to("starting git"))`.
pub fn failed_to<'a>(doing: impl fmt::Display + 'a) -> impl FnOnce(io::Error) -> Error + 'a {
    move |error| Error::os(doing, &error)
}

/// The operating system's words, without the number that Rust appends.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_where_and_what_to_do() {
        let error = Error::io("reading", "a/b", &io::Error::from_raw_os_error(13));
        assert_eq!(error.to_string(), "reading `a/b`: permission denied");
        assert_eq!(error.hint_text(), Some("change the permissions or the owner, and try again"));
        assert_eq!(error.io_kind(), Some(io::ErrorKind::PermissionDenied));
        let error = Error::new("a day too many").in_file("x.jsonl", Some((3, Some(7))));
        assert_eq!(error.to_string(), "x.jsonl:3:7: a day too many");
        let error = Error::new("no").at(&["splits", "train"]).usage().within("`smoke`");
        assert_eq!((error.to_string().as_str(), error.field()), ("`smoke`: no", vec!["splits", "train"]));
        assert!(error.is_usage() && !error.is_interrupt() && !error.is_stale());
    }
}
