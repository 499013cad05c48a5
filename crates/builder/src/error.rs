//! The one error type of a build: what happened, and what to do about it.

use std::io;

use camino::Utf8Path;

/// Why something could not be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BuildError {
    message: String,
    hint: Option<String>,
    field: Vec<String>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Wrong,
    Interrupted,
    Stale,
    Usage,
}

/// A result whose error is a [`BuildError`].
pub type Result<T> = std::result::Result<T, BuildError>;

impl BuildError {
    /// An error with what happened.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, field: Vec::new(), kind: Kind::Wrong }
    }

    /// The error of a build that was asked to stop.
    pub fn interrupted() -> Self {
        Self { kind: Kind::Interrupted, ..Self::new("interrupted") }
    }

    /// What would have to be made, in a build that makes nothing.
    pub fn stale(what: &str) -> Self {
        Self { kind: Kind::Stale, ..Self::new(format!("needs {what}")) }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says that the command was called wrongly.
    #[must_use]
    pub fn usage(self) -> Self {
        Self { kind: Kind::Usage, ..self }
    }

    /// Whether the command was called wrongly, and no input is to blame.
    pub fn is_usage(&self) -> bool {
        self.kind == Kind::Usage
    }

    /// Adds which field of the spec it is about.
    #[must_use]
    pub fn at(mut self, field: &[&str]) -> Self {
        self.field = field.iter().map(|&part| part.to_owned()).collect();
        self
    }

    /// An operating system error while doing something to a path.
    pub fn io(doing: &str, path: impl AsRef<Utf8Path>, error: &io::Error) -> Self {
        let path = path.as_ref();
        let built = Self::new(format!("{doing} `{path}`: {}", describe(error)));
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                built.hint("free some space (`cargo xtask clean --store` removes what can be made again) and build again")
            }
            io::ErrorKind::PermissionDenied => built.hint("change the permissions or the owner, and build again"),
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                built.hint("a file stands where a folder should be, there or further up: move it away")
            }
            io::ErrorKind::ReadOnlyFilesystem => built.hint("build to a writable place with `--out DIR`"),
            _ => built,
        }
    }

    /// What to do about it.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Which field of the spec it is about; empty if none.
    pub fn field(&self) -> Vec<&str> {
        self.field.iter().map(String::as_str).collect()
    }

    /// Whether the build was asked to stop, so that nothing is wrong with the input.
    pub fn is_interrupt(&self) -> bool {
        self.kind == Kind::Interrupted
    }

    /// Whether it only says that something would have to be made, in a build that makes nothing.
    pub fn is_stale(&self) -> bool {
        self.kind == Kind::Stale
    }
}

/// The operating system's words without the number that Rust appends.
fn describe(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

/// Turns an operating system error into a [`BuildError`]: `.map_err(failed("reading", path))`.
pub fn failed<'a>(doing: &'a str, path: &'a Utf8Path) -> impl FnOnce(io::Error) -> BuildError + 'a {
    move |error| BuildError::io(doing, path, &error)
}

/// The name that was most likely meant, if one is near.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        // Enough to find a typing mistake in; looking through millions of sample ids would take longer than the build.
        .take(10_000)
        .map(|other| (strsim::damerau_levenshtein(name, other), other))
        .min()
        .filter(|(distance, _)| *distance <= name.chars().count() / 3 + 1)
        .map(|(_, other)| other)
}
