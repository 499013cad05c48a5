//! Cleaning: removes what a build made, and nothing that it did not make.

use std::fs;
use std::io::ErrorKind;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use camino::Utf8PathBuf;

use crate::error::failed;
use crate::gc::{self, Collected};
use crate::lost::set_aside;
use crate::observe::Observer;
use crate::pending::Pending;
use crate::publish::{remove_file, remove_tree};
use crate::state::State;
use crate::store::Store;
use crate::workspace::{WHERE, Workspace, WorkspaceLock};
use taskwright_base::Result;

/// What is to be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The built tasks, and what is remembered of them.
    Outputs,
    /// The built tasks and the whole store.
    OutputsAndStore,
    /// What the store holds and no remembered build needs, until it holds at most this many bytes.
    Unused(u64),
}

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// The names of the tasks whose outputs were removed.
    pub tasks: Vec<String>,
    /// Where what no build wrote is now, which stood in those outputs.
    pub lost: Vec<Utf8PathBuf>,
    /// What became of the store.
    pub store: Collected,
}

/// Removes what builds made. A folder that no build remembers stays, whatever its name.
pub fn clean(
    workspace: &Workspace,
    scope: Scope,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<Cleaned> {
    let _lock = WorkspaceLock::acquire(workspace, observer, stop)?;
    let mut cleaned = Cleaned::default();
    if let Scope::Unused(limit) = scope {
        forget_vanished(workspace)?;
        // The lock is ours: no build is under way that could need what no state names.
        cleaned.store = gc::collect(workspace, &Store::open(&workspace.store_dir())?, limit, Duration::ZERO)?;
        return Ok(cleaned);
    }
    let state_file = workspace.state_file();
    let state = State::load(&state_file);
    let mut pending = Pending::read(workspace, &state);
    for name in state.tasks.keys().chain(&pending.forgotten) {
        let outputs = state.tasks.get(name).and_then(|task| task.outputs());
        cleaned.lost.extend(set_aside(workspace, name, outputs.as_ref())?);
        remove_tree(&workspace.out.join(name))?;
        cleaned.tasks.push(name.clone());
    }
    remove_tree(&workspace.staging_dir())?;
    pending.keep_unknown(&state);
    pending.save()?;
    remove_file(&state_file)?;
    if scope == Scope::OutputsAndStore {
        cleaned.store = gc::size(&Store::open(&workspace.store_dir())?)?;
        remove_tree(&workspace.store_dir())?;
    }
    Ok(cleaned)
}

/// Removes the states of builds to folders that are gone: they would keep in the store what nobody has any more.
fn forget_vanished(workspace: &Workspace) -> Result<()> {
    let folder = workspace.cache_dir();
    for entry in fs::read_dir(&folder).map_err(failed("reading", &folder))? {
        let entry = entry.map_err(failed("reading", &folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(pair) = name.strip_prefix(WHERE) else { continue };
        let out = fs::read_to_string(entry.path()).map_err(failed("reading", &entry.path()))?;
        // One that cannot be looked at may be there, and keeps what it needs.
        if !fs::symlink_metadata(&out).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            continue;
        }
        for kind in ["state-", "pending-", WHERE] {
            remove_file(&folder.join(format!("{kind}{pair}")))?;
        }
    }
    Ok(())
}
