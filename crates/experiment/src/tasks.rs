//! Finds the tasks that a manifest's sources name.

use std::collections::BTreeMap;
use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::text::{nearest, one_of};
use taskwright_base::{Result, failed};
use taskwright_builder::Workspace;
use taskwright_builder::lock::{Lock, LockEntry};
use taskwright_harbor::job_config::{DatasetConfig, TaskConfig};
use taskwright_harbor::names::{collisions, trial_stem};
use taskwright_language::Diagnostic;
use taskwright_language::document::Document;
use taskwright_language::pattern::Pattern;

use crate::error::ExperimentError;
use crate::model::{BuiltTasks, Experiment, GitTasks, LocalTasks, RegistryTasks, TaskSet};

/// A task that a manifest names, before it is copied.
#[derive(Debug, Clone)]
pub struct FoundTask {
    /// The name of its folder, by which Harbor tells trials apart.
    pub name: String,
    /// The folder; absolute.
    pub folder: Utf8PathBuf,
    /// What the lock says of it, if a spec of this workspace describes it.
    pub built: Option<LockEntry>,
    /// Further arguments that its spec gives the outer `harbor run`.
    pub arguments: Vec<String>,
    /// Which source names it.
    pub source: usize,
}

/// What a manifest's sources name.
#[derive(Debug, Clone, Default)]
pub struct FoundTasks {
    /// Tasks on this machine, in the order of the sources and then of their names.
    pub tasks: Vec<FoundTask>,
    /// Tasks that Harbor fetches from repositories.
    pub fetched: Vec<TaskConfig>,
    /// Datasets that Harbor fetches.
    pub datasets: Vec<DatasetConfig>,
}

/// Finds the tasks of a manifest. Whether the built ones are up to date is not looked at.
pub fn find(workspace: &Workspace, document: &Document<Experiment>) -> Result<FoundTasks, ExperimentError> {
    let mut found = FoundTasks::default();
    let mut mistakes = Vec::new();
    let lock = Lock::read(&workspace.lock_file())?;
    // Reading every spec takes a while, so once, and only where built tasks are named.
    let mut arguments = None;
    for (index, set) in document.value.tasks.iter().enumerate() {
        match set {
            TaskSet::Built(set) => {
                built(workspace, document, lock.as_ref(), (index, set), &mut found.tasks, &mut mistakes);
                let arguments = arguments.get_or_insert_with(|| arguments_of_specs(workspace));
                for task in found.tasks.iter_mut().filter(|task| task.source == index) {
                    task.arguments = arguments.get(&task.name).cloned().unwrap_or_default();
                }
            }
            TaskSet::Local(set) => {
                local(workspace, document, (index, set), &mut found.tasks, &mut mistakes)?;
            }
            TaskSet::Registry(set) => found.datasets.push(dataset(set)),
            TaskSet::Git(set) => found.fetched.extend(fetched(set)),
        }
    }
    let fetched = document.value.tasks.iter().enumerate().flat_map(|(index, set)| {
        let paths = if let TaskSet::Git(set) = set { set.paths.as_slice() } else { &[] };
        paths.iter().filter_map(move |path| Some((Utf8Path::new(path).file_name()?, index)))
    });
    let named: Vec<(&str, usize)> =
        found.tasks.iter().map(|task| (task.name.as_str(), task.source)).chain(fetched).collect();
    refuse_twins(document, &named, &mut mistakes);
    if mistakes.is_empty() { Ok(found) } else { Err(ExperimentError::manifest(mistakes)) }
}

