//! The steps that make a task: shared ones (a baseline, a dataset, the binary, the templates) are made once per build,
//! however many tasks use them.

pub mod assemble;
pub mod baseline;
pub mod binary;
pub mod by_hand;
pub mod dataset;
pub mod git_identity;
pub mod inner_tasks;
pub mod leaks;
pub mod listing;
pub mod repositories;
pub mod requirements;
pub mod scorer_arguments;
pub mod secrets;
pub mod serve;
pub mod splits;
pub mod task_toml;

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;
use serde::de::DeserializeOwned;
use taskwright_language::model::Baseline;

use crate::depot::{self, Depot};
use crate::inputs::{Recorder, StatCache};
use crate::key::Key;
use crate::observe::{Boundary, Observer};
use crate::render::Templates;
use crate::state::State;
use crate::store::Store;
use crate::tree::Content;
use crate::workspace::Workspace;
use taskwright_base::Digest;
use taskwright_base::{Error, Result};

/// What every step of one build works with.
pub struct Context<'a> {
    pub workspace: &'a Workspace,
    /// Bytes and results that were made before.
    pub store: &'a Store,
    /// Those that other machines made.
    pub depot: Option<&'a dyn Depot>,
    /// What the last build left.
    pub state: &'a State,
    /// Digests of files that have not changed since.
    pub cache: &'a StatCache<'a>,
    /// Whether nothing may be made that takes long, because the build only looks.
    pub look_only: bool,
    /// Whether the build was asked to stop.
    pub stop: &'a AtomicBool,
    pub observer: &'a dyn Observer,
    /// The baselines of all tasks that are looked into, each once.
    pub baselines: &'a [&'a Baseline],
    /// Shared results of this build.
    pub shared: &'a Shared,
}

/// The shared results of one build.
#[derive(Default)]
pub struct Shared {
    pub(crate) repositories: Memo<Utf8PathBuf, repositories::Answers>,
    pub(crate) baselines: Memo<String, baseline::Node>,
    pub(crate) datasets: Memo<String, dataset::Node>,
    pub(crate) samples: Memo<Digest, Content>,
    pub(crate) binary: Memo<(), binary::Node>,
    pub(crate) templates: Memo<String, Templates>,
    /// The steps that this machine made itself.
    pub(crate) made: Mutex<Vec<Key>>,
}

impl Context<'_> {
    pub fn root(&self) -> &Utf8Path {
        &self.workspace.root
    }

    /// A recorder of what a task is made from.
    pub fn recorder(&self) -> Recorder<'_> {
        Recorder::new(self.root(), self.cache).avoiding(self.workspace.made())
    }

    /// The result of a step, if it was made before, here or on another machine.
    pub fn known<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        self.store.step(key).or_else(|| depot::take(self.depot?, self.store, key))
    }

    /// Remembers the result of a step that was made here.
    pub fn keep<T: Serialize>(&self, key: &Key, result: &T) -> Result<()> {
        self.store.remember(key, result)?;
        self.shared.made.lock().unwrap_or_else(PoisonError::into_inner).push(key.clone());
        Ok(())
    }

    /// Refuses to make something when the build only looks: its absence alone says that the task is not up to date.
    pub fn may_make(&self, what: &str) -> Result<()> {
        self.observer.working(what);
        if self.look_only { Err(Error::stale(what)) } else { Ok(()) }
    }

    /// Ends a build that was asked to stop.
    pub fn check_stop(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::interrupted()) } else { Ok(()) }
    }

    /// Marks the boundary between two steps: here a build that was asked to stop does.
    pub fn boundary(&self, boundary: Boundary) -> Result<()> {
        self.observer.boundary(boundary);
        self.check_stop()
    }
}

/// Results by key, each made once even if several threads ask at the same time.
///
/// What makes a result must not itself wait for the thread pool, or a waiting thread could hold up the one it waits for.
pub struct Memo<K, V> {
    cells: Mutex<HashMap<K, Cell<V>>>,
}

/// A result that is made by whoever comes first.
type Cell<V> = Arc<OnceLock<Result<Arc<V>>>>;

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self { cells: Mutex::default() }
    }
}

impl<K: Eq + Hash + Clone, V> Memo<K, V> {
    /// The result for a key, made now if nobody has made it yet.
    pub fn get(&self, key: &K, make: impl FnOnce() -> Result<V>) -> Result<Arc<V>> {
        let cell = {
            let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(cells.entry(key.clone()).or_default())
        };
        cell.get_or_init(|| make().map(Arc::new)).clone()
    }

    /// All results that were made well.
    #[expect(clippy::disallowed_methods, reason = "whoever asks puts them in order")]
    pub fn made(&self) -> Vec<(K, Arc<V>)> {
        let cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        cells
            .iter()
            .filter_map(|(key, cell)| Some((key.clone(), Arc::clone(cell.get()?.as_ref().ok()?))))
            .collect()
    }
}
