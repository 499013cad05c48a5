//! Harbor's content digest of a task directory, computed exactly as Harbor 0.26 does.
//!
//! The digest covers `task.toml`, `instruction.md`, `README.md`, `trajectory.json` and every file below
//! `environment/`, `tests/`, `solution/` and `steps/`, less what ignore files leave out. It is the SHA-256 of one line a
//! file, sorted by path: the path, a NUL, the hexadecimal SHA-256 of the content, a line feed. File modes do not count,
//! nor does anything else at the top.

mod default;
mod error;
mod harborignore;
mod pattern;
mod walk;

use std::path::Path;

use taskwright_base::{Digest, digest};

pub use self::default::is_ignored_by_default;
pub use self::error::DigestError;
use self::harborignore::HARBORIGNORE;
pub use self::walk::{TOP_FILES, TOP_FOLDERS};

/// Computes the digest that Harbor records for a task, in `lock.json` as `trials[].task.digest`. Files are read in pieces,
/// never whole.
///
/// # Errors
///
/// When something cannot be read, and where Harbor itself would fail: at a file whose name is not UTF-8, a broken
/// ignore file, or a folder's name taken by a file.
pub fn content_digest(dir: &Path) -> Result<Digest, DigestError> {
    let mut lines = Lines::default();
    for file in walk::hashed_files(dir)? {
        let digest = Digest::of_file(&file.path).map_err(|source| DigestError::Io {
            action: "read",
            path: file.path,
            source,
        })?;
        lines.add(&file.name, &digest.bytes());
    }
    Ok(lines.finish())
}

/// The paths, from the task directory, of the files that the digest covers; sorted.
///
/// # Errors
///
/// As [`content_digest`].
pub fn hashed_paths(dir: &Path) -> Result<Vec<String>, DigestError> {
    Ok(walk::hashed_files(dir)?.into_iter().map(|file| file.name).collect())
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
) -> Result<Digest, DigestError> {
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
        self.text.extend_from_slice(digest::hex(digest).as_bytes());
        self.text.push(b'\n');
    }

    fn finish(self) -> Digest {
        Digest::of(&self.text)
    }
}

#[cfg(test)]
mod tests;
