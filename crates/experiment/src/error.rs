//! Why an experiment could not be run: what happened, and what to do about it.

use std::io;

use camino::Utf8Path;
use taskwright_base::Error as BuildError;
use taskwright_language::{Diagnostic, Diagnostics};

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExperimentError {
    message: String,
    hint: Option<String>,
    usage: bool,
    diagnostics: Option<Diagnostics>,
}

/// A result whose error is an [`ExperimentError`].
pub type Result<T> = std::result::Result<T, ExperimentError>;

impl ExperimentError {
    /// An error with what happened.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, usage: false, diagnostics: None }
    }

    /// Mistakes of the manifest, each at its place.
    pub fn manifest(mistakes: Vec<Diagnostic>) -> Self {
        Diagnostics::new(mistakes, Vec::new()).into()
    }

    /// The error of a command that was called wrongly.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { usage: true, ..Self::new(message) }
    }

    /// An operating system error while doing something to a path.
    pub fn io(doing: &str, path: &Utf8Path, error: &io::Error) -> Self {
        let words = error.to_string();
        let words = words.split_once(" (os error").map_or(words.as_str(), |(words, _)| words);
        Self::new(format!("{doing} `{path}`: {}", words.to_lowercase()))
    }

    /// Adds the operating system's reason.
    #[must_use]
    pub fn because(mut self, error: &io::Error) -> Self {
        self.message = format!("{}: {error}", self.message);
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What to do about it.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The mistakes of the manifest, if that is what it is about.
    pub fn diagnostics(&self) -> Option<&Diagnostics> {
        self.diagnostics.as_ref()
    }

    /// Whether the command was called wrongly.
    pub fn is_usage(&self) -> bool {
        self.usage
    }
}

impl From<Diagnostics> for ExperimentError {
    fn from(diagnostics: Diagnostics) -> Self {
        Self { diagnostics: Some(diagnostics), ..Self::new("the manifest is wrong") }
    }
}

impl From<BuildError> for ExperimentError {
    fn from(error: BuildError) -> Self {
        Self {
            hint: error.hint_text().map(str::to_owned),
            usage: error.is_usage(),
            ..Self::new(error.to_string())
        }
    }
}

/// Turns an operating system error into an [`ExperimentError`]: `.map_err(failed("reading", path))`.
pub fn failed<'a>(doing: &'a str, path: &'a Utf8Path) -> impl FnOnce(io::Error) -> ExperimentError + 'a {
    move |error| ExperimentError::io(doing, path, &error)
}
