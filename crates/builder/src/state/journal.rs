//! The state file's format: chapters, of which the first says everything and each later one what was changed since.
//!
//! A build that changed one task among thousands writes some kilobytes. A chapter that is cut short is as none, and is
//! overwritten by the next build, which then says everything again; so it does when the changes have become long.

use std::collections::{BTreeMap, HashMap};
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::sync::Arc;

use camino::Utf8Path;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::codec::{decode, encode};
use super::{Filed, NodeRecord, Section, SpecRecord, State, TASK_SECTIONS, TaskRecord};
use crate::error::advised;
use crate::error::failed;
use crate::inputs::Group;
use crate::key::GENERATOR;
use crate::key::Key;
use taskwright_base::Digest;
use taskwright_base::Result;
use taskwright_base::stamp::Stamp;
use taskwright_base::write::{Durable, atomic_with};

/// The first bytes of a state file; the number is raised when the format changes.
const MAGIC: &[u8] = b"taskwright state 3\n";
/// Changes that are longer than one part in so many of the whole are not added to.
const SHARE: u64 = 4;

/// What a chapter changes. Groups are numbered through all chapters; what has no value any more is gone.
#[derive(Serialize, Deserialize)]
struct Head {
    generator: String,
    /// How many groups are new.
    groups: usize,
    specs: Vec<(String, Option<Spec>)>,
    tasks: Vec<(String, Option<Task>)>,
    baselines: Vec<(String, Option<Node>)>,
    binary: Option<Node>,
    lock: Option<Stamp>,
}

/// A spec's record, its group by number.
#[derive(Serialize, Deserialize)]
struct Spec {
    group: usize,
    set: Digest,
    tasks: Vec<String>,
    warns: bool,
}

/// A task's record, its groups by number and its sections elsewhere.
#[derive(Serialize, Deserialize)]
struct Task {
    set: Digest,
    groups: Vec<usize>,
}

/// A shared result's record, its group by number.
#[derive(Serialize, Deserialize)]
struct Node {
    group: usize,
    key: Key,
}

/// Reads a state file; none if there is not even one whole chapter.
pub(super) fn read(bytes: &Arc<Vec<u8>>) -> Option<State> {
    let mut state = State::default();
    let mut groups = Vec::new();
    let mut length = bytes.strip_prefix(MAGIC).map(|_| MAGIC.len())?;
    let mut first = None;
    while let Some(chapter) = section(bytes, length) {
        length = chapter.end;
        apply(bytes, chapter, &mut state, &mut groups)?;
        first.get_or_insert(length);
    }
    let changes = (length - first?) as u64;
    if length == bytes.len() && !state.is_foreign {
        state.filed = Some(Filed { groups, length: length as u64, changes });
    }
    Some(state)
}

/// Applies the chapter that stands at a place.
fn apply(
    bytes: &Arc<Vec<u8>>,
    chapter: Range<usize>,
    state: &mut State,
    groups: &mut Vec<Arc<Group>>,
) -> Option<()> {
    let mut sections = Vec::new();
    let mut at = chapter.start;
    while at < chapter.end {
        let section = section(&bytes[..chapter.end], at)?;
        at = section.end;
        sections.push(section);
    }
    let (head, rest) = sections.split_first()?;
    let head: Head = decode(&bytes[head.clone()])?;
    let (fresh, mut rest) = rest.split_at_checked(head.groups)?;
    let fresh = fresh.par_iter().map(|range| decode::<Group>(&bytes[range.clone()]).map(Arc::new));
    groups.extend(fresh.collect::<Option<Vec<_>>>()?);
    let group = |index: usize| groups.get(index).cloned();
    let node = |node: Node| Some(NodeRecord { group: group(node.group)?, key: node.key });
    for (name, task) in head.tasks {
        let Some(Task { set, groups }) = task else {
            state.tasks.remove(&name);
            continue;
        };
        let (parts, others) = rest.split_first_chunk::<TASK_SECTIONS>()?;
        rest = others;
        let [outputs, lock, key] = parts.clone().map(|range| Section { bytes: Arc::clone(bytes), range });
        let groups = groups.into_iter().map(group).collect::<Option<_>>()?;
        state.tasks.insert(name, Arc::new(TaskRecord { set, groups, outputs, lock, key }));
    }
    for (path, spec) in head.specs {
        match spec {
            Some(Spec { group: number, set, tasks, warns }) => {
                state.specs.insert(path, Arc::new(SpecRecord { group: group(number)?, set, tasks, warns }))
            }
            None => state.specs.remove(&path),
        };
    }
    for (id, baseline) in head.baselines {
        match baseline {
            Some(baseline) => state.baselines.insert(id, node(baseline)?),
            None => state.baselines.remove(&id),
        };
    }
    state.binary = match head.binary {
        Some(binary) => Some(node(binary)?),
        None => None,
    };
    state.lock = head.lock;
    state.is_foreign = head.generator != GENERATOR;
    rest.is_empty().then_some(())
}

