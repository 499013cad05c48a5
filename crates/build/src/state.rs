//! The state file: what the last build read and wrote, so that the next one can tell by `lstat` that nothing changed.
//!
//! It only ever saves work. One that is missing, torn, of another version or written by other sources counts as empty.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::error::Result;
use crate::inputs::Group;
use crate::key::Key;
use crate::lock::LockEntry;
use crate::publish::Outputs;
use crate::stat::Stat;
use crate::workspace::replace;

/// The first bytes of a state file; the number is raised when the format changes.
const MAGIC: &[u8] = b"taskwright state 1\n";

/// Identifies the sources that decide what a task directory holds.
pub const GENERATOR: &str = env!("TASKWRIGHT_GENERATOR");

/// What the last build read and wrote.
#[derive(Debug, Default)]
pub struct State {
    /// Each spec by its path.
    pub specs: BTreeMap<Utf8PathBuf, SpecRecord>,
    /// Each task by its name.
    pub tasks: BTreeMap<String, TaskRecord>,
    /// What baselines were made from, by their identity.
    pub baselines: BTreeMap<String, NodeRecord>,
    /// What the binary was made from.
    pub binary: Option<NodeRecord>,
    /// The lock as it was written.
    pub lock: Option<Stat>,
}

/// A spec that was loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct SpecRecord {
    /// The spec and its parents.
    pub group: Arc<Group>,
    /// The digest of the `--set` arguments it was loaded with.
    pub set: Digest,
    /// The names of its tasks.
    pub tasks: Vec<String>,
}

/// A task that was built.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRecord {
    /// What it was made from, in groups that other tasks share.
    pub groups: Vec<Arc<Group>>,
    /// What was written.
    pub outputs: Outputs,
    /// Its entry in the lock, kept encoded until a lock is written.
    lock: Vec<u8>,
    /// Everything that it depends on, kept encoded until it has to be built.
    key: Vec<u8>,
}

/// A shared result.
#[derive(Debug, Clone)]
pub struct NodeRecord {
    /// What it was made from.
    pub group: Arc<Group>,
    /// Its key, by which the store has the result.
    pub key: Key,
}

#[derive(Serialize, Deserialize)]
struct Header {
    generator: String,
    groups: usize,
    /// For each spec its path, its group, the digest of its `--set` arguments and its tasks.
    specs: Vec<(Utf8PathBuf, usize, Digest, Vec<String>)>,
    /// For each task its name and its groups.
    tasks: Vec<(String, Vec<usize>)>,
    baselines: Vec<(String, usize, Key)>,
    binary: Option<(usize, Key)>,
    lock: Option<Stat>,
}

/// How many sections follow the groups for each task: outputs, lock entry, key.
const TASK_SECTIONS: usize = 3;

impl TaskRecord {
    /// A record.
    pub fn new(groups: Vec<Arc<Group>>, outputs: Outputs, key: &Key, lock: &LockEntry) -> Self {
        Self { groups, outputs, lock: encode(lock), key: encode(key) }
    }

    /// Everything that the task depended on when it was built.
    pub fn key(&self) -> Option<Key> {
        decode(&self.key)
    }

    /// Its entry in the lock.
    pub fn lock(&self) -> Option<LockEntry> {
        decode(&self.lock)
    }
}

