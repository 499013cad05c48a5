//! The errors of a ledger: those of its files and of its database, with what to do about them.

use std::fmt::Display;
use std::io;
use std::path::Path;

use rusqlite::ErrorCode;
use taskwright_base::Error;

const FULL: &str =
    "free some space and try again: what was imported so far is whole, `cargo xtask gc` removes the rest";
const DAMAGED: &str = "restore it from a copy, or import the jobs again into another `--ledger DIR`: \
                       `cargo xtask verify` says what is affected; the evidence beside it is not";
const READ_ONLY: &str = "change its permissions or its owner, or name another place with `--ledger DIR`";

/// [`taskwright_base::failed`] of a ledger's files: it knows what can be removed from a ledger, and how to name another.
pub(crate) fn failed<'a, P: AsRef<Path> + ?Sized>(
    doing: impl Display + 'a,
    path: &'a P,
) -> impl FnOnce(io::Error) -> Error + 'a {
    move |error| {
        let hint = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(FULL),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Some(READ_ONLY),
            _ => None,
        };
        let built = Error::io(doing, path, &error);
        hint.into_iter().fold(built, Error::hint)
    }
}

/// The error of a database at a path.
pub(crate) fn database_failed(path: impl AsRef<Path>, error: &rusqlite::Error) -> Error {
    let path = path.as_ref().display();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Error::new(format!("the database `{path}` is damaged: {error}")).hint(DAMAGED)
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::new(format!(
            "the database `{path}` is in use by another process, which did not finish in time"
        ))
        .hint("wait until it has finished, and try again"),
        Some(ErrorCode::DiskFull) => Error::new(format!("writing `{path}`: no space left")).hint(FULL),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            Error::new(format!("the database `{path}` cannot be opened for writing: {error}")).hint(READ_ONLY)
        }
        // A table or a column that is not there.
        Some(ErrorCode::Unknown) => {
            Error::new(format!("the database `{path}` is not as Taskwright made it: {error}")).hint(DAMAGED)
        }
        _ => Error::new(format!("the database `{path}`: {error}")),
    }
}
