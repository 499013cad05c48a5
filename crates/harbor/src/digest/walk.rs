//! Finds the files of a task directory that Harbor hashes.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::default::is_ignored_by_default;
use super::error::DigestError;
use super::harborignore::{HarborIgnore, read_text};
use super::pattern::{Dialect, IgnoreRules};

/// Single files at the top of a task directory that are hashed.
pub const TOP_FILES: [&str; 4] = ["task.toml", "instruction.md", "README.md", "trajectory.json"];
/// Folders of a task directory that are hashed with all they hold.
pub const TOP_FOLDERS: [&str; 4] = ["environment", "tests", "solution", "steps"];

/// A file to be hashed.
pub(super) struct HashedFile {
    /// Its path relative to the task directory, with `/`.
    pub(super) name: String,
    /// Where it is.
    pub(super) path: PathBuf,
}

/// A file as it is found: its name may be no text yet.
struct Candidate {
    name: Vec<u8>,
    path: PathBuf,
}

/// The files Harbor hashes, in the order in which it does.
pub(super) fn hashed_files(dir: &Path) -> Result<Vec<HashedFile>, DigestError> {
    let root = fs::canonicalize(dir).map_err(|source| DigestError::Io {
        action: "find the task directory",
        path: dir.to_owned(),
        source,
    })?;
    let mut found = Vec::new();
    for name in TOP_FILES {
        let path = root.join(name);
        match follow(&path)? {
            None => {}
            Some(metadata) if metadata.is_file() => found.push(Candidate { name: name.into(), path }),
            Some(metadata) => return Err(DigestError::wrong_kind(path, &metadata, "a file")),
        }
    }
    let mut harborignore = HarborIgnore::new(&root);
    for name in TOP_FOLDERS {
        collect(&root.join(name), name, &mut harborignore, &mut found)?;
    }
    let gitignore = root_gitignore(&root)?;
    found.retain(|file| match (&gitignore, std::str::from_utf8(&file.name)) {
        (Some(rules), _) => !rules.is_ignored(&file.name),
        (None, Ok(name)) => !is_ignored_by_default(name),
        (None, Err(_)) => !IgnoreRules::default_list().is_ignored(&file.name),
    });
    // Bytes of UTF-8 sort as the code points they stand for, which is Harbor's order.
    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let to_text = |Candidate { name, path }| match String::from_utf8(name) {
        Ok(name) => Ok(HashedFile { name, path }),
        Err(_) => Err(DigestError::Name { path }),
    };
    found.into_iter().map(to_text).collect()
}

/// Collects the files below one of the top folders, without descending into links to folders.
fn collect(
    top: &Path,
    top_name: &str,
    harborignore: &mut HarborIgnore,
    found: &mut Vec<Candidate>,
) -> Result<(), DigestError> {
    let Some(metadata) = follow(top)? else { return Ok(()) };
    if !metadata.is_dir() {
        return Err(DigestError::wrong_kind(top.to_owned(), &metadata, "a folder"));
    }
    // Only a link, or what lies below one, can have another place to be judged by.
    let below_link = fs::symlink_metadata(top).is_ok_and(|metadata| metadata.is_symlink());
    let top = Candidate { name: top_name.into(), path: top.to_owned() };
    if harborignore.excludes(&top.name, true, resolve(&top.path, below_link).as_deref())? {
        return Ok(());
    }
    let mut folders = vec![top];
    while let Some(folder) = folders.pop() {
        let list_error = |source| DigestError::Io { action: "list", path: folder.path.clone(), source };
        for entry in fs::read_dir(&folder.path).map_err(list_error)? {
            let entry = entry.map_err(list_error)?;
            let path = entry.path();
            let file_type = entry.file_type().map_err(|source| DigestError::Io {
                action: "look at",
                path: path.clone(),
                source,
            })?;
            let Some(metadata) = follow(&path)? else { continue };
            let name = [&folder.name[..], entry.file_name().as_bytes()].join(&b'/');
            let target = resolve(&path, below_link || file_type.is_symlink());
            if harborignore.excludes(&name, metadata.is_dir(), target.as_deref())? {
                continue;
            }
            if file_type.is_dir() {
                folders.push(Candidate { name, path });
            } else if metadata.is_file() {
                found.push(Candidate { name, path });
            }
        }
    }
    Ok(())
}

fn root_gitignore(root: &Path) -> Result<Option<IgnoreRules>, DigestError> {
    let path = root.join(".gitignore");
    if follow(&path)?.is_none() {
        return Ok(None);
    }
    IgnoreRules::parse(Dialect::Manual, &read_text(&path)?, &path).map(Some)
}

/// What a path leads to, links followed; `None` where there is nothing, or a link that leads nowhere.
fn follow(path: &Path) -> Result<Option<Metadata>, DigestError> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(source) => {
            // A link that leads in a circle is as good as none, and has no stable error kind to tell it by.
            let is_link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
            if is_link && source.kind() != io::ErrorKind::PermissionDenied {
                return Ok(None);
            }
            Err(DigestError::Io { action: "look at", path: path.to_owned(), source })
        }
    }
}

fn resolve(path: &Path, may_differ: bool) -> Option<PathBuf> {
    if may_differ { fs::canonicalize(path).ok() } else { None }
}
