//! Mode B's inner tasks: those, and only those, that a split names, each with the digest that Harbor gives it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use taskwright_harbor::names::check_task_name;
use taskwright_harbor::phases::Phases;
use taskwright_language::model::{HarborRun, Spec};
use taskwright_language::serve::ServeInnerTask;

use super::Context;
use crate::inputs::{Group, Kind, Recorder};
use crate::tree::Tree;
use taskwright_base::digest::{Digest, Hasher};
use taskwright_base::{Error, Result};

/// The inner tasks of a spec.
pub struct InnerTasks {
    /// Each by the name of its folder.
    pub tasks: BTreeMap<String, InnerTask>,
    /// What was read to find them.
    pub group: Arc<Group>,
}

pub struct InnerTask {
    pub path: Utf8PathBuf,
    /// Its name as its own task.toml has it; the folder's name if that says nothing.
    pub name: String,
    /// Why Harbor would refuse to load it.
    refused: Option<String>,
    /// How long its trials may take.
    phases: Phases,
}

/// The inner tasks that are put into a task.
pub struct Baked {
    /// Their files, each below its folder's name.
    pub tree: Tree,
    /// What the eval sidecar has to know of each, by sample id.
    pub tasks: BTreeMap<String, ServeInnerTask>,
    /// The digest of all of them.
    pub digest: Digest,
    pub group: Arc<Group>,
}

/// As much of a task.toml as tells its name.
#[derive(Deserialize)]
struct TaskToml {
    task: Option<TaskTable>,
}

#[derive(Deserialize)]
struct TaskTable {
    name: Option<String>,
}

/// Finds the inner tasks in a folder of tasks, or in one that is a task itself.
pub fn find(context: &Context<'_>, path: &Utf8Path) -> Result<InnerTasks> {
    let at = |error: Error| error.at(&["harbor", "source", "path"]);
    let mut recorder = context.recorder();
    let mut tasks = BTreeMap::new();
    match recorder.kind(path).map_err(at)? {
        Some(Kind::Folder) => {}
        Some(_) => return Err(at(Error::new(format!("`{path}` is not a folder")))),
        None => {
            return Err(at(Error::new(format!("`{path}` does not exist"))
                .hint("it looks like a path: fetch the tasks first, or name a registry with `source = { registry = ... }`")));
        }
    }
    if recorder.kind(&path.join("task.toml")).map_err(at)?.is_some() {
        let folder = path.file_name().unwrap_or("task").to_owned();
        let task = read(&mut recorder, path, &folder).map_err(at)?;
        tasks.insert(folder, task);
    } else {
        for (folder, kind) in recorder.folder(path).map_err(at)? {
            let task = path.join(&folder);
            if kind == Kind::Folder && recorder.kind(&task.join("task.toml")).map_err(at)?.is_some() {
                let task = read(&mut recorder, &task, &folder).map_err(at)?;
                tasks.insert(folder, task);
            }
        }
    }
    if tasks.is_empty() {
        return Err(at(Error::new(format!("`{path}` holds no Harbor task")).hint(
            "a task is a folder with a task.toml; the source is such a folder, or one that holds some",
        )));
    }
    refuse_twins(&tasks).map_err(at)?;
    Ok(InnerTasks { tasks, group: Arc::new(recorder.finish()) })
}

fn read(recorder: &mut Recorder<'_>, task: &Utf8Path, folder: &str) -> Result<InnerTask> {
    let path = task.join("task.toml");
    let text = recorder.text(&path)?;
    let parsed: TaskToml = toml::from_str(&text).map_err(|error| {
        Error::new(format!("the inner task's `{path}` is not valid: {}", error.message()))
    })?;
    let (name, refused) = match parsed.task {
        None => (None, None),
        Some(TaskTable { name: None }) => (None, Some("its `[task]` has no `name`".to_owned())),
        Some(TaskTable { name: Some(name) }) => {
            let refused = check_task_name(&name).err().map(|error| error.to_string());
            (Some(name), refused)
        }
    };
    let name = name.unwrap_or_else(|| folder.to_owned());
    let phases = Phases::parse(&text).unwrap_or_default();
    Ok(InnerTask { path: task.to_owned(), name, refused, phases })
}

