//! Whose failure something is, and of which kind.

use serde::{Deserialize, Serialize};

/// Whose failure something is, which decides what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The machine's, the sandbox's, a missing file: it costs the optimizer nothing.
    Infrastructure,
    /// The candidate's: it counts with the failure value.
    Candidate,
    /// The scorer's: it crashed, stayed silent, or answered something that is no score. It costs nothing either.
    Verifier,
    /// There was no budget left for it.
    Budget,
    /// The candidate was not finished in time: it counts with the failure value.
    Timeout,
}

/// What became of a sample's `run`, in the words that a scorer reads in `error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunErrorKind {
    /// It did not finish in time.
    Timeout,
    /// It ended with an error, or was killed for passing a limit, before it had answered.
    Crash,
    /// It ended well without an answer for this sample.
    NoOutput,
    /// It answered something that is not a usable JSON line, or more than the limit of output.
    InvalidOutput,
    /// Mode B: it had used up the money or tokens it was given.
    Budget,
}

/// How a sample failed: as the candidate fails, or for reasons that are not the candidate's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// [`RunErrorKind::Timeout`].
    Timeout,
    /// [`RunErrorKind::Crash`].
    Crash,
    /// [`RunErrorKind::NoOutput`].
    NoOutput,
    /// [`RunErrorKind::InvalidOutput`].
    InvalidOutput,
    /// [`RunErrorKind::Budget`].
    Budget,
    /// [`ErrorClass::Verifier`].
    Verifier,
    /// [`ErrorClass::Infrastructure`].
    Infrastructure,
}

impl RunErrorKind {
    /// The word that JSON has for it.
    pub fn as_str(self) -> &'static str {
        FailureKind::from(self).as_str()
    }

    /// Whose failure it is.
    pub fn class(self) -> ErrorClass {
        FailureKind::from(self).class()
    }
}

impl From<RunErrorKind> for FailureKind {
    fn from(kind: RunErrorKind) -> Self {
        match kind {
            RunErrorKind::Timeout => Self::Timeout,
            RunErrorKind::Crash => Self::Crash,
            RunErrorKind::NoOutput => Self::NoOutput,
            RunErrorKind::InvalidOutput => Self::InvalidOutput,
            RunErrorKind::Budget => Self::Budget,
        }
    }
}

impl FailureKind {
    /// The word that JSON has for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Crash => "crash",
            Self::NoOutput => "no_output",
            Self::InvalidOutput => "invalid_output",
            Self::Budget => "budget",
            Self::Verifier => "verifier",
            Self::Infrastructure => "infrastructure",
        }
    }

    /// Whose failure it is.
    pub fn class(self) -> ErrorClass {
        match self {
            Self::Timeout => ErrorClass::Timeout,
            Self::Crash | Self::NoOutput | Self::InvalidOutput => ErrorClass::Candidate,
            Self::Budget => ErrorClass::Budget,
            Self::Verifier => ErrorClass::Verifier,
            Self::Infrastructure => ErrorClass::Infrastructure,
        }
    }
}
