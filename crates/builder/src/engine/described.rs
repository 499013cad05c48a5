//! A task before it is made: one that a spec describes, or one that somebody wrote, which is taken as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_language::by_hand::{self, TaskByHand};
use taskwright_language::{Diagnostic, Diagnostics, Fix, LoadedSpec, Spec};

use crate::descriptions::TASK;
use crate::inputs::Group;
use crate::key::Key;
use crate::lock::LockEntry;
use crate::report::Failure;
use crate::steps::{Context, assemble, by_hand as taken};
use crate::tree::Tree;
use crate::workspace::Workspace;
use taskwright_base::rule::Rule;
use taskwright_base::{Error, Result};

/// A task that was read.
pub enum Described {
    /// One that a spec describes.
    Spec(Box<LoadedSpec>),
    /// One that somebody wrote.
    ByHand(TaskByHand),
}

/// What came of one file that describes tasks.
pub struct Read {
    pub tasks: Vec<Described>,
    /// Every file that was read for it, from the root.
    pub files: Vec<Utf8PathBuf>,
    /// What `--set` can give a value to.
    pub names: BTreeSet<String>,
    /// What is allowed but doubtful.
    pub warnings: Diagnostics,
    /// What could be better.
    pub advice: Vec<Diagnostic>,
}

/// Reads a file that describes tasks.
pub fn read(root: &Utf8Path, path: &Utf8Path, set: &BTreeMap<String, String>) -> Result<Read, Diagnostics> {
    if path.file_name() == Some(TASK) {
        let (task, warnings) = by_hand::load(root, path)?;
        let tasks = vec![Described::ByHand(task)];
        return Ok(Read {
            tasks,
            files: vec![path.to_owned()],
            names: BTreeSet::new(),
            warnings,
            advice: Vec::new(),
        });
    }
    let loaded = taskwright_language::load(root, path, set)?;
    let tasks = loaded.tasks.into_iter().map(|task| Described::Spec(Box::new(task))).collect();
    Ok(Read {
        tasks,
        files: loaded.files,
        names: loaded.names,
        warnings: loaded.warnings,
        advice: loaded.advice,
    })
}

/// Every task that can be read, by its name.
pub fn all(workspace: &Workspace) -> Result<BTreeMap<String, Described>> {
    let mut all = BTreeMap::new();
    for path in workspace.descriptions()? {
        let read = read(&workspace.root, &path, &BTreeMap::new());
        all.extend(read.into_iter().flat_map(|read| read.tasks).map(|task| (task.name().clone(), task)));
    }
    Ok(all)
}

impl Described {
    pub fn name(&self) -> &String {
        match self {
            Self::Spec(loaded) => &loaded.spec.name,
            Self::ByHand(task) => &task.name,
        }
    }

    pub fn spec(&self) -> Option<&Spec> {
        match self {
            Self::Spec(loaded) => Some(&loaded.spec),
            Self::ByHand(_) => None,
        }
    }

    /// An error about a field of the spec, or about the task as a whole where there is none.
    pub fn error(&self, path: &[&str], message: String, hint: &str) -> Diagnostic {
        match self {
            Self::Spec(loaded) => loaded.error(path, message, hint),
            Self::ByHand(task) => task.error(message, hint),
        }
    }

    /// An error of a step, shown at the field that it is about.
    pub fn failure(&self, error: Error) -> Failure {
        if error.field().is_empty() || error.is_interrupt() {
            return Failure::Error(error);
        }
        Failure::Spec(Diagnostics::new(vec![self.place(&error)], Vec::new()))
    }

    /// An error of a step at its field, or at the task as a whole.
    pub fn place(&self, error: &Error) -> Diagnostic {
        let hint = error.hint_text().unwrap_or_default();
        let rule = error.rule().unwrap_or(Rule::Inputs);
        let found = self.error(&error.field(), error.to_string(), hint).of(rule);
        let files = error.files().iter().filter_map(|file| Utf8PathBuf::from_path_buf(file.clone()).ok());
        let fix = (rule == Rule::LineEndings).then(|| Fix::LineEndings(files.collect()));
        Diagnostic { fix: found.fix.clone().or(fix), ..found }
    }

    /// Reads and checks everything that the task is made from.
    pub fn gather(&self, context: &Context<'_>) -> Result<Ingredients<'_>> {
        match self {
            Self::Spec(loaded) => {
                Ok(Ingredients::Spec(&loaded.spec, Box::new(assemble::gather(context, loaded)?)))
            }
            Self::ByHand(task) => Ok(Ingredients::ByHand(taken::gather(context, task)?)),
        }
    }
}

/// What a task is made from.
pub enum Ingredients<'a> {
    Spec(&'a Spec, Box<assemble::Ingredients>),
    ByHand(taken::Files),
}

impl Ingredients<'_> {
    /// What was read, in groups that other tasks may share.
    pub fn groups(&self) -> Vec<Arc<Group>> {
        match self {
            Self::Spec(_, ingredients) => ingredients.groups.clone(),
            Self::ByHand(files) => vec![Arc::clone(&files.group)],
        }
    }

    /// Everything that the task depends on, entry by entry.
    pub fn key(&self) -> Key {
        match self {
            Self::Spec(spec, ingredients) => ingredients.key(spec),
            Self::ByHand(files) => files.key(),
        }
    }

    /// The task's tree, and what the lock says of it.
    pub fn assemble(self, context: &Context<'_>) -> Result<(Tree, LockEntry)> {
        match self {
            Self::Spec(spec, ingredients) => ingredients.assemble(context, spec),
            Self::ByHand(files) => Ok(files.assemble()),
        }
    }
}
