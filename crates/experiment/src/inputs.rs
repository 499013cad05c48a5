//! Copies of tasks, prompts and packages that no later edit can reach: each under its own digest, shared by the runs that
//! use it.
//!
//! A job must run from these: Harbor reads a task again for each trial, so an edit during the run would make trials of
//! two tasks under one name.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::digest::{Digest, Hasher};
use taskwright_base::tree::check_link;
use taskwright_base::{Error, Result, failed};
use walkdir::WalkDir;

/// How many digits of a digest name a folder.
const DIGITS: usize = 16;
/// The most bytes of a prompt: a text that a model reads.
const MAX_TEXT: u64 = 4 * 1024 * 1024;

/// What is left out of a Python package: what its tools make in it.
const MADE: [&str; 6] = [".git", ".venv", "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache"];

/// What is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Everything that is there.
    Whole,
    /// A Python package, without what its tools make in it.
    Package,
}

/// Something that a run needs, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Where it is; absolute.
    source: Utf8PathBuf,
    /// The last part of its name, which the copy has too.
    name: String,
    kind: Kind,
    /// The digest of its names, kinds and contents.
    pub digest: Digest,
}

impl Input {
    /// Looks at a file or a folder.
    pub fn of(source: &Utf8Path, kind: Kind) -> Result<Self> {
        let source = source.canonicalize_utf8().map_err(failed("finding", source))?;
        let name = source.file_name().unwrap_or("input").to_owned();
        let digest = digest(&source, kind)?;
        Ok(Self { source, name, kind, digest })
    }

    /// Where the copy is, or will be, below the folder of all copies.
    pub fn path(&self) -> Utf8PathBuf {
        Utf8Path::new(&self.digest.hex()[..DIGITS]).join(&self.name)
    }

    /// Makes the copy below `folder`, unless it is there and whole.
    pub fn keep(&self, folder: &Utf8Path) -> Result<()> {
        let path = folder.join(self.path());
        if fs::symlink_metadata(&path).is_ok() {
            // Building a package may leave something in its folder, which is no other package for that.
            if self.kind == Kind::Package || digest(&path, self.kind).is_ok_and(|there| there == self.digest)
            {
                return Ok(());
            }
            return Err(Error::new(format!("the copy `{path}` was changed after it was made"))
                .hint(format!("trials may have run on it; remove `{path}` to have it made again")));
        }
        fs::create_dir_all(folder).map_err(failed("creating", folder))?;
        let staging = tempfile::Builder::new()
            .prefix(".new-")
            .tempdir_in(folder)
            .map_err(failed("creating", folder))?;
        let staged = Utf8Path::from_path(staging.path())
            .ok_or_else(|| Error::new(format!("`{folder}` has a name that is not UTF-8")))?
            .to_owned();
        copy(&self.source, &staged.join(&self.name), self.kind)?;
        if digest(&staged.join(&self.name), self.kind)? != self.digest {
            return Err(Error::new(format!("`{}` changed while it was copied", self.source))
                .hint("run the experiment again when nobody edits it"));
        }
        fs::set_permissions(&staged, fs::Permissions::from_mode(0o755))
            .map_err(failed("protecting", &staged))?;
        let home = path.parent().unwrap_or(folder);
        match fs::rename(&staged, home) {
            Ok(()) => Ok(()),
            // Another run made the same copy at the same time.
            Err(_) if digest(&path, self.kind).is_ok_and(|there| there == self.digest) => Ok(()),
            Err(error) => Err(Error::io("renaming to", home, &error)),
        }
    }
}

/// Reads a text file that becomes part of a configuration.
pub fn text(path: &Utf8Path) -> Result<String> {
    let size = fs::metadata(path).map_err(failed("reading", path))?.len();
    if size > MAX_TEXT {
        return Err(Error::new(format!("`{path}` is larger than {} MiB", MAX_TEXT / 1024 / 1024)));
    }
    fs::read_to_string(path).map_err(failed("reading", path))
}

/// What stands at a path of a folder.
enum Entry {
    Folder,
    File {
        executable: bool,
    },
    /// A link to something else in the folder, kept as it is.
    Link(Utf8PathBuf),
}

