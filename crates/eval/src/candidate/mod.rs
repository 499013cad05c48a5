//! Candidates: commits of the optimizer's repository, imported as untrusted data.
//!
//! The optimizer's side makes a pack (`git pack-objects --revs --stdout` with the commit and `^baseline`) and uploads
//! it; our side never opens the optimizer's repository, so none of its configuration, hooks, alternates, attributes,
//! replacement references or file system tricks can matter.
//!
//! `pack` looks through the upload as it comes in and refuses what would unpack to too much. `import` has git unpack
//! it in the sandbox, and stores the objects itself. `tree` says what a candidate's files may be. `checkout` writes
//! them out.

mod checkout;
mod git;
mod import;
mod pack;
mod store;
mod tree;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use taskwright_base::{Error, Result};
use taskwright_language::model::Limits;

pub use self::checkout::Checkout;
pub use self::store::Store;

/// The identifier of a commit: forty lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitId(String);

/// The identifier of a tree: what a candidate is, whatever its commit says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TreeId(String);

macro_rules! object_id {
    ($($name:ident)+) => {$(
        impl $name {
            /// Its forty digits.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
        impl FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                if text.len() == 40 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
                    return Ok(Self(text.to_owned()));
                }
                let shown: String = text.chars().take(60).collect();
                Err(Error::new(format!(
                    "{shown:?} is not an identifier of 40 hexadecimal digits: use what `git rev-parse` prints"
                )))
            }
        }
        impl TryFrom<String> for $name {
            type Error = Error;
            fn try_from(text: String) -> Result<Self> {
                text.parse()
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    )+};
}
object_id!(CommitId TreeId);

/// A commit that was imported and found fit to be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The commit.
    pub commit: CommitId,
    /// Its tree: two candidates with one tree are the same candidate.
    pub tree: TreeId,
    /// How many files it has.
    pub files: u64,
    /// How many bytes its files have that are not in the baseline.
    pub added_bytes: u64,
}

/// How much of a candidate is imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportLimits {
    /// The most bytes of the pack as it is uploaded.
    pub pack_bytes: u64,
    /// The most objects in it.
    pub objects: u64,
    /// The most bytes that its objects have when they are unpacked; history counts.
    pub unpacked_bytes: u64,
    /// The most bytes of files that the candidate's tree may add to the baseline's.
    pub added_bytes: u64,
    /// The most files and folders of the candidate's tree.
    pub entries: u64,
    /// The most bytes of the disk that its objects may take when they are unpacked: each is a file.
    pub disk_bytes: u64,
    /// The most seconds that it may take to unpack.
    pub seconds: u64,
}

impl From<&Limits> for ImportLimits {
    fn from(limits: &Limits) -> Self {
        let added_bytes = limits.candidate_mb.saturating_mul(1 << 20);
        Self {
            pack_bytes: added_bytes.saturating_add(1 << 20),
            objects: 200_000,
            unpacked_bytes: added_bytes.saturating_mul(4).saturating_add(16 << 20),
            added_bytes,
            entries: 50_000,
            disk_bytes: u64::MAX,
            seconds: 120,
        }
    }
}

/// Why a commit was refused: the candidate's fault, and safe to show to the optimizer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "refusal", rename_all = "snake_case")]
pub enum Refusal {
    /// The upload is not a pack, or a damaged one.
    #[error("the uploaded pack is not usable: {reason}")]
    Damaged {
        /// What is wrong with it.
        reason: String,
    },
    /// Something is larger than allowed.
    #[error("{what} is more than the allowed {limit}: commit less")]
    TooLarge {
        /// What it is, with its size.
        what: String,
        /// The limit.
        limit: String,
    },
    /// There is less room on our side than it takes.
    #[error("its {objects} objects take more than the {} MiB of the disk that are left for it", room >> 20)]
    NoRoom {
        /// How many objects were unpacked before there was no room.
        objects: u64,
        /// How many bytes there were.
        room: u64,
    },
    /// The pack and the baseline do not hold the commit, or not all of its history and files.
    #[error("commit {commit} is not complete: {reason}")]
    Incomplete {
        /// The commit.
        commit: CommitId,
        /// What is missing.
        reason: String,
    },
    /// The tree holds something that no candidate may hold.
    #[error("`{path}` {reason}")]
    Forbidden {
        /// Where, from the repository's root.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A commit before the candidate holds what no candidate may hold.
    #[error("commit {commit}, on which the candidate stands: {why}")]
    InHistory {
        /// The commit.
        commit: String,
        /// What is wrong in it.
        why: String,
    },
    /// A file that must stay as it is was changed, added or removed.
    #[error("`{path}` is read-only and was {change}: restore it from the baseline")]
    ReadOnly {
        /// Where, from the repository's root.
        path: String,
        /// `changed`, `added` or `removed`.
        change: String,
    },
}

/// Tells of a path whether it is one that a candidate must leave as it is, by the patterns of a task.
#[cfg(feature = "controls")]
pub(crate) fn read_only(patterns: &[String]) -> Result<impl Fn(&str) -> bool + use<>> {
    let patterns = tree::ReadOnly::new(patterns)?;
    Ok(move |path: &str| patterns.matches(path))
}

/// Why a commit could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The candidate is at fault.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The infrastructure is.
    #[error(transparent)]
    Failed(#[from] Error),
}
