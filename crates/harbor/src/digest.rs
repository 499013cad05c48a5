//! Harbor's content digest of a task directory, computed exactly as Harbor 0.26 does.
//!
//! The digest covers `task.toml`, `instruction.md`, `README.md`, `trajectory.json` and every file below
//! `environment/`, `tests/`, `solution/` and `steps/`, less what ignore files leave out. It is the SHA-256 of one line a
//! file, sorted by path: the path, a NUL, the hexadecimal SHA-256 of the content, a line feed. File modes do not count,
//! nor does anything else at the top.

mod harborignore;
mod pattern;
mod walk;

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};

use crate::names::is_ignored_by_default;

pub(crate) use pattern::IgnoreRules;

/// Single files at the top of a task directory that are hashed.
const TOP_FILES: [&str; 4] = ["task.toml", "instruction.md", "README.md", "trajectory.json"];
/// Folders of a task directory that are hashed with all they hold.
const TOP_FOLDERS: [&str; 4] = ["environment", "tests", "solution", "steps"];
/// The file that leaves out others below `tests/` and `solution/`; never hashed itself.
const HARBORIGNORE: &str = ".harborignore";
const PREFIX: &str = "sha256:";

/// The digest that Harbor records for a task, in `lock.json` as `trials[].task.digest`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentDigest([u8; 32]);

impl ContentDigest {
    /// The digest's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for ContentDigest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no content digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no content digest: write `sha256:` and 64 lower-case hexadecimal digits", .0.escape_debug())]
pub struct ParseDigestError(String);

impl FromStr for ContentDigest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        parse_hex(text).map(Self).ok_or_else(|| ParseDigestError(text.to_owned()))
    }
}

fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix(PREFIX)?.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}

impl Serialize for ContentDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

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

/// Computes the content digest of a task directory; files are read in pieces, never whole.
///
/// # Errors
///
/// When something cannot be read, and where Harbor itself would fail: at a file whose name is not UTF-8, a broken
/// ignore file, or a folder's name taken by a file.
pub fn content_digest(dir: &Path) -> Result<ContentDigest, DigestError> {
    let mut lines = Lines::default();
    let mut buffer = vec![0; 256 * 1024];
    for file in walk::hashed_files(dir)? {
        lines.add(&file.name, &hash_file(&file.path, &mut buffer)?);
    }
    Ok(lines.finish())
}

/// Computes the content digest from the files' own digests, without touching a file system.
///
/// Entries are paths relative to the task directory, with `/`, in any order, each with the SHA-256 of the file's
/// content. Paths that Harbor does not hash, by their place or by the default ignore list, are passed over, so all of
/// a task's files may be given. Links are the caller's to follow, as Harbor would: to files, not to folders.
///
/// # Errors
///
/// When a path is not a plain relative one or occurs twice, and when there is an ignore file that has a say (a
/// `.gitignore` at the top, or a `.harborignore` below tests or solutions): only [`content_digest`] reads those.
///
/// ```
/// use taskwright_harbor::digest::content_digest_of;
///
/// let digest = content_digest_of([("task.toml", [7; 32]), ("LICENSE", [8; 32]), ("tests/x.pyc", [9; 32])])?;
/// assert_eq!(digest, content_digest_of([("task.toml", [7; 32])])?);
/// # Ok::<(), taskwright_harbor::digest::DigestError>(())
/// ```
pub fn content_digest_of<'a>(
    entries: impl IntoIterator<Item = (&'a str, [u8; 32])>,
) -> Result<ContentDigest, DigestError> {
    let fault = |path: &str, reason| Err(DigestError::Entry { path: path.to_owned(), reason });
    let mut hashed = Vec::new();
    for (path, digest) in entries {
        let mut ignores = None;
        let mut begin = 0;
        for part in path.split('/') {
            match part {
                "" | "." | ".." => {
                    return fault(path, "is not a plain relative path: leave out empty, `.` and `..` parts");
                }
                HARBORIGNORE => ignores = ignores.or(Some(begin)),
                _ => {}
            }
            begin += part.len() + 1;
        }
        if let Some(begin) = ignores {
            if harborignore::is_scope(path[..begin].trim_end_matches('/').as_bytes(), true) {
                return fault(path, "changes what Harbor hashes: leave it out of the task");
            }
            continue;
        }
        if path == ".gitignore" {
            return fault(path, "changes what Harbor hashes: leave it out of the task");
        }
        let is_candidate = match path.split_once('/') {
            None => TOP_FILES.contains(&path),
            Some((top, _)) => TOP_FOLDERS.contains(&top),
        };
        if is_candidate && !is_ignored_by_default(path) {
            hashed.push((path, digest));
        }
    }
    hashed.sort_unstable();
    let mut lines = Lines::default();
    let mut previous = None;
    for (path, digest) in hashed {
        if previous.replace(path) == Some(path) {
            return fault(path, "occurs twice: give each file once");
        }
        lines.add(path, &digest);
    }
    Ok(lines.finish())
}

/// The text whose hash the digest is.
#[derive(Default)]
struct Lines {
    text: Vec<u8>,
}

impl Lines {
    fn add(&mut self, path: &str, digest: &[u8; 32]) {
        self.text.extend_from_slice(path.as_bytes());
        self.text.push(0);
        self.text.extend_from_slice(&hex(digest));
        self.text.push(b'\n');
    }

    fn finish(self) -> ContentDigest {
        ContentDigest(Sha256::digest(&self.text).into())
    }
}

/// A digest's lower-case hexadecimal digits.
pub(crate) fn hex(digest: &[u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(digest) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    text
}

fn hash_file(path: &Path, buffer: &mut [u8]) -> Result<[u8; 32], DigestError> {
    let read_error = |source| DigestError::Io { action: "read", path: path.to_owned(), source };
    let mut file = File::open(path).map_err(read_error)?;
    let mut hash = Sha256::new();
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok(hash.finalize().into()),
            Ok(length) => hash.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(read_error(error)),
        }
    }
}

#[cfg(test)]
mod tests;