fn built(
    workspace: &Workspace,
    document: &Document<Experiment>,
    lock: Option<&Lock>,
    (index, set): (usize, &BuiltTasks),
    tasks: &mut Vec<FoundTask>,
    mistakes: &mut Vec<Diagnostic>,
) {
    let number = index.to_string();
    let Some(lock) = lock else {
        mistakes.push(document.error(
            &["tasks", &number, "built"],
            "this workspace has no `taskwright.lock`, so nothing says which tasks it has",
            "run `cargo xtask build-tasks`",
        ));
        return;
    };
    let names: Vec<&str> = lock.tasks.keys().map(String::as_str).collect();
    let mut chosen = vec![false; names.len()];
    for (at, text) in set.built.iter().enumerate() {
        let Ok(pattern) = Pattern::new(text) else { continue };
        let mut any = false;
        for (name, chosen) in names.iter().zip(&mut chosen) {
            if pattern.matches(name) {
                *chosen = true;
                any = true;
            }
        }
        if !any {
            let hint = match nearest(text, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "built are {}; a new spec is built by `cargo xtask build-tasks`",
                    one_of(names.iter().copied())
                ),
            };
            let place = ["tasks", &number, "built", &at.to_string()].map(str::to_owned);
            mistakes.push(document.error(
                &place.each_ref().map(String::as_str),
                format!("no built task is named `{}`", text.escape_debug()),
                hint,
            ));
        }
    }
    let exclude: Vec<Pattern> = set.exclude.iter().filter_map(|text| Pattern::new(text).ok()).collect();
    let before = tasks.len();
    for (name, _) in names.iter().zip(chosen).filter(|(_, chosen)| *chosen) {
        if exclude.iter().any(|pattern| pattern.matches(name)) {
            continue;
        }
        tasks.push(FoundTask {
            name: (*name).to_owned(),
            folder: workspace.out.join(name),
            built: lock.tasks.get(*name).cloned(),
            arguments: Vec::new(),
            source: index,
        });
    }
    if tasks.len() == before && mistakes.is_empty() {
        let hint = "exclude fewer";
        mistakes.push(document.error(&["tasks", &number, "exclude"], "every task is left out", hint));
    }
}

/// The further arguments of the outer `harbor run` that specs ask for, by the name of the task. A spec that is wrong has
/// none: the build says what is wrong with it.
fn arguments_of_specs(workspace: &Workspace) -> BTreeMap<String, Vec<String>> {
    let mut arguments = BTreeMap::new();
    for file in workspace.specs_alone() {
        let Ok(loaded) = taskwright_language::load(&workspace.root, &file, &BTreeMap::new()) else {
            continue;
        };
        arguments.extend(
            loaded
                .tasks
                .into_iter()
                .filter_map(|task| Some((task.spec.name, task.spec.harbor?.optimizer_args))),
        );
    }
    arguments
}

fn local(
    workspace: &Workspace,
    document: &Document<Experiment>,
    (index, set): (usize, &LocalTasks),
    tasks: &mut Vec<FoundTask>,
    mistakes: &mut Vec<Diagnostic>,
) -> Result<()> {
    let number = index.to_string();
    let place = ["tasks", number.as_str(), "path"];
    let said = set.path.as_path();
    let folder = workspace.root.join(said);
    if !folder.is_dir() {
        let problem = if folder.exists() { "is not a folder" } else { "does not exist" };
        let hint =
            "name a task, or a folder of tasks; a dataset of a registry is written `registry = \"...\"`";
        mistakes.push(document.error(&place, format!("`{said}` {problem}"), hint));
        return Ok(());
    }
    let mut folders = Vec::new();
    if folder.join("task.toml").is_file() {
        folders.push(folder.canonicalize_utf8().map_err(failed("finding", &folder))?);
    } else {
        for entry in folder.read_dir_utf8().map_err(failed("reading", &folder))? {
            let path = entry.map_err(failed("reading", &folder))?.into_path();
            if path.join("task.toml").is_file() {
                folders.push(path);
            }
        }
        folders.sort();
    }
    if folders.is_empty() {
        mistakes.push(document.error(
            &place,
            format!("`{said}` holds no task"),
            "a task is a folder with a `task.toml`; they are looked for in it and one folder below it",
        ));
        return Ok(());
    }
    let names: Vec<Vec<String>> = folders.iter().map(|folder| names(folder)).collect();
    let included = matching(document, &["tasks", &number, "include"], &set.include, &names, mistakes);
    let excluded = matching(document, &["tasks", &number, "exclude"], &set.exclude, &names, mistakes);
    let before = tasks.len();
    for (at, folder) in folders.into_iter().enumerate() {
        if (set.include.is_empty() || included[at]) && !excluded[at] {
            tasks.push(FoundTask {
                name: folder.file_name().unwrap_or_default().to_owned(),
                folder,
                built: None,
                arguments: Vec::new(),
                source: index,
            });
        }
    }
    if tasks.len() == before && mistakes.is_empty() {
        mistakes.push(document.error(&place, "every task is left out", "exclude fewer"));
    }
    Ok(())
}