/// Results carry the name in task.toml, so two tasks of one name could not be told apart.
fn refuse_twins(tasks: &BTreeMap<String, InnerTask>) -> Result<()> {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    for (folder, task) in tasks {
        if let Some(other) = names.insert(&task.name, folder) {
            return Err(Error::new(format!(
                "the inner tasks `{other}` and `{folder}` are both named `{}`",
                task.name
            ))
            .hint("give each its own `[task].name`: Harbor's results carry that name"));
        }
    }
    Ok(())
}

impl InnerTasks {
    /// The folder of the task that a sample id means: its folder's name, or its own name.
    pub fn resolve(&self, id: &str) -> Option<&str> {
        if let Some((folder, _)) = self.tasks.get_key_value(id) {
            return Some(folder);
        }
        self.tasks.iter().find(|(_, task)| task.name == id).map(|(folder, _)| folder.as_str())
    }

    /// Seconds that a trial of one of these samples may take by its own task. One whose agent may take as long as it likes
    /// ends with its evaluation.
    pub fn longest(&self, spec: &Spec, samples: &BTreeSet<String>) -> u64 {
        let Some(changes) = spec.harbor.as_ref().map(HarborRun::phase_changes) else { return 0 };
        let whole = spec.limits.evaluation_timeout_sec;
        let seconds = samples
            .iter()
            .filter_map(|id| self.tasks.get(id))
            .map(|task| task.phases.total(&changes).map_or(whole, rounded_up));
        seconds.max().unwrap_or(0).min(whole)
    }

    /// The ids of all tasks.
    pub fn ids(&self) -> Vec<String> {
        self.tasks.keys().cloned().collect()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "no time is negative, none has 2^64 seconds"
)]
fn rounded_up(seconds: f64) -> u64 {
    seconds.ceil() as u64
}

/// Reads the inner tasks that some sample ids mean.
pub fn bake(
    context: &Context<'_>,
    spec: &Spec,
    inner: &InnerTasks,
    samples: &BTreeSet<String>,
) -> Result<Baked> {
    let mut recorder = context.recorder();
    let mut baked = Tree::default();
    let mut tasks = BTreeMap::new();
    let mut hasher = Hasher::new();
    for id in samples {
        let Some((folder, task)) = inner.tasks.get_key_value(id) else { continue };
        if folder.contains(['[', ']', '*', '?', '\\']) || folder.len() > 32 {
            return Err(Error::new(format!(
                "the inner task's folder `{folder}` has a name that Harbor's filters misread"
            ))
            .hint("use at most 32 letters, digits and dashes")
            .at(&["harbor", "source"]));
        }
        if let Some(why) = &task.refused {
            // Looking through a folder of tasks Harbor passes over one that it refuses: the sample would never run.
            return Err(Error::new(format!("Harbor does not load `{}/task.toml`: {why}", task.path))
                .hint(format!(
                    "write for example `name = \"{}/{folder}\"` below its `[task]`",
                    spec.organization
                ))
                .at(&["harbor", "source"]));
        }
        let tree = recorder.tree(&task.path, context.store)?;
        let shown = format!("the inner task `{folder}`");
        tree.check(&shown)
            .and_then(|()| tree.check_scripts(&shown, &task.path))
            .map_err(|error| error.at(&["harbor", "source"]))?;
        // Harbor's own rules, not ours: an inner task may carry ignore files of its own.
        let digest = taskwright_harbor::digest::content_digest(context.root().join(&task.path).as_std_path())
            .map_err(|error| Error::new(format!("the inner task `{folder}`: {error}")))?
            .to_string();
        hasher.field(folder.as_bytes());
        hasher.field(&tree.digest().bytes());
        baked.graft(folder, &tree);
        let entry = ServeInnerTask { directory: folder.clone(), name: task.name.clone(), digest };
        tasks.insert(id.clone(), entry);
    }
    Ok(Baked { tree: baked, tasks, digest: hasher.finish(), group: Arc::new(recorder.finish()) })
}

/// An inner task as an optimizer may see it: without what verifies and what solves it.
pub fn without_answers(tree: &Tree, folder: &str) -> Tree {
    let prefix = format!("{folder}/");
    let hidden = |path: &str| path.split('/').any(|part| part == "tests" || part == "solution");
    tree.iter()
        .filter_map(|(path, entry)| Some((path.strip_prefix(&prefix)?, entry)))
        .filter(|(path, _)| !hidden(path))
        .map(|(path, entry)| (path.to_owned(), entry.clone()))
        .collect()
}