impl State {
    /// Reads a state file; anything that is not a whole one of this version is as none.
    pub fn load(path: &Utf8Path) -> Self {
        fs::read(path).ok().and_then(|bytes| Self::parse(&bytes)).unwrap_or_default()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let sections = sections(bytes.strip_prefix(MAGIC)?)?;
        let (header, rest) = sections.split_first()?;
        let header: Header = decode(header)?;
        if header.generator != GENERATOR || rest.len() != header.groups + TASK_SECTIONS * header.tasks.len() {
            return None;
        }
        let (groups, tasks) = rest.split_at(header.groups);
        let groups: Vec<Arc<Group>> =
            groups.par_iter().map(|bytes| decode::<Group>(bytes).map(Arc::new)).collect::<Option<_>>()?;
        let group = |index: usize| groups.get(index).cloned();
        let named: Vec<_> = header.tasks.into_iter().zip(tasks.chunks(TASK_SECTIONS)).collect();
        let tasks = named
            .into_par_iter()
            .map(|((name, used), parts)| {
                let groups = used.into_iter().map(group).collect::<Option<_>>()?;
                let record = TaskRecord {
                    groups,
                    outputs: decode(parts[0])?,
                    lock: parts[1].to_vec(),
                    key: parts[2].to_vec(),
                };
                Some((name, record))
            })
            .collect::<Option<_>>()?;
        let specs = header
            .specs
            .into_iter()
            .map(|(path, index, set, tasks)| Some((path, SpecRecord { group: group(index)?, set, tasks })))
            .collect::<Option<_>>()?;
        let baselines = header
            .baselines
            .into_iter()
            .map(|(id, index, key)| Some((id, NodeRecord { group: group(index)?, key })))
            .collect::<Option<_>>()?;
        let binary = match header.binary {
            Some((index, key)) => Some(NodeRecord { group: group(index)?, key }),
            None => None,
        };
        Some(Self { specs, tasks, baselines, binary, lock: header.lock })
    }

    /// Every group once, in a stable order.
    pub fn groups(&self) -> Vec<Arc<Group>> {
        let mut seen = HashSet::new();
        let nodes = self.baselines.values().chain(&self.binary).map(|node| &node.group);
        let specs = self.specs.values().map(|spec| &spec.group);
        let tasks = self.tasks.values().flat_map(|task| &task.groups);
        nodes.chain(specs).chain(tasks).filter(|group| seen.insert(Arc::as_ptr(group))).cloned().collect()
    }

    /// Writes the state file, whole or not at all.
    pub fn save(&self, path: &Utf8Path) -> Result<()> {
        let groups = self.groups();
        let index: HashMap<*const Group, usize> =
            groups.iter().enumerate().map(|(index, group)| (Arc::as_ptr(group), index)).collect();
        // Every group that is asked for is one of those collected above.
        let find = |group: &Arc<Group>| index.get(&Arc::as_ptr(group)).copied().unwrap_or_default();
        let header = Header {
            generator: GENERATOR.to_owned(),
            groups: groups.len(),
            specs: self
                .specs
                .iter()
                .map(|(path, spec)| (path.clone(), find(&spec.group), spec.set, spec.tasks.clone()))
                .collect(),
            tasks: self
                .tasks
                .iter()
                .map(|(name, task)| (name.clone(), task.groups.iter().map(find).collect()))
                .collect(),
            baselines: self
                .baselines
                .iter()
                .map(|(id, node)| (id.clone(), find(&node.group), node.key.clone()))
                .collect(),
            binary: self.binary.as_ref().map(|node| (find(&node.group), node.key.clone())),
            lock: self.lock,
        };
        let mut bytes = MAGIC.to_vec();
        push(&mut bytes, &encode(&header));
        let groups: Vec<_> = groups.par_iter().map(|group| encode(group.as_ref())).collect();
        groups.iter().for_each(|group| push(&mut bytes, group));
        let outputs: Vec<_> = self.tasks.par_iter().map(|(_, task)| encode(&task.outputs)).collect();
        for (outputs, task) in outputs.iter().zip(self.tasks.values()) {
            push(&mut bytes, outputs);
            push(&mut bytes, &task.lock);
            push(&mut bytes, &task.key);
        }
        replace(path, &bytes)
    }
}

fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    // Writing to memory cannot fail, and none of our types refuses to be written.
    postcard::to_stdvec(value).unwrap_or_default()
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}

fn push(bytes: &mut Vec<u8>, section: &[u8]) {
    bytes.extend_from_slice(&(section.len() as u64).to_le_bytes());
    bytes.extend_from_slice(section);
}

fn sections(mut bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let mut sections = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (section, rest) = rest.split_at_checked(length)?;
        sections.push(section);
        bytes = rest;
    }
    Some(sections)
}
