//! The candidates that a spec brings along, and what else it says of controls.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use taskwright_base::{Error, failed};
use taskwright_builder::Workspace;
use taskwright_language::model::{Control, Samples, Spec};

use crate::eval::candidate::{self, Files};
use crate::eval::task::Task;

/// How the names of controls begin that are candidates of a spec's own.
const CHEAT: &str = "cheat-";

/// What a spec says of controls, with the files of its candidates.
pub struct Candidates {
    solution: Option<Files>,
    /// By the names of the controls that they are.
    pub cheats: Vec<(String, PathBuf)>,
    /// What the task need not hold to, and why.
    pub waived: BTreeMap<Control, String>,
    /// The fields of rows that say which split a row is in.
    pub split_fields: Vec<String>,
    /// Removes what was written for them.
    _files: Vec<Files>,
}

impl Candidates {
    /// Reads a task's spec, and lays the files of its candidates over the baseline.
    pub fn of(workspace: &Workspace, task: &Task) -> anyhow::Result<Self> {
        let Some(spec) = candidate::spec(workspace, task) else {
            bail!("the spec of `{}` cannot be found", task.name)
        };
        let has_solution = task.dir.join("solution/files").is_dir();
        let solution = has_solution.then(|| candidate::find(workspace, task, "solution")).transpose()?;
        let (cheats, files) = cheats(workspace, task, &spec)?
            .into_iter()
            .map(|(name, files)| ((format!("{CHEAT}{name}"), files.path().to_owned()), files))
            .unzip();
        Ok(Self {
            solution,
            cheats,
            waived: spec.controls.waived.clone(),
            split_fields: split_fields(&spec),
            _files: files,
        })
    }

    /// All files of a candidate that has the spec's solution.
    pub fn solution(&self) -> Option<&Path> {
        self.solution.as_ref().map(Files::path)
    }
}

/// The candidates that cheat, by name, and their files.
fn cheats(workspace: &Workspace, task: &Task, spec: &Spec) -> anyhow::Result<Vec<(String, Files)>> {
    let Some(folder) = &spec.controls.candidates else { return Ok(Vec::new()) };
    let folder = workspace.root.join(folder.as_path());
    let entries = folder.read_dir_utf8().map_err(failed("reading", &folder))?;
    let mut names = BTreeSet::new();
    for entry in entries {
        let entry = entry.map_err(failed("reading", &folder))?;
        if entry.path().is_dir() {
            names.insert(entry.file_name().to_owned());
        }
    }
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let mut cheats = Vec::new();
    for name in names {
        if !name.chars().all(is_plain) {
            let error = Error::new(format!("`{folder}/{name}` cannot be the name of a control"));
            return Err(error.hint("use lower-case letters, digits and dashes").into());
        }
        let files = candidate::overlay(&task.dir.join("environment/baseline"), &folder.join(&name), &name)
            .with_context(|| format!("laying `{folder}/{name}` over the baseline"))?;
        cheats.push((name, files));
    }
    Ok(cheats)
}

/// The fields by which the spec puts rows into splits.
fn split_fields(spec: &Spec) -> Vec<String> {
    let field = |samples: &Samples| match samples {
        Samples::Where(filter) => Some(filter.field.clone()),
        Samples::Every(_) | Samples::List(_) | Samples::File(_) => None,
    };
    let fields: BTreeSet<String> = spec.splits.values().filter_map(|split| field(&split.samples)).collect();
    fields.into_iter().collect()
}
