//! The last release.

use std::collections::BTreeSet;

use taskwright_harbor::manifest::{FILE, Manifest};

use crate::diff::Past;
use crate::lock::{Lock, LockEntry};
use crate::workspace::Workspace;
use taskwright_base::Result;

/// The newest commit whose `dataset.toml` names tasks by the digests that its lock says: whoever edits the head of
/// `dataset.toml` later releases nothing by it. Of its lock are only the tasks that went out.
///
/// # Errors
/// Git failed.
pub fn last(workspace: &Workspace) -> Result<Option<Past>> {
    Past::newest(workspace, &workspace.specs.join(FILE), released)
}

/// What a lock says of the tasks of a manifest; none unless it says all of them.
fn released(bytes: &[u8], lock: &Lock) -> Option<Lock> {
    let manifest = Manifest::parse(std::str::from_utf8(bytes).ok()?).ok()?;
    let digests: BTreeSet<&String> = manifest.tasks.iter().map(|task| &task.digest).collect();
    // A task goes out as it was built, or as it was baked.
    let forms = |entry: &LockEntry| {
        [Some(entry.harbor.clone()), entry.images.as_ref().map(|images| images.harbor.clone())]
    };
    let built: BTreeSet<String> = lock.tasks.values().flat_map(forms).flatten().collect();
    let built: BTreeSet<&String> = built.iter().collect();
    let mut lock = lock.clone();
    if digests.is_empty() || !digests.is_subset(&built) {
        return None;
    }
    lock.tasks.retain(|_, entry| forms(entry).iter().flatten().any(|digest| digests.contains(digest)));
    Some(lock)
}
