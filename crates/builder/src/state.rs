//! The state file: what the last build read and wrote, so that the next one can tell by `lstat` that nothing changed.
//!
//! It only ever saves work. One that is missing, torn or of another version counts as empty, and one that other sources
//! wrote is only good for explanations.

mod codec;
mod journal;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use camino::Utf8Path;
use serde::Serialize;

use self::codec::{decode, encode};
use crate::inputs::Group;
use crate::key::Key;
use crate::publish::{Outputs, OutputsView};
use taskwright_base::Digest;
use taskwright_base::Result;
use taskwright_base::stamp::Stamp;

/// What the last build read and wrote.
#[derive(Debug, Default)]
pub struct State {
    /// Each spec by its path, as text: paths are compared name by name, which takes ten times as long.
    pub specs: BTreeMap<String, Arc<SpecRecord>>,
    /// Each task by its name.
    pub tasks: BTreeMap<String, Arc<TaskRecord>>,
    /// What baselines were made from, by their identity.
    pub baselines: BTreeMap<String, NodeRecord>,
    /// What the binary was made from.
    pub binary: Option<NodeRecord>,
    /// The lock as it was written.
    pub lock: Option<Stamp>,
    /// Whether other sources than these wrote it: then it explains a rebuild, but spares none.
    pub is_foreign: bool,
    /// The file that it was read from, as far as it can be written on.
    filed: Option<Filed>,
}

/// A state file that was read.
#[derive(Debug)]
struct Filed {
    /// The groups in it, in its order.
    groups: Vec<Arc<Group>>,
    length: u64,
    /// How many of them say what was changed since it was written whole.
    changes: u64,
}

/// A spec that was loaded.
#[derive(Debug, PartialEq)]
pub struct SpecRecord {
    /// The spec and its parents.
    pub group: Arc<Group>,
    /// The digest of the `--set` arguments it was loaded with.
    pub set: Digest,
    /// The names of its tasks.
    pub tasks: Vec<String>,
    /// Whether something in it is doubtful, and is said at each build.
    pub warns: bool,
}

/// A task that was built.
///
/// Its parts stay encoded until somebody asks: most builds only look at the outputs of most tasks, and write the rest
/// back as it was.
#[derive(Debug)]
pub struct TaskRecord {
    /// The digest of the `--set` arguments it was built with.
    pub set: Digest,
    /// What it was made from, its spec included, in groups that other tasks share.
    pub groups: Vec<Arc<Group>>,
    outputs: Section,
    lock: Section,
    key: Section,
}

/// How many sections a task has.
const TASK_SECTIONS: usize = 3;

/// What there is to remember of a task that was built or found to be right.
#[derive(Debug)]
pub struct Built {
    /// The digest of the `--set` arguments.
    pub set: Digest,
    /// What it was made from, its spec included.
    pub groups: Vec<Arc<Group>>,
    pub outputs: Outputs,
    /// Everything that it depends on, encoded: the keys of many tasks would fill the memory otherwise.
    pub key: Section,
    /// Its lines in the lock.
    pub lock: String,
}

#[derive(Debug, Clone)]
pub struct NodeRecord {
    /// What it was made from.
    pub group: Arc<Group>,
    /// Its key, by which the store has the result.
    pub key: Key,
}

/// Encoded bytes, which may be a part of a state file that was read.
#[derive(Debug, Clone)]
pub struct Section {
    bytes: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Section {
    pub fn new(value: &impl Serialize) -> Self {
        Self::of(encode(value))
    }

    fn of(bytes: Vec<u8>) -> Self {
        Self { range: 0..bytes.len(), bytes: Arc::new(bytes) }
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

impl TaskRecord {
    /// A record that is saved at `now`.
    pub fn new(built: Built, now: SystemTime) -> Self {
        let Built { set, groups, outputs, key, lock } = built;
        let outputs = Section::new(&outputs.settled(now));
        Self { set, groups, outputs, lock: Section::of(lock.into_bytes()), key }
    }

    pub fn outputs(&self) -> Option<Outputs> {
        decode(self.outputs.as_slice())
    }

    /// Whether the outputs in a folder look as they were written.
    pub fn is_untouched(&self, folder: &Utf8Path) -> bool {
        // Borrowed: nothing is copied for what is looked at once.
        decode::<OutputsView<'_>>(self.outputs.as_slice()).is_some_and(|outputs| outputs.is_untouched(folder))
    }

    /// Everything that the task depended on when it was built.
    pub fn key(&self) -> Option<Key> {
        decode(self.key.as_slice())
    }

    /// Its lines in the lock.
    pub fn lock(&self) -> Option<&str> {
        str::from_utf8(self.lock.as_slice()).ok()
    }

    fn sections(&self) -> [&Section; TASK_SECTIONS] {
        [&self.outputs, &self.lock, &self.key]
    }
}

impl State {
    /// Reads a state file; anything that is not a whole one of this version is as none.
    pub fn load(path: &Utf8Path) -> Self {
        fs::read(path).ok().and_then(|bytes| journal::read(&Arc::new(bytes))).unwrap_or_default()
    }

    /// Writes what is different from `old`, which is the state as it was loaded from this file. A build that is killed
    /// meanwhile leaves the old state or the new.
    pub fn save(&self, old: &Self, path: &Utf8Path) -> Result<()> {
        journal::write(path, old, self)
    }

    /// Drops baselines that no task is made from any more.
    pub fn forget_unused_nodes(&mut self) {
        let used: HashSet<*const Group> =
            self.tasks.values().flat_map(|task| task.groups.iter().map(Arc::as_ptr)).collect();
        self.baselines.retain(|_, node| used.contains(&Arc::as_ptr(&node.group)));
    }

    /// Every group once, in a stable order.
    pub fn groups(&self) -> Vec<Arc<Group>> {
        let mut seen = HashSet::new();
        let nodes = self.baselines.values().chain(&self.binary).map(|node| &node.group);
        let specs = self.specs.values().map(|spec| &spec.group);
        let tasks = self.tasks.values().flat_map(|task| &task.groups);
        nodes.chain(specs).chain(tasks).filter(|group| seen.insert(Arc::as_ptr(group))).cloned().collect()
    }
}
