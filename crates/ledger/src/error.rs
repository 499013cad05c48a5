//! The one error type of the ledger: what happened, where, and what to do about it.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;

/// Why something could not be done with a ledger.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LedgerError {
    message: String,
    hint: Option<String>,
    interrupted: bool,
}

/// A result whose error is a [`LedgerError`].
pub type Result<T> = std::result::Result<T, LedgerError>;

impl LedgerError {
    /// An error with what happened.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, interrupted: false }
    }

    /// The error of a command that was asked to stop.
    pub fn interrupted() -> Self {
        Self { interrupted: true, ..Self::new("interrupted") }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What to do about it, if there is something to say.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Whether the command was asked to stop.
    pub fn is_interrupt(&self) -> bool {
        self.interrupted
    }

    /// An error of the operating system while doing something to a path.
    pub fn io(doing: &str, path: impl AsRef<Path>, error: &io::Error) -> Self {
        let built = Self::new(format!("{doing} `{}`: {error}", path.as_ref().display()));
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => built.hint(FULL),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => built.hint(READ_ONLY),
            _ => built,
        }
    }

    /// An error of the database at a path.
    pub fn database(path: impl AsRef<Path>, error: &rusqlite::Error) -> Self {
        let path = path.as_ref().display();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::new(format!("the database `{path}` is damaged: {error}")).hint(
                    "`cargo xtask verify` says what is affected; the evidence beside it is not, and importing the jobs \
                     again into another `--ledger DIR` makes a new database",
                )
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::new(format!("the database `{path}` is in use by another process, which did not finish in time"))
                    .hint("wait until it has finished, and try again")
            }
            Some(ErrorCode::DiskFull) => Self::new(format!("writing `{path}`: no space left")).hint(FULL),
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::new(format!("the database `{path}` cannot be opened for writing: {error}")).hint(READ_ONLY)
            }
            _ => Self::new(format!("the database `{path}`: {error}")),
        }
    }
}

const FULL: &str =
    "free some space and try again: what was imported so far is whole, `cargo xtask gc` removes the rest";
const READ_ONLY: &str = "change its permissions or its owner, or name another place with `--ledger DIR`";
