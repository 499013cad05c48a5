//! Why an experiment could not be run: mistakes of its manifest, or anything else.

use taskwright_base::Error;
use taskwright_language::{Diagnostic, Diagnostics};

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExperimentError {
    /// The manifest is wrong: every mistake that could be found, each at its place.
    #[error("the manifest is wrong")]
    Manifest(Diagnostics),
    /// Anything else.
    #[error(transparent)]
    Failed(#[from] Error),
}

impl ExperimentError {
    /// Mistakes of the manifest, each at its place.
    pub(crate) fn manifest(mistakes: Vec<Diagnostic>) -> Self {
        Self::Manifest(Diagnostics::new(mistakes, Vec::new()))
    }

    /// What to do about it, if the mistakes do not say that themselves.
    pub fn hint_text(&self) -> Option<&str> {
        match self {
            Self::Manifest(_) => None,
            Self::Failed(error) => error.hint_text(),
        }
    }

    /// Whether the command was called wrongly.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Failed(error) if error.is_usage())
    }
}

impl From<Diagnostics> for ExperimentError {
    fn from(mistakes: Diagnostics) -> Self {
        Self::Manifest(mistakes)
    }
}
