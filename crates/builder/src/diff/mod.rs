//! What changed between two locks, in words of the spec, and what that means to earlier trials.
//!
//! A lock says which part of a task is another; what changed in a spec is said by the specs themselves, then and now, as far as
//! their digests show them to be those that the lock is of.

mod parts;
mod past;

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;
use serde::Serialize;
use serde_json::Value;
use taskwright_harbor::change::Level;
use taskwright_harbor::digest::{TOP_FILES, TOP_FOLDERS};
use taskwright_language::{LoadedSpec, Spec};

pub use self::parts::Part;
pub use self::past::Past;
use crate::descriptions::TASK;
use crate::engine::described::{self, Described};
use crate::key::Change;
use crate::lock::{Lock, LockEntry};
use crate::steps::assemble::digest_of_spec;
use crate::workspace::Workspace;
use taskwright_base::Result;

/// What became of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum Fate {
    /// It was not there before.
    Came {
        /// Its version, if it says one.
        version: Option<String>,
    },
    /// It is not there any more.
    Went {
        /// Its version, if it said one.
        version: Option<String>,
    },
    /// It is another.
    Changed(Changed),
}

/// How a task changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Its version before.
    pub old_version: Option<String>,
    /// Its version now.
    pub new_version: Option<String>,
    /// The level of what changed; none where Harbor sees no change in it.
    pub level: Option<Level>,
    /// What changed. Nothing, where only the version did.
    pub parts: Vec<PartChange>,
}

/// A part that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartChange {
    /// The part.
    pub part: Part,
    /// What its change means to earlier trials; none: nothing.
    pub level: Option<Level>,
    /// The keys that are others, as far as that can be told.
    pub keys: Vec<Change>,
    /// The files that are others, as far as they were looked at.
    pub files: Vec<String>,
    /// What could not be told, and why.
    pub note: Option<String>,
}

impl PartChange {
    fn of(part: Part) -> Self {
        Self { part, level: part.meaning(), keys: Vec::new(), files: Vec::new(), note: None }
    }
}

/// What became of each task that is not what it was, by name. The workspace is compared as its lock says it is.
///
/// # Errors
/// The lock cannot be read, or git failed.
pub fn differences(workspace: &Workspace, past: &Past) -> Result<BTreeMap<String, Fate>> {
    let now = Lock::read(&workspace.lock_file())?.unwrap_or_default();
    let names: BTreeSet<&String> = past.lock.tasks.keys().chain(now.tasks.keys()).collect();
    let changed = |name: &&String| past.lock.tasks.get(*name) != now.tasks.get(*name);
    let names: Vec<&String> = names.into_iter().filter(changed).collect();
    let both = |name: &&&String| past.lock.tasks.contains_key(**name) && now.tasks.contains_key(**name);
    let specs =
        if names.iter().any(|name| both(&name)) { Specs::read(workspace, past)? } else { Specs::default() };
    let mut fates = BTreeMap::new();
    for name in names {
        let fate = match (past.lock.tasks.get(name), now.tasks.get(name)) {
            (None, Some(new)) => Fate::Came { version: new.version.clone() },
            (Some(old), None) => Fate::Went { version: old.version.clone() },
            (Some(old), Some(new)) => Fate::Changed(specs.changed(past, name, old, new)?),
            (None, None) => continue,
        };
        fates.insert(name.clone(), fate);
    }
    Ok(fates)
}

/// What describes the tasks, then and now.
#[derive(Default)]
struct Specs {
    then: BTreeMap<String, Spec>,
    now: BTreeMap<String, Described>,
}

impl Specs {
    fn read(workspace: &Workspace, past: &Past) -> Result<Self> {
        let then = past.commit().map(past::Commit::specs).transpose()?.unwrap_or_default();
        Ok(Self { then, now: described::all(workspace)? })
    }

    fn changed(&self, past: &Past, name: &str, old: &LockEntry, new: &LockEntry) -> Result<Changed> {
        let mut parts: BTreeMap<Part, PartChange> = BTreeMap::new();
        let entry = |entry: &LockEntry| serde_json::to_value(entry).unwrap_or_default();
        let (before, after) = (entry(old), entry(new));
        let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
        let labels: BTreeSet<String> =
            fields(&before).into_iter().chain(fields(&after)).map(|(label, _)| label).collect();
        for label in labels {
            let (old, new) =
                (before.get(&label).unwrap_or(&Value::Null), after.get(&label).unwrap_or(&Value::Null));
            let Some(part) = Part::of(&label).filter(|_| old != new) else { continue };
            let mut change = PartChange::of(part);
            if part == Part::Images {
                change.level = images(old, new);
            }
            parts.entry(part).or_insert(change);
        }
        let now = self.now.get(name);
        if let (Some(change), Some(Described::Spec(now))) = (parts.get_mut(&Part::Spec), now) {
            self.spec(change, past, name, old, new, now);
        } else if let Some(change) = parts.get_mut(&Part::Spec) {
            change.note = Some("its keys cannot be told: the spec cannot be read now".to_owned());
        }
        if old.tree != new.tree {
            self.files(&mut parts, past, name)?;
        }
        let is_same = old.harbor == new.harbor;
        let level = parts.values().filter_map(|part| part.level).max().filter(|_| !is_same);
        Ok(Changed {
            old_version: old.version.clone(),
            new_version: new.version.clone(),
            level,
            parts: parts.into_values().collect(),
        })
    }

