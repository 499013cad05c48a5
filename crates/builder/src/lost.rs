//! What no build wrote and stands in an output is never removed with it: it is moved to `OUT.lost/NAME` first.
//!
//! Trials that `harbor run -p .` left in a task's folder, notes, and edits are somebody's work. Whatever replaces or removes an
//! output calls [`set_aside`] before.

use std::fs;
use std::os::unix::fs::MetadataExt;

use camino::{Utf8Path, Utf8PathBuf};

use crate::error::failed;
use crate::lock::Lock;
use crate::publish::{Outputs, stands};
use crate::tree::{Blob, Content, Entry, Tree};
use crate::workspace::Workspace;
use taskwright_base::{Digest, Error, Result};

/// Moves what no build wrote out of a task's folder, and says where it is now; none if there is nothing of the kind.
///
/// `written` is what was written there as far as it is remembered. Where it is not, all that stands there is moved, unless
/// the lock describes exactly that.
pub fn set_aside(
    workspace: &Workspace,
    name: &str,
    written: Option<&Outputs>,
) -> Result<Option<Utf8PathBuf>> {
    let place = workspace.out.join(name);
    let foreign = match written {
        Some(outputs) => outputs.foreign(&place),
        None if !stands(&place) || is_as_locked(workspace, name) => Vec::new(),
        None => vec![String::new()],
    };
    if foreign.is_empty() {
        return Ok(None);
    }
    let lost = room(workspace, name)?;
    for path in foreign {
        if path.is_empty() {
            // The empty room gives way to what is moved into its place.
            fs::remove_dir(&lost).map_err(failed("moving to", &lost))?;
            rename(&place, &lost)?;
            continue;
        }
        let to = lost.join(&path);
        let above = to.parent().unwrap_or(&lost);
        fs::create_dir_all(above).map_err(failed("creating", above))?;
        rename(&place.join(&path), &to)?;
    }
    Ok(Some(lost))
}

/// A new folder for what is found in a task's folder: what was moved there before stays as it is.
fn room(workspace: &Workspace, name: &str) -> Result<Utf8PathBuf> {
    let lost = workspace.lost_dir();
    fs::create_dir_all(&lost).map_err(|error| stuck(&lost, &error))?;
    let mut count = 1_u64;
    loop {
        let room = if count == 1 { lost.join(name) } else { lost.join(format!("{name}.{count}")) };
        match fs::create_dir(&room) {
            Ok(()) => return Ok(room),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => count += 1,
            Err(error) => return Err(stuck(&room, &error)),
        }
    }
}

fn rename(from: &Utf8Path, to: &Utf8Path) -> Result<()> {
    fs::rename(from, to).map_err(|error| {
        Error::io(format_args!("moving `{from}`, which no build wrote, to"), to, &error)
            .hint("move it to a place of your own: a build removes nothing that it did not write")
    })
}

fn stuck(lost: &Utf8Path, error: &std::io::Error) -> Error {
    Error::io("making room for what no build wrote at", lost, error)
        .hint("move what you added to the task's folder to a place of your own: a build does not remove it")
}

/// Whether what stands in a task's place is, to the byte, the output that the lock describes.
pub fn is_as_locked(workspace: &Workspace, name: &str) -> bool {
    let locked = Lock::read(&workspace.lock_file()).ok().flatten();
    let Some(entry) = locked.as_ref().and_then(|lock| lock.tasks.get(name)) else { return false };
    standing(&workspace.out.join(name)).is_some_and(|tree| tree.digest().to_string() == entry.tree)
}

/// The files of a folder as a tree; none if one of them cannot be part of an output.
fn standing(place: &Utf8Path) -> Option<Tree> {
    let mut tree = Tree::default();
    for entry in walkdir::WalkDir::new(place).min_depth(1) {
        let entry = entry.ok()?;
        let path = entry.path().strip_prefix(place).ok()?.to_str()?.to_owned();
        let kind = entry.file_type();
        if kind.is_symlink() {
            let target = fs::read_link(entry.path()).ok()?.into_os_string().into_string().ok()?;
            tree.insert(path, Entry::Symlink { target });
        } else if kind.is_file() {
            let (digest, size) = Digest::of_reader(&mut fs::File::open(entry.path()).ok()?).ok()?;
            let executable = entry.metadata().ok()?.mode() & 0o100 != 0;
            tree.insert(path, Entry::File { content: Content::Blob(Blob { digest, size }), executable });
        } else if !kind.is_dir() {
            return None;
        }
    }
    Some(tree)
}
