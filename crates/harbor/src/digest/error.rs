//! Why a task directory has no content digest.

use std::fs::Metadata;
use std::io;
use std::path::PathBuf;

/// Why a task directory has no content digest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DigestError {
    /// Something could not be read.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something has a name of Harbor's and is of another kind.
    #[error("`{}` is {found}, where Harbor reads {wanted}: move it away", path.display())]
    WrongKind {
        /// Where it is.
        path: PathBuf,
        /// What it is.
        found: &'static str,
        /// What it would have to be.
        wanted: &'static str,
    },
    /// An ignore file lies outside of the task.
    #[error("`{}` leads out of the task directory: replace the link by the file", path.display())]
    Outside {
        /// Where the link is.
        path: PathBuf,
    },
    /// An ignore file is not UTF-8.
    #[error("`{}` is not UTF-8: rewrite it, or remove it", path.display())]
    NotText {
        /// Where it is.
        path: PathBuf,
    },
    /// An ignore file holds a pattern that Harbor stops at.
    #[error("`{}` line {line}: {reason} in the pattern `{}`: correct it", path.display(), pattern.escape_debug())]
    Pattern {
        /// The ignore file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A file to be hashed has a name that is not UTF-8.
    #[error("the name of `{}` is not UTF-8, and Harbor cannot hash it: rename it", path.display())]
    Name {
        /// Where it is.
        path: PathBuf,
    },
    /// A list of files is not one that a digest can be told from.
    #[error("`{}` {reason}", path.escape_debug())]
    Entry {
        /// The file's path in the task directory.
        path: String,
        /// What is wrong with it, and what to do.
        reason: &'static str,
    },
}

impl DigestError {
    /// Something that is not what Harbor reads there.
    pub(super) fn wrong_kind(path: PathBuf, metadata: &Metadata, wanted: &'static str) -> Self {
        let found = match metadata {
            m if m.is_dir() => "a folder",
            m if m.is_file() => "a file",
            _ => "neither a file nor a folder",
        };
        Self::WrongKind { path, found, wanted }
    }
}