    /// Which keys of a spec are others.
    fn spec(
        &self,
        change: &mut PartChange,
        past: &Past,
        name: &str,
        old: &LockEntry,
        new: &LockEntry,
        now: &LoadedSpec,
    ) {
        let is_of = |spec: &Spec, entry: &LockEntry| entry.spec == Some(digest_of_spec(spec).to_string());
        let then = self.then.get(name).filter(|then| is_of(then, old));
        let (Some(then), true) = (then, is_of(&now.spec, new)) else {
            let why = if past.commit().is_none() {
                "a lock alone does not say them"
            } else if then.is_none() {
                "the spec of that revision is not the one that its lock is of, or is not understood any more"
            } else {
                "the spec is not what the lock says now: build first"
            };
            change.note = Some(format!("its keys cannot be told: {why}"));
            return;
        };
        let value = |spec: &Spec| serde_json::to_value(spec).unwrap_or_default();
        (change.keys, change.level) = parts::of_spec(&value(then), &value(&now.spec));
    }

    /// What is in a task's tree and in no entry of the lock: instruction and solution, the files of a task by hand, and what
    /// Taskwright writes.
    fn files(&self, parts: &mut BTreeMap<Part, PartChange>, past: &Past, name: &str) -> Result<()> {
        let commit = past.commit();
        match (self.now.get(name), commit) {
            (Some(Described::Spec(now)), Some(commit)) => {
                let spec = &now.spec;
                let solution = spec.solution.iter().map(|solution| (Part::Solution, solution.path.as_path()));
                for (part, path) in
                    std::iter::once((Part::Instruction, spec.instruction.file.as_path())).chain(solution)
                {
                    let files = commit.changed(path)?;
                    if !files.is_empty() {
                        let shown = |file: &camino::Utf8PathBuf| {
                            path.join(file).as_str().trim_end_matches('/').to_owned()
                        };
                        let files = files.iter().map(shown).collect();
                        parts.insert(part, PartChange { files, ..PartChange::of(part) });
                    }
                }
            }
            (Some(Described::ByHand(task)), Some(commit)) => {
                if let Some(change) = by_hand(commit, task.folder(), &commit.changed(task.folder())?) {
                    parts.insert(Part::Files, change);
                }
            }
            _ => {}
        }
        if parts.is_empty() {
            let note = "what changed in them cannot be told: the instruction, the solution, or what Taskwright writes around them";
            parts.insert(
                Part::Files,
                PartChange { note: Some(note.to_owned()), ..PartChange::of(Part::Files) },
            );
        }
        Ok(())
    }
}

/// How the files of a task by hand changed; none where git sees no change.
fn by_hand(commit: &past::Commit, folder: &Utf8Path, files: &[camino::Utf8PathBuf]) -> Option<PartChange> {
    if files.is_empty() {
        return None;
    }
    let mut change = PartChange { level: None, ..PartChange::of(Part::Files) };
    // What lies beside the task's own files is no part of it for Harbor.
    let counts = |file: &&camino::Utf8PathBuf| match file.as_str().split_once('/') {
        None => TOP_FILES.contains(&file.as_str()),
        Some((top, _)) => TOP_FOLDERS.contains(&top),
    };
    for file in files.iter().filter(counts) {
        let level = if file == TASK {
            let now = std::fs::read_to_string(commit.here(folder).join(TASK))
                .ok()
                .and_then(|text| text.parse().ok());
            let value = |table: Option<toml::Table>| {
                serde_json::to_value(table.unwrap_or_default()).unwrap_or_default()
            };
            let (keys, level) = parts::of_task_toml(&value(commit.task_toml(folder)), &value(now));
            change.keys = keys;
            level
        } else {
            parts::of_file(file.as_str())
        };
        change.level = change.level.max(level);
        change.files.push(file.to_string());
    }
    Some(change)
}

/// What other images mean: those of the verifier are graded with again, all others take new trials.
fn images(old: &Value, new: &Value) -> Option<Level> {
    let is_verifiers = |name: &str| name == "verifier";
    let [old, new] = [old, new].map(|images| images.get("digest").unwrap_or(&Value::Null));
    let differs = |name: &&String| old.get(name.as_str()) != new.get(name.as_str());
    let names = [old, new].into_iter().filter_map(Value::as_object).flat_map(|images| images.keys());
    names
        .filter(differs)
        .map(|name| if is_verifiers(name) { Level::Minor } else { Level::Major })
        .max()
        .or(Some(Level::Major))
}
