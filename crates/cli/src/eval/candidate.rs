//! What the command line calls a candidate, as a folder of plain files.

use std::path::Path;
use std::process::Command;
use taskwright_base::{Error, failed};

use crate::workspace::from_here;
use anyhow::{Context, bail};
use camino::{Utf8Path, Utf8PathBuf};
use taskwright_base::git;
use taskwright_builder::Workspace;
use taskwright_language::model::Spec;

use super::task::Task;

/// The files of a candidate.
pub struct Files {
    /// What it is, in words.
    pub source: String,
    path: Utf8PathBuf,
    /// Removes what was written for it.
    _temporary: Option<tempfile::TempDir>,
}

impl Files {
    /// A folder of plain files, as it is.
    pub fn of_folder(source: impl Into<String>, path: impl Into<Utf8PathBuf>) -> Self {
        Self { source: source.into(), path: path.into(), _temporary: None }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.path.as_std_path()
    }
}

/// Finds a candidate.
pub fn find(workspace: &Workspace, task: &Task, word: &str) -> anyhow::Result<Files> {
    let baseline = task.dir.join("environment/baseline");
    let solution = task.dir.join("solution/files");
    match word {
        "baseline" => {
            return Ok(Files::of_folder("the baseline", baseline));
        }
        "solution" => return solved(&baseline, &solution, task),
        _ => {}
    }
    let path = from_here(Utf8Path::new(word))?;
    if path.is_dir() {
        // A spec's solution is only what it changes of the baseline.
        let own = spec(workspace, task).and_then(|spec| spec.solution).map(|solution| solution.path);
        let own = own.map(|path| workspace.root.join(path.as_path()));
        let is_solution = |folder: &Utf8Path| match (folder.canonicalize(), path.canonicalize()) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        };
        if own.as_deref().is_some_and(is_solution) || is_solution(&solution) {
            return solved(&baseline, &solution, task);
        }
        return folder(&path);
    }
    if path.exists() {
        bail!("the candidate `{path}` is a file: name the folder of its repository");
    }
    revision(workspace, task, word)
}

/// The task's spec; none if it cannot be found again.
pub fn spec(workspace: &Workspace, task: &Task) -> Option<Spec> {
    let mut files = workspace.specs_alone();
    // The folder of that name is the likely one.
    files.sort_by_key(|file| file.parent().and_then(Utf8Path::file_name) != Some(&task.name));
    for file in files {
        let loaded = taskwright_language::load(&workspace.root, &file, &task.set);
        let tasks = loaded.map(|loaded| loaded.tasks).unwrap_or_default();
        if let Some(loaded) = tasks.into_iter().find(|loaded| loaded.spec.name == task.name) {
            return Some(loaded.spec);
        }
    }
    None
}

fn temporary() -> anyhow::Result<(tempfile::TempDir, Utf8PathBuf)> {
    let temporary = tempfile::Builder::new()
        .prefix("taskwright-candidate-")
        .tempdir()
        .context("making a temporary folder")?;
    let path = Utf8PathBuf::from_path_buf(temporary.path().join("files"))
        .map_err(|path| anyhow::anyhow!("`{}` is not UTF-8", path.display()))?;
    std::fs::create_dir(&path).map_err(failed("making", &path))?;
    Ok((temporary, path))
}

fn solved(baseline: &Utf8Path, solution: &Utf8Path, task: &Task) -> anyhow::Result<Files> {
    if !solution.is_dir() {
        bail!("the spec of `{}` has no `[solution]`", task.name);
    }
    overlay(baseline, solution, "the spec's solution over the baseline")
}

/// The files of a folder over those of another.
pub fn overlay(baseline: &Utf8Path, over: &Utf8Path, source: impl Into<String>) -> anyhow::Result<Files> {
    let (temporary, path) = temporary()?;
    copy(baseline, &path)?;
    copy(over, &path)?;
    Ok(Files { source: source.into(), path, _temporary: Some(temporary) })
}

/// A folder: in a git work tree what git does not ignore, elsewhere all of it.
fn folder(from: &Utf8Path) -> anyhow::Result<Files> {
    let (temporary, path) = temporary()?;
    // The folder may be a stranger's, and its configuration must start no program.
    let quiet = ["-c", "core.fsmonitor=false"];
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = git(from, &[&quiet[..], &list[..]].concat()).unwrap_or_default();
    let names: Vec<&str> = listed.split('\0').filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        copy(from, &path)?;
    } else {
        for name in names {
            let (from, to) = (from.join(name), path.join(name));
            // What was removed and is still in the index.
            if from.symlink_metadata().is_err() {
                continue;
            }
            if let Some(parent) = to.parent() {
                std::fs::create_dir_all(parent).map_err(failed("making", parent))?;
            }
            copy(&from, &to)?;
        }
    }
    Ok(Files { source: format!("the folder `{from}`"), path, _temporary: Some(temporary) })
}

