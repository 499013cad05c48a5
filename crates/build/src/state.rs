//! The state file: what the last build read and wrote, so that the next one can tell by `lstat` that nothing changed.
//!
//! It only ever saves work. One that is missing, torn or of another version counts as empty, and one that other sources
//! wrote is only good for explanations.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;
use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::error::Result;
use crate::inputs::Group;
use crate::key::Key;
use crate::lock::LockEntry;
use crate::publish::{Outputs, OutputsView};
use crate::stat::Stat;
use crate::workspace::replace_with;

/// The first bytes of a state file; the number is raised when the format changes.
const MAGIC: &[u8] = b"taskwright state 1\n";

/// Identifies the sources that decide what a task directory holds.
pub const GENERATOR: &str = env!("TASKWRIGHT_GENERATOR");

/// What the last build read and wrote.
#[derive(Debug, Default)]
pub struct State {
    /// Each spec by its path.
    pub specs: BTreeMap<Utf8PathBuf, Arc<SpecRecord>>,
    /// Each task by its name.
    pub tasks: BTreeMap<String, Arc<TaskRecord>>,
    /// What baselines were made from, by their identity.
    pub baselines: BTreeMap<String, NodeRecord>,
    /// What the binary was made from.
    pub binary: Option<NodeRecord>,
    /// The lock as it was written.
    pub lock: Option<Stat>,
    /// Whether other sources than these wrote it: then it explains a rebuild, but spares none.
    pub is_foreign: bool,
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

/// What there is to remember of a task that was built or found to be right.
#[derive(Debug)]
pub struct Built {
    /// The digest of the `--set` arguments.
    pub set: Digest,
    /// What it was made from, its spec included.
    pub groups: Vec<Arc<Group>>,
    /// What was written.
    pub outputs: Outputs,
    /// Everything that it depends on.
    pub key: Key,
    /// Its entry in the lock.
    pub lock: LockEntry,
}

/// A shared result.
#[derive(Debug, Clone)]
pub struct NodeRecord {
    /// What it was made from.
    pub group: Arc<Group>,
    /// Its key, by which the store has the result.
    pub key: Key,
}

/// Encoded bytes, which may be a part of a state file that was read.
#[derive(Debug, Clone)]
struct Section {
    bytes: Arc<[u8]>,
    range: Range<usize>,
}

impl Section {
    fn new(value: &impl Serialize) -> Self {
        let bytes: Arc<[u8]> = encode(value).into();
        Self { range: 0..bytes.len(), bytes }
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[self.range.clone()]
    }
}

#[derive(Serialize, Deserialize)]
struct Header {
    generator: String,
    groups: usize,
    /// For each spec its path, its group, the digest of its `--set` arguments and its tasks.
    specs: Vec<(Utf8PathBuf, usize, Digest, Vec<String>)>,
    /// For each task its name, the digest of its `--set` arguments and its groups.
    tasks: Vec<(String, Digest, Vec<usize>)>,
    baselines: Vec<(String, usize, Key)>,
    binary: Option<(usize, Key)>,
    lock: Option<Stat>,
}

/// How many sections follow the groups for each task: outputs, lock entry, key.
const TASK_SECTIONS: usize = 3;

impl TaskRecord {
    /// A record that is saved at `now`.
    pub fn new(built: Built, now: SystemTime) -> Self {
        let Built { set, groups, outputs, key, lock } = built;
        let outputs = Section::new(&outputs.settled(now));
        Self { set, groups, outputs, lock: Section::new(&lock), key: Section::new(&key) }
    }

    /// What was written.
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

    /// Its entry in the lock.
    pub fn lock(&self) -> Option<LockEntry> {
        decode(self.lock.as_slice())
    }
}

impl State {
    /// Reads a state file; anything that is not a whole one of this version is as none.
    pub fn load(path: &Utf8Path) -> Self {
        fs::read(path).ok().and_then(|bytes| Self::parse(&bytes.into())).unwrap_or_default()
    }

    fn parse(bytes: &Arc<[u8]>) -> Option<Self> {
        let sections = sections(bytes)?;
        let (header, rest) = sections.split_first()?;
        let header: Header = decode(&bytes[header.clone()])?;
        if rest.len() != header.groups + TASK_SECTIONS * header.tasks.len() {
            return None;
        }
        let (groups, tasks) = rest.split_at(header.groups);
        let groups: Vec<Arc<Group>> = groups
            .par_iter()
            .map(|range| decode::<Group>(&bytes[range.clone()]).map(Arc::new))
            .collect::<Option<_>>()?;
        let group = |index: usize| groups.get(index).cloned();
        let section = |range: &Range<usize>| Section { bytes: Arc::clone(bytes), range: range.clone() };
        let tasks = header
            .tasks
            .into_iter()
            .zip(tasks.chunks(TASK_SECTIONS))
            .map(|((name, set, used), parts)| {
                let groups = used.into_iter().map(group).collect::<Option<_>>()?;
                let (outputs, lock, key) = (section(&parts[0]), section(&parts[1]), section(&parts[2]));
                Some((name, Arc::new(TaskRecord { set, groups, outputs, lock, key })))
            })
            .collect::<Option<_>>()?;
        let specs = header
            .specs
            .into_iter()
            .map(|(path, index, set, tasks)| {
                Some((path, Arc::new(SpecRecord { group: group(index)?, set, tasks })))
            })
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
        let is_foreign = header.generator != GENERATOR;
        Some(Self { specs, tasks, baselines, binary, lock: header.lock, is_foreign })
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
                .map(|(name, task)| (name.clone(), task.set, task.groups.iter().map(find).collect()))
                .collect(),
            baselines: self
                .baselines
                .iter()
                .map(|(id, node)| (id.clone(), find(&node.group), node.key.clone()))
                .collect(),
            binary: self.binary.as_ref().map(|node| (find(&node.group), node.key.clone())),
            lock: self.lock,
        };
        let groups: Vec<_> = groups.par_iter().map(|group| encode(group.as_ref())).collect();
        // Piece by piece: copying megabytes together first would take as long as writing them.
        replace_with(path, |out| {
            out.write_all(MAGIC)?;
            write_section(out, &encode(&header))?;
            for group in &groups {
                write_section(out, group)?;
            }
            for task in self.tasks.values() {
                for section in [&task.outputs, &task.lock, &task.key] {
                    write_section(out, section.as_slice())?;
                }
            }
            Ok(())
        })
    }
}

fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    // Writing to memory cannot fail, and none of our types refuses to be written.
    postcard::to_stdvec(value).unwrap_or_default()
}

fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}

fn write_section(out: &mut dyn Write, section: &[u8]) -> io::Result<()> {
    out.write_all(&(section.len() as u64).to_le_bytes())?;
    out.write_all(section)
}

/// Where the sections of a state file are.
fn sections(bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    bytes.strip_prefix(MAGIC)?;
    let mut sections = Vec::new();
    let mut at = MAGIC.len();
    while at < bytes.len() {
        let length = bytes.get(at..)?.first_chunk::<8>()?;
        let start = at + length.len();
        let end = start.checked_add(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        bytes.get(start..end)?;
        sections.push(start..end);
        at = end;
    }
    Some(sections)
}
