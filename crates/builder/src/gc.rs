//! Garbage collection of the store: what no remembered build needs is removed once the store outgrows its bound.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use crate::error::failed;
use crate::state::State;
use crate::store::Store;
use crate::tree::Blob;
use crate::workspace::Workspace;
use taskwright_base::{Error, Result};

/// What was made this recently outlasts the collection after a build: whoever tries two things in turn has both.
pub const GRACE: Duration = Duration::from_hours(1);

/// What a collection did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// How many bytes the store held before.
    pub before: u64,
    /// How many bytes were removed.
    pub removed: u64,
    /// How many files were removed.
    pub files: u64,
}

struct Item {
    path: Utf8PathBuf,
    size: u64,
    age: Duration,
}

/// Removes what no state of this workspace needs and is older than `grace`, oldest first, until the store holds at most `limit`
/// bytes.
///
/// What is needed stays even if it is more than that. The caller holds the workspace's lock.
pub fn collect(workspace: &Workspace, store: &Store, limit: u64, grace: Duration) -> Result<Collected> {
    let mut items = Vec::new();
    list(store.root(), &mut items)?;
    let before = items.iter().map(|item| item.size).sum();
    let mut result = Collected { before, ..Collected::default() };
    if before <= limit {
        return Ok(result);
    }
    let needed = needed(workspace, store)?;
    let mut garbage: Vec<_> =
        items.into_iter().filter(|item| item.age >= grace && !needed.contains(&item.path)).collect();
    garbage.sort_by_key(|item| std::cmp::Reverse(item.age));
    for item in garbage {
        if before - result.removed <= limit {
            break;
        }
        fs::remove_file(&item.path).map_err(failed("removing", &item.path))?;
        result.removed += item.size;
        result.files += 1;
    }
    Ok(result)
}

/// All that a store holds, as if all of it had been collected.
pub fn size(store: &Store) -> Result<Collected> {
    let mut items = Vec::new();
    list(store.root(), &mut items)?;
    let total = items.iter().map(|item| item.size).sum();
    Ok(Collected { before: total, removed: total, files: items.len() as u64 })
}

/// The files of the store that a remembered build needs.
fn needed(workspace: &Workspace, store: &Store) -> Result<HashSet<Utf8PathBuf>> {
    let folder = workspace.cache_dir();
    let mut needed = HashSet::new();
    for entry in fs::read_dir(&folder).map_err(failed("reading", &folder))? {
        let entry = entry.map_err(failed("reading", &folder))?;
        let Ok(path) = Utf8PathBuf::from_path_buf(entry.path()) else { continue };
        if !path.file_name().is_some_and(|name| name.starts_with("state-")) {
            continue;
        }
        let state = State::load(&path);
        for node in state.baselines.values().chain(&state.binary) {
            let step = store.step_path(&node.key);
            if let Ok(bytes) = fs::read(&step)
                && let Ok(value) = serde_json::from_slice::<Value>(&bytes)
            {
                let blobs = Blob::named_in(&value).into_iter();
                needed.extend(blobs.flat_map(|blob| [false, true].map(|x| store.blob_path(blob.digest, x))));
            }
            needed.insert(step);
        }
        for outputs in state.tasks.values().filter_map(|task| task.outputs()) {
            for digest in outputs.linked() {
                needed.insert(store.blob_path(digest, false));
                needed.insert(store.blob_path(digest, true));
            }
        }
    }
    Ok(needed)
}

fn list(root: &Utf8Path, items: &mut Vec<Item>) -> Result<()> {
    let now = SystemTime::now();
    for entry in walkdir::WalkDir::new(root) {
        let entry = entry.map_err(|error| Error::new(format!("reading the store: {error}")))?;
        let metadata = entry.metadata().map_err(|error| Error::new(format!("reading the store: {error}")))?;
        let Ok(path) = Utf8PathBuf::from_path_buf(entry.into_path()) else { continue };
        if metadata.is_file() {
            // Blobs carry a fixed modification time; when they came into the store is when their inode changed last.
            let changed = std::os::unix::fs::MetadataExt::ctime(&metadata);
            let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(changed).unwrap_or(0));
            let age = now.duration_since(changed).unwrap_or_default();
            items.push(Item { path, size: metadata.len(), age });
        }
    }
    Ok(())
}
