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
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Wrong,
    Interrupted,
    Usage,
}

/// A result whose error is a [`LedgerError`].
pub type Result<T> = std::result::Result<T, LedgerError>;

impl LedgerError {
    /// An error with what happened.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, kind: Kind::Wrong }
    }

    /// The error of a command that was asked to stop.
    pub fn interrupted() -> Self {
        Self { kind: Kind::Interrupted, ..Self::new("interrupted") }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says that something was asked for that there is not: the ledger is as it should be.
    #[must_use]
    pub fn usage(self) -> Self {
        Self { kind: Kind::Usage, ..self }
    }

    /// Whether something was asked for that there is not.
    pub fn is_usage(&self) -> bool {
        self.kind == Kind::Usage
    }

    /// What to do about it, if there is something to say.
    pub fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Whether the command was asked to stop.
    pub fn is_interrupt(&self) -> bool {
        self.kind == Kind::Interrupted
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
                Self::new(format!("the database `{path}` is damaged: {error}")).hint(DAMAGED)
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::new(format!(
                "the database `{path}` is in use by another process, which did not finish in time"
            ))
            .hint("wait until it has finished, and try again"),
            Some(ErrorCode::DiskFull) => Self::new(format!("writing `{path}`: no space left")).hint(FULL),
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::new(format!("the database `{path}` cannot be opened for writing: {error}"))
                    .hint(READ_ONLY)
            }
            // A table or a column that is not there.
            Some(ErrorCode::Unknown) => {
                Self::new(format!("the database `{path}` is not as Taskwright made it: {error}"))
                    .hint(DAMAGED)
            }
            _ => Self::new(format!("the database `{path}`: {error}")),
        }
    }
}

const FULL: &str =
    "free some space and try again: what was imported so far is whole, `cargo xtask gc` removes the rest";
const DAMAGED: &str = "restore it from a copy, or import the jobs again into another `--ledger DIR`: \
                       `cargo xtask verify` says what is affected; the evidence beside it is not";
const READ_ONLY: &str = "change its permissions or its owner, or name another place with `--ledger DIR`";