/// The entries of a folder by path, or the file itself under an empty path.
fn entries(source: &Utf8Path, kind: Kind) -> Result<Vec<(Utf8PathBuf, Entry)>> {
    let mut entries = Vec::new();
    let walk = WalkDir::new(source).sort_by_file_name().into_iter().filter_entry(|entry| {
        kind == Kind::Whole || entry.depth() == 0 || !is_made(entry.file_name().to_str().unwrap_or_default())
    });
    for entry in walk {
        let entry = entry.map_err(|error| {
            let path = error.path().map_or(String::new(), |path| format!(" `{}`", path.display()));
            let error =
                error.io_error().map_or("a link goes round in a circle".to_owned(), ToString::to_string);
            Error::new(format!("reading{path}: {error}"))
        })?;
        let full = Utf8Path::from_path(entry.path()).ok_or_else(|| {
            Error::new(format!("`{}` has a name that is not UTF-8", entry.path().display()))
        })?;
        let path = full.strip_prefix(source).unwrap_or(full).to_owned();
        let kind = entry.file_type();
        let executable = |path: &Utf8Path| {
            let metadata = fs::metadata(path).map_err(failed("reading", path))?;
            Ok::<_, Error>(metadata.permissions().mode() & 0o111 != 0)
        };
        let what = if kind.is_dir() {
            Entry::Folder
        } else if kind.is_file() {
            Entry::File { executable: executable(full)? }
        } else if kind.is_symlink() {
            let target = full.read_link_utf8().map_err(failed("reading", full))?;
            // A step up behind a name may start from wherever another link leads: no such link stays inside for sure.
            if check_link(path.as_str(), target.as_str().as_bytes()).is_ok() {
                Entry::Link(target)
            } else if fs::metadata(full).is_ok_and(|metadata| metadata.is_file()) {
                // What it leads to may change; the copy has what is there now.
                Entry::File { executable: executable(full)? }
            } else {
                return Err(Error::new(format!("the link `{full}` leads out of `{source}`, or to nothing"))
                    .hint("put what it leads to in its place"));
            }
        } else {
            return Err(Error::new(format!("`{full}` is neither a file nor a folder nor a link")));
        };
        entries.push((path, what));
    }
    Ok(entries)
}

fn is_made(name: &str) -> bool {
    MADE.contains(&name) || name.ends_with(".egg-info")
}

fn digest(source: &Utf8Path, kind: Kind) -> Result<Digest> {
    let mut hasher = Hasher::new();
    for (path, entry) in entries(source, kind)? {
        hasher.field(path.as_str().as_bytes());
        match entry {
            Entry::Folder => hasher.field(b"folder"),
            Entry::File { executable } => {
                let full = at(source, &path);
                let digest = Digest::of_file(&full).map_err(failed("reading", &full))?;
                hasher.field(if executable { b"script" } else { b"file" });
                hasher.field(&digest.bytes());
            }
            Entry::Link(target) => {
                hasher.field(b"link");
                hasher.field(target.as_str().as_bytes());
            }
        }
    }
    Ok(hasher.finish())
}

fn copy(source: &Utf8Path, to: &Utf8Path, kind: Kind) -> Result<()> {
    for (path, entry) in entries(source, kind)? {
        let (from, to) = (at(source, &path), at(to, &path));
        match entry {
            Entry::Folder => fs::create_dir(&to),
            Entry::File { .. } => fs::copy(&from, &to).map(drop),
            Entry::Link(target) => std::os::unix::fs::symlink(target, &to),
        }
        .map_err(failed("copying to", &to))?;
    }
    Ok(())
}

/// A path below a folder; an empty one is the folder itself, or the file.
fn at(root: &Utf8Path, path: &Utf8Path) -> Utf8PathBuf {
    if path.as_str().is_empty() { root.to_owned() } else { root.join(path) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_that_leaves_through_another_is_copied_as_what_it_leads_to() {
        let space = tempfile::tempdir().unwrap();
        let space = Utf8Path::from_path(space.path()).unwrap();
        let (task, copies) = (space.join("task"), space.join("copies"));
        fs::create_dir_all(task.join("d/e")).unwrap();
        fs::create_dir(task.join("d/real")).unwrap();
        fs::write(space.join("outside"), "first").unwrap();
        // `d/e/up` is the task itself, so that `d/e/up/../outside` lies beside the task.
        symlink("../..", task.join("d/e/up")).unwrap();
        symlink("up/../outside", task.join("d/e/out")).unwrap();
        symlink("../real", task.join("d/e/in")).unwrap();
        let input = Input::of(&task, Kind::Whole).unwrap();
        input.keep(&copies).unwrap();
        let copy = copies.join(input.path());
        assert!(copy.join("d/e/in").is_symlink() && !copy.join("d/e/out").is_symlink());
        fs::write(space.join("outside"), "second").unwrap();
        assert_eq!(fs::read_to_string(copy.join("d/e/out")).unwrap(), "first");
    }
}
