//! The inner tasks as a job gets them: copies of ours that nobody edits while they run.

use std::path::{Path, PathBuf};

use taskwright_base::{Error, Result, failed};
use taskwright_harbor::digest::content_digest;
use taskwright_language::serve::ServeInnerTask;

use crate::sandbox::folder;
use taskwright_base::copy::copy as copy_files;

/// Copies an inner task to a place named after its digest, unless it is there, and checks that it is the very task that
/// the serve config names. The folder keeps its name: trials are named after it.
pub(super) fn copy(baked: &Path, copies: &Path, task: &ServeInnerTask) -> Result<PathBuf> {
    let place = path(copies, task);
    if is_right(&place, task).is_ok() {
        return Ok(place);
    }
    let within = place.parent().unwrap_or(copies);
    let from = baked.join(&task.directory);
    is_right(&from, task)?;
    std::fs::create_dir_all(within).map_err(failed("making", within))?;
    let part = tempfile::Builder::new()
        .prefix(".part-")
        .tempdir_in(within)
        .map_err(failed("making a folder in", within))?;
    let copied = part.path().join(&task.directory);
    copy_files(&from, &copied)?;
    // Somebody else may have put it there meanwhile: one is as good as the other.
    let moved = std::fs::rename(&copied, &place);
    match is_right(&place, task) {
        Ok(()) => Ok(place),
        Err(_) => {
            moved.map_err(failed("moving", &place)).or_else(|_| replace(&copied, &place))?;
            is_right(&place, task).map(|()| place)
        }
    }
}

fn replace(copied: &Path, place: &Path) -> Result<()> {
    folder::remove(place).map_err(failed("removing", place))?;
    std::fs::rename(copied, place).map_err(failed("moving", place))
}

fn is_right(place: &Path, task: &ServeInnerTask) -> Result<()> {
    let found = content_digest(place)
        .map_err(|error| Error::new(format!("the inner task `{}`: {error}", place.display())))?;
    if found.to_string() == task.digest {
        return Ok(());
    }
    Err(Error::new(format!(
        "the inner task `{}` has the digest {found}, not {} as the task was built for: build the task again",
        place.display(),
        task.digest
    )))
}

/// Where the copy of an inner task is.
pub(super) fn path(copies: &Path, task: &ServeInnerTask) -> PathBuf {
    let short = task.digest.strip_prefix("sha256:").unwrap_or(&task.digest);
    copies.join(short.get(..16).unwrap_or(short)).join(&task.directory)
}