/// A revision: of the repository of the current folder if that is not the workspace itself, else of the baseline's.
fn revision(workspace: &Workspace, task: &Task, word: &str) -> anyhow::Result<Files> {
    let here = from_here(Utf8Path::new("."))?;
    let root =
        git(&workspace.root, &["rev-parse", "--show-toplevel"]).ok().map(|text| text.trim().to_owned());
    let top = git(&here, &["rev-parse", "--show-toplevel"]).ok().map(|text| text.trim().to_owned());
    let (repository, within) = match top {
        Some(top) if root.as_ref() != Some(&top) => (Utf8PathBuf::from(top), String::new()),
        _ => baseline_source(workspace, task)?,
    };
    let spec = format!("{word}^{{commit}}");
    let Ok(commit) = git(&repository, &["rev-parse", "--quiet", "--verify", "--end-of-options", &spec])
    else {
        return Err(Error::new(format!(
            "the candidate `{word}` is neither a folder nor a revision of the repository `{repository}`"
        ))
        .hint("name a folder, a revision, `baseline` or `solution`")
        .usage()
        .into());
    };
    let commit = commit.trim();
    let (temporary, path) = temporary()?;
    let index = temporary.path().join("index");
    let write = |arguments: &[&str]| {
        run(git::in_folder(repository.as_std_path()).env("GIT_INDEX_FILE", &index).args(arguments))
    };
    write(&["read-tree", &format!("{commit}:{within}")])
        .with_context(|| format!("reading `{within}` of the revision `{word}` of `{repository}`"))?;
    write(&["-c", "core.autocrlf=false", "checkout-index", "--all", &format!("--prefix={path}/")])
        .with_context(|| format!("writing the revision `{word}` of `{repository}`"))?;
    let of = if within.is_empty() { String::new() } else { format!(" of `{within}`") };
    let source = format!("revision {word} ({}){of} in `{repository}`", &commit[..12.min(commit.len())]);
    Ok(Files { source, path, _temporary: Some(temporary) })
}

/// The repository that the baseline comes from, and the baseline's folder in it.
fn baseline_source(workspace: &Workspace, task: &Task) -> anyhow::Result<(Utf8PathBuf, String)> {
    let Some(spec) = spec(workspace, task) else { bail!("the spec of `{}` cannot be found", task.name) };
    let path = spec.baseline.path.as_path();
    if let Some(other) = spec.baseline.git {
        return Ok((workspace.root.join(other.as_path()), path.as_str().trim_matches('/').to_owned()));
    }
    let folder = workspace.root.join(path);
    let top = git(&folder, &["rev-parse", "--show-toplevel"]);
    let within = git(&folder, &["rev-parse", "--show-prefix"]);
    match (top, within) {
        (Ok(top), Ok(within)) => {
            Ok((Utf8PathBuf::from(top.trim()), within.trim().trim_end_matches('/').to_owned()))
        }
        _ => bail!("the baseline `{folder}` is in no git repository that a revision could be imported from"),
    }
}

fn git(folder: &Utf8Path, arguments: &[&str]) -> anyhow::Result<String> {
    run(git::in_folder(folder.as_std_path()).args(arguments))
}

fn run(command: &mut Command) -> anyhow::Result<String> {
    String::from_utf8(git::ask(command)?).context("git prints a name that is not UTF-8")
}

/// Copies a file, a link or all of a folder but git's own, over what is there.
fn copy(from: &Utf8Path, to: &Utf8Path) -> anyhow::Result<()> {
    let metadata = from.symlink_metadata().map_err(failed("copying", from))?;
    if metadata.is_dir() {
        std::fs::create_dir_all(to).map_err(failed("copying", from))?;
        for entry in from.read_dir_utf8().map_err(failed("copying", from))? {
            let entry = entry.map_err(failed("copying", from))?;
            if entry.file_name() != ".git" {
                copy(entry.path(), &to.join(entry.file_name()))?;
            }
        }
        return Ok(());
    }
    if to.symlink_metadata().is_ok() {
        std::fs::remove_file(to).map_err(failed("replacing", to))?;
    }
    if metadata.is_symlink() {
        let target = from.read_link_utf8().map_err(failed("copying", from))?;
        return Ok(std::os::unix::fs::symlink(target, to).map_err(failed("copying", from))?);
    }
    if !metadata.is_file() {
        bail!("`{from}` is neither a file nor a folder nor a link");
    }
    Ok(std::fs::copy(from, to).map(drop).map_err(failed("copying", from))?)
}
