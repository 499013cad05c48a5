//! Why a command of the optimizer did not come to its end.

use std::fmt;

use taskwright_base::Error;

use crate::exit;
use crate::problem::Problem;

pub const URL: &str = "TASKWRIGHT_URL";

#[derive(Debug)]
pub enum Failure {
    /// The service refused, or could not.
    Problem(Problem),
    /// The service at this address cannot be reached.
    Unreachable { url: String, why: String },
    /// Something on this side.
    Here(Error),
}

impl Failure {
    /// A failure on this side.
    pub fn here(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Here(Error::new(what).hint(hint))
    }

    pub fn exit(&self) -> u8 {
        match self {
            Self::Problem(problem) => problem.kind.exit(),
            Self::Unreachable { .. } => exit::UNREACHABLE,
            Self::Here(_) => exit::USAGE,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Problem(problem) => problem.fmt(formatter),
            Self::Unreachable { url, why } => write!(
                formatter,
                "the eval sidecar at {url} cannot be reached: {why}\n  it is there as long as the task runs; {URL} \
                 names another address"
            ),
            Self::Here(error) => match error.hint_text() {
                Some(hint) => write!(formatter, "{error}\n  {hint}"),
                None => error.fmt(formatter),
            },
        }
    }
}
