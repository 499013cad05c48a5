//! What can go wrong on our side. What a candidate does wrong is a result, not an error.

use std::fmt::Display;
use std::io;
use std::path::Path;

/// Something of ours failed: no fault of the candidate, nothing of its budget.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct EvalError {
    what: String,
    #[source]
    source: Option<io::Error>,
}

/// What this crate's functions return.
pub type Result<T, E = EvalError> = std::result::Result<T, E>;

impl EvalError {
    /// An error that says what failed, where, and what to do.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), source: None }
    }
}

/// Says what was being done when a file operation failed: `.map_err(failed("reading", path))`.
pub(crate) fn failed(doing: impl Display, path: &Path) -> impl FnOnce(io::Error) -> EvalError {
    let what = format!("{doing} `{}`", path.display());
    move |error| EvalError { what: format!("{what} failed: {error}"), source: Some(error) }
}

/// The same where there is no path to name.
pub(crate) fn failed_to(doing: &'static str) -> impl FnOnce(io::Error) -> EvalError {
    move |error| EvalError { what: format!("{doing} failed: {error}"), source: Some(error) }
}