/// Where the section is whose length stands at a place.
fn section(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let length = bytes.get(at..)?.first_chunk::<8>()?;
    let start = at + length.len();
    let end = start.checked_add(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    bytes.get(start..end)?;
    Some(start..end)
}

/// Writes what is different from the state that was read from the file: behind the rest, or everything anew.
pub(super) fn write(path: &Utf8Path, old: &State, new: &State) -> Result<()> {
    if let Some(filed) = &old.filed {
        let chapter = Chapter::between(old, &filed.groups, new);
        let changes = filed.changes + chapter.length();
        if changes <= (filed.length - filed.changes) / SHARE {
            return chapter.append(path);
        }
    }
    let chapter = Chapter::between(&State::default(), &[], new);
    // Piece by piece: copying megabytes together first would take as long as writing them.
    atomic_with(path, Durable::No, |out| {
        out.write_all(MAGIC)?;
        chapter.write(out)
    })
    .map_err(advised)
}

/// A chapter to be written.
struct Chapter<'a> {
    head: Vec<u8>,
    groups: Vec<Vec<u8>>,
    tasks: Vec<&'a TaskRecord>,
}

impl<'a> Chapter<'a> {
    /// What is different; records that both states share are the same.
    fn between(old: &State, groups: &[Arc<Group>], new: &'a State) -> Self {
        let mut numbers = Numbers::new(groups);
        let specs = changes(&old.specs, &new.specs, Arc::ptr_eq);
        let tasks = changes(&old.tasks, &new.tasks, Arc::ptr_eq);
        let baselines = changes(&old.baselines, &new.baselines, |old, new| {
            Arc::ptr_eq(&old.group, &new.group) && old.key == new.key
        });
        let mut node = |node: &NodeRecord| Node { group: numbers.of(&node.group), key: node.key.clone() };
        let baselines = baselines.into_iter().map(|(id, change)| (id, change.map(&mut node))).collect();
        let binary = new.binary.as_ref().map(node);
        let mut spec = |spec: &Arc<SpecRecord>| Spec {
            group: numbers.of(&spec.group),
            set: spec.set,
            tasks: spec.tasks.clone(),
            warns: spec.warns,
        };
        let specs = specs.into_iter().map(|(path, change)| (path, change.map(&mut spec))).collect();
        let mut task = |task: &Arc<TaskRecord>| Task {
            set: task.set,
            groups: task.groups.iter().map(|group| numbers.of(group)).collect(),
        };
        let heads = tasks.iter().map(|(name, change)| (name.clone(), change.map(&mut task))).collect();
        let head = Head {
            generator: GENERATOR.to_owned(),
            groups: numbers.fresh.len(),
            specs,
            tasks: heads,
            baselines,
            binary,
            lock: new.lock,
        };
        Self {
            head: encode(&head),
            groups: numbers.fresh.par_iter().map(|group| encode(group.as_ref())).collect(),
            tasks: tasks.into_iter().filter_map(|(_, task)| Some(task?.as_ref())).collect(),
        }
    }

    fn sections(&self) -> impl Iterator<Item = &[u8]> {
        let tasks = self.tasks.iter().flat_map(|task| task.sections()).map(Section::as_slice);
        [&self.head].into_iter().chain(&self.groups).map(Vec::as_slice).chain(tasks)
    }

    /// How many bytes it takes.
    fn length(&self) -> u64 {
        self.sections().map(|section| (size_of::<u64>() + section.len()) as u64).sum()
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.length().to_le_bytes())?;
        for section in self.sections() {
            out.write_all(&(section.len() as u64).to_le_bytes())?;
            out.write_all(section)?;
        }
        Ok(())
    }

    /// Writes it behind what a state file holds.
    fn append(&self, path: &Utf8Path) -> Result<()> {
        let file = OpenOptions::new().append(true).open(path).map_err(failed("opening", path))?;
        let mut out = BufWriter::new(file);
        self.write(&mut out).and_then(|()| out.flush()).map_err(failed("writing", path))
    }
}

/// What is new or different in `new`, and, without a value, what is gone.
fn changes<'a, K: Ord + Clone, V>(
    old: &BTreeMap<K, V>,
    new: &'a BTreeMap<K, V>,
    is_same: impl Fn(&V, &V) -> bool,
) -> Vec<(K, Option<&'a V>)> {
    let gone = old.keys().filter(|key| !new.contains_key(key)).map(|key| (key.clone(), None));
    let different = new
        .iter()
        .filter(|(key, value)| !old.get(key).is_some_and(|old| is_same(old, value)))
        .map(|(key, value)| (key.clone(), Some(value)));
    gone.chain(different).collect()
}

/// The numbers of groups, and those that have none in the file yet.
struct Numbers {
    numbers: HashMap<*const Group, usize>,
    fresh: Vec<Arc<Group>>,
}

impl Numbers {
    fn new(filed: &[Arc<Group>]) -> Self {
        let numbers = filed.iter().enumerate().map(|(number, group)| (Arc::as_ptr(group), number)).collect();
        Self { numbers, fresh: Vec::new() }
    }

    fn of(&mut self, group: &Arc<Group>) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(Arc::as_ptr(group)).or_insert_with(|| {
            self.fresh.push(Arc::clone(group));
            next
        })
    }
}