/// The names by which a pattern can mean a task: its folder's, and those in its `task.toml`, whole and without the
/// organization. Harbor's own filter looks at folders, its results name the other.
fn names(folder: &Utf8Path) -> Vec<String> {
    let mut names: Vec<String> = folder.file_name().map(str::to_owned).into_iter().collect();
    let text = fs::read_to_string(folder.join("task.toml")).unwrap_or_default();
    let table: toml::Table = toml::from_str(&text).unwrap_or_default();
    if let Some(name) = table.get("task").and_then(|task| task.get("name")).and_then(toml::Value::as_str) {
        names.extend(name.split_once('/').map(|(_, short)| short.to_owned()));
        names.push(name.to_owned());
    }
    names
}

/// Which tasks the patterns mean. A pattern that means none is a mistake: most likely a misspelt name.
fn matching(
    document: &Document<Experiment>,
    path: &[&str; 3],
    patterns: &[String],
    names: &[Vec<String>],
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<bool> {
    let mut matched = vec![false; names.len()];
    for (at, text) in patterns.iter().enumerate() {
        let Ok(pattern) = Pattern::new(text) else { continue };
        let mut any = false;
        for (names, matched) in names.iter().zip(&mut matched) {
            if names.iter().any(|name| pattern.matches(name)) {
                *matched = true;
                any = true;
            }
        }
        if !any {
            let known = || names.iter().flatten().map(String::as_str);
            let hint = match nearest(text, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "there are {}",
                    one_of(names.iter().filter_map(|names| names.first()).map(String::as_str))
                ),
            };
            let [tasks, index, key] = *path;
            mistakes.push(document.error(
                &[tasks, index, key, &at.to_string()],
                format!("no task there is named `{}`", text.escape_debug()),
                hint,
            ));
        }
    }
    matched
}

fn fetched(set: &GitTasks) -> impl Iterator<Item = TaskConfig> {
    let GitTasks { git, commit, paths } = set;
    paths.iter().map(|path| TaskConfig {
        git_url: Some(git.clone()),
        git_commit_id: Some(commit.clone()),
        ..TaskConfig::at(path)
    })
}

fn dataset(set: &RegistryTasks) -> DatasetConfig {
    let RegistryTasks { registry, version, digest, registry_path, registry_url, include, exclude, limit } =
        set;
    let is_package = registry.contains('/');
    let list = |patterns: &[String]| Some(patterns.to_vec()).filter(|patterns| !patterns.is_empty());
    DatasetConfig {
        name: Some(registry.clone()),
        version: version.clone().filter(|_| !is_package),
        reference: digest.clone().or_else(|| version.clone().filter(|_| is_package)),
        registry_path: registry_path.as_ref().map(|path| path.as_path().into()),
        registry_url: registry_url.clone(),
        task_names: list(include),
        exclude_task_names: list(exclude),
        n_tasks: *limit,
        ..DatasetConfig::default()
    }
}

/// Reports tasks whose trials could not be told apart.
fn refuse_twins(document: &Document<Experiment>, tasks: &[(&str, usize)], mistakes: &mut Vec<Diagnostic>) {
    for twins in collisions(tasks.iter().map(|(name, _)| *name)) {
        let stem = trial_stem(twins[0]).to_lowercase();
        let sources: Vec<usize> = tasks
            .iter()
            .filter(|(name, _)| trial_stem(name).to_lowercase() == stem)
            .map(|(_, source)| *source)
            .collect();
        let [first, .., last] = sources.as_slice() else { continue };
        let (first, last) = (first.to_string(), last.to_string());
        mistakes.push(
            document
                .error(
                    &["tasks", &last],
                    format!("two tasks cannot be told apart: {}", one_of(twins.iter().copied())),
                    "Harbor names trials by the first 32 characters of a task's folder; leave one out, or rename one",
                )
                .with_label(document.label(&["tasks", &first]).saying("named here too")),
        );
    }
}
