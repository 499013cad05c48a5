//! What to do about a failing file system, where a build knows more than [`taskwright_base::error`].

use std::fmt::Display;
use std::io;
use std::path::Path;

use taskwright_base::Error;

/// Says what was being done to a path: `.map_err(failed("reading", path))`.
pub fn failed<'a, P: AsRef<Path> + ?Sized>(
    doing: impl Display + 'a,
    path: &'a P,
) -> impl FnOnce(io::Error) -> Error + 'a {
    move |error| io_error(doing, path, &error)
}

/// The same for an error that is there.
pub fn io_error(doing: impl Display, path: impl AsRef<Path>, error: &io::Error) -> Error {
    advised(Error::io(doing, path, error))
}

/// The error of a file that was not written, with the hint that a build gives.
pub fn advised(error: Error) -> Error {
    match error.io_kind() {
        Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => error.hint(
            "free some space on that file system, and build again; where the cache is on it too, `cargo xtask clean --store` \
             removes what can be made again",
        ),
        Some(io::ErrorKind::PermissionDenied) => {
            error.hint("change the permissions or the owner, and build again")
        }
        Some(io::ErrorKind::ReadOnlyFilesystem) => {
            error.hint("name writable places: `--out DIR` for the tasks and `--cache DIR` for what spares work")
        }
        _ => error,
    }
}
