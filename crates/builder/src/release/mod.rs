//! A release: the set of built tasks that goes out together, held against the last one.
//!
//! ```text
//!  built? ──▶ what changed since ──▶ versions ──▶ what must not go out ──▶ folder to publish,
//!  (look)     the last release       moved?       (labels, images ...)     dataset.toml beside the specs
//! ```
//!
//! The last release is the newest commit whose `dataset.toml` and whose lock are of one another. Nothing is built here, and
//! nothing written before all of it is known to be good.

mod images;
mod last;
mod version;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::atomic::AtomicBool;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;
use taskwright_harbor::digest::content_digest;
use taskwright_harbor::manifest::{FILE, Manifest, TaskRef};
use taskwright_language::{Diagnostic, Severity, Spec};
use walkdir::WalkDir;

pub use self::last::last;
pub use self::version::Moved;
use crate::diff::{Fate, Past, differences};
use crate::engine::described::{self, Described};
use crate::engine::{Intent, Options, build};
use crate::error::{failed, io_error};
use crate::lint::lint;
use crate::lock::{Lock, LockEntry};
use crate::observe::Silent;
use crate::report::{Failure, Status};
use crate::steps::secrets;
use crate::workspace::Workspace;
use taskwright_base::rule::Rule;
use taskwright_base::{Digest, Error, Result};

/// The rules whose breach keeps a task from going out, and that somebody may waive.
pub const KEPT_IN: [Rule; 3] = [Rule::Secrets, Rule::Answers, Rule::UnpinnedImage];

/// What would go out.
pub struct Release {
    /// The set, with the digests of its tasks as they are now.
    pub manifest: Manifest,
    /// Each task that goes out, that changed, or that was in the last release and is not in this one.
    pub rows: Vec<Row>,
    /// Why it cannot go out; empty where it can.
    pub refusals: Vec<Error>,
    /// The release that this is held against, in words; none if this is the first.
    pub since: Option<String>,
}

/// A task in a release.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The name of its folder.
    pub name: String,
    /// What it was in the last release; none if it was not in it.
    pub old: Option<Issue>,
    /// What it is now; none if it goes out no more.
    pub new: Option<Issue>,
    /// What became of it; none: nothing.
    pub fate: Option<Fate>,
    /// What its version says of that.
    pub version: Moved,
    /// The line of the spec that has to be another.
    #[serde(skip)]
    pub line: Option<Diagnostic>,
}

/// A task as it goes out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// Its version, if it says one.
    pub version: Option<String>,
    /// The digest of its content.
    pub digest: String,
    /// Where it is now; empty of one that went out before.
    #[serde(skip)]
    folder: Utf8PathBuf,
}

impl Issue {
    fn of_old(old: &LockEntry) -> Self {
        let baked = old.images.as_ref().map(|images| &images.harbor);
        let digest = baked.unwrap_or(&old.harbor).clone();
        Self { version: old.version.clone(), digest, folder: Utf8PathBuf::new() }
    }
}

fn digest_of(folder: &Utf8Path) -> Result<String> {
    Ok(content_digest(folder.as_std_path()).map_err(|error| Error::new(error.to_string()))?.to_string())
}

/// The baked form of a task and its digest, which goes out where the lock has images of the task as it is.
fn baked(workspace: &Workspace, name: &str, entry: &LockEntry) -> Result<Option<(Utf8PathBuf, String)>> {
    let Some(images) = &entry.images else { return Ok(None) };
    let folder = workspace.baked_dir().join(name);
    let is_it = folder.is_dir() && images.tree == entry.tree && digest_of(&folder)? == images.harbor;
    if is_it {
        return Ok(Some((folder, images.harbor.clone())));
    }
    Err(Error::stale(&format!(
        "the lock has images of `{name}`, and `{folder}` is not the task that names them"
    ))
    .hint("run `cargo xtask bake`, and commit the lock"))
}

/// The tasks that are built as their specs say, each by its name.
fn built(workspace: &Workspace, names: &[String], stop: &AtomicBool) -> Result<Vec<String>> {
    let options = Options { names: names.to_vec(), intent: Intent::Look, ..Options::default() };
    let report = build(workspace, &options, &Silent, stop)?;
    if let Some(error) = report.errors.into_iter().next() {
        return Err(error);
    }
    let mut built = Vec::new();
    for task in report.tasks {
        match task.status {
            Status::UpToDate => built.push(task.name),
            Status::Orphaned => {}
            Status::Failed(Failure::Error(error)) => return Err(error.within(format!("`{}`", task.name))),
            _ => {
                return Err(Error::stale(&format!("`{}` is not built as its spec says", task.name))
                    .hint("run `cargo xtask build-tasks`, and commit the lock"));
            }
        }
    }
    if built.is_empty() {
        return Err(Error::new("there is no task to release")
            .hint("`cargo xtask new NAME --mode a` makes a first spec")
            .usage());
    }
    Ok(built)
}

/// What would go out of some tasks, or of all if none is named, held against what was.
///
/// # Errors
/// What keeps it from being found out: tasks that are not built, a `dataset.toml` that is missing or wrong, git.
pub fn plan(
    workspace: &Workspace,
    names: &[String],
    since: Option<&Past>,
    allow: &[Rule],
    stop: &AtomicBool,
) -> Result<Release> {
    let mut manifest = read(workspace)?;
    let names = built(workspace, names, stop)?;
    let lock = Lock::read(&workspace.lock_file())?.unwrap_or_default();
    let described = described::all(workspace)?;
    let mut refusals = Vec::new();
    let mut tasks = Vec::new();
    let mut rows = Vec::new();
    let fates = since.map(|past| differences(workspace, past)).transpose()?.unwrap_or_default();
    for name in &names {
        let built = workspace.out.join(name);
        let digest = digest_of(&built)?;
        let Some(entry) = lock.tasks.get(name).filter(|entry| entry.harbor == digest) else {
            return Err(Error::new(format!("`{built}` is not what the lock says"))
                .hint("run `cargo xtask build-tasks` without `--set`, and commit the lock"));
        };
        let (folder, digest) = baked(workspace, name, entry)?.unwrap_or_else(|| (built.clone(), digest));
        match published_as(&folder)? {
            Some(task) => tasks.push(TaskRef { name: task, digest: digest.clone() }),
            None => refusals.push(
                Error::new(format!("`{name}` has no `[task]` with a name: Harbor publishes none without"))
                    .hint("write `name = \"organization/name\"` under `[task]` in its `task.toml`")
                    .of(Rule::Identity),
            ),
        }
        if !allow.contains(&Rule::UnpinnedImage) {
            refusals.extend(images::unpinned(name, &folder)?);
        }
        if let Some(spec) = described.get(name).and_then(Described::spec) {
            // What images are made from is in the built task alone, and goes out with them.
            refusals.extend(secret_values(name, &built, spec)?);
        }
        let old = since.and_then(|past| past.lock.tasks.get(name));
        let new = Issue { version: entry.version.clone(), digest, folder };
        rows.push(Row {
            name: name.clone(),
            old: old.map(Issue::of_old),
            new: Some(new),
            fate: fates.get(name).cloned(),
            version: Moved::Fine,
            line: None,
        });
    }
    rows.extend(since.into_iter().flat_map(|past| gone(past, &names)));
    rows.sort_by(|left, right| left.name.cmp(&right.name));
    refusals.extend(version::judge(&described, &mut rows)?);
    refusals.extend(broken(workspace, &names, allow, stop)?);
    tasks.sort_by(|left, right| left.name.cmp(&right.name));
    manifest.tasks = tasks;
    Ok(Release { manifest, rows, refusals, since: since.map(|past| past.shown.clone()) })
}

/// What was in the last release and is in this one no more.
fn gone(past: &Past, names: &[String]) -> Vec<Row> {
    let names: BTreeSet<&String> = names.iter().collect();
    let gone = past.lock.tasks.iter().filter(|(name, _)| !names.contains(name));
    gone.map(|(name, old)| Row {
        name: name.clone(),
        old: Some(Issue::of_old(old)),
        new: None,
        fate: Some(Fate::Went { version: old.version.clone() }),
        version: Moved::Fine,
        line: None,
    })
    .collect()
}

/// The manifest beside the specs, whose head somebody wrote, with the digests of the set's own files.
fn read(workspace: &Workspace) -> Result<Manifest> {
    let shown = workspace.specs.join(FILE);
    let path = workspace.root.join(&shown);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::new(format!("there is no `{shown}`: nobody said what the data set is called"))
                .hint("write it: `[dataset]`, and below it `name = \"organization/name\"` and `description = \"...\"`; the tasks are added by `cargo xtask release`"));
        }
        Err(error) => return Err(io_error("reading", &shown, &error)),
    };
    let mut manifest = Manifest::parse(&text).map_err(|error| error.within(format!("`{shown}`")))?;
    for file in &mut manifest.files {
        let path = workspace.root.join(&workspace.specs).join(&file.path);
        let bytes = fs::read(&path).map_err(failed("reading", &path))?;
        file.digest = Digest::of(&bytes).to_string();
    }
    Ok(manifest)
}

/// The name under which Harbor publishes a task.
fn published_as(folder: &Utf8Path) -> Result<Option<String>> {
    let path = folder.join("task.toml");
    let text = fs::read_to_string(&path).map_err(failed("reading", &path))?;
    let table: toml::Table = text.parse().map_err(|_| Error::new(format!("`{path}` is no TOML")))?;
    let name = table.get("task").and_then(|task| task.get("name")).and_then(toml::Value::as_str);
    Ok(name.map(str::to_owned))
}

/// Whether a task holds the value that a secret of its spec has here, which may have had none where the task was built.
fn secret_values(name: &str, folder: &Utf8Path, spec: &Spec) -> Result<Option<Error>> {
    let secrets = secrets::values(spec, |name| std::env::var(name).ok());
    if secrets.is_empty() {
        return Ok(None);
    }
    for entry in WalkDir::new(folder).sort_by_file_name().into_iter().flatten() {
        if !entry.file_type().is_file() {
            continue;
        }
        for (secret, value) in &secrets {
            let mut file = fs::File::open(entry.path()).map_err(failed("opening", entry.path()))?;
            if secrets::streams(&mut file, value).map_err(failed("reading", entry.path()))? {
                let path = entry.path().strip_prefix(folder).unwrap_or(entry.path()).display();
                return Ok(Some(Error::new(format!("`{name}`: `{path}` holds the value of the secret `{secret}`"))
                    .hint("remove it from the file it comes from, and change the secret: it may be known already")
                    .of(Rule::Secrets)));
            }
        }
    }
    Ok(None)
}

/// What `lint` finds wrong, and what it has to say of what must not go out.
fn broken(workspace: &Workspace, names: &[String], allow: &[Rule], stop: &AtomicBool) -> Result<Vec<Error>> {
    let found = lint(workspace, names, &Silent, stop)?;
    // What a trial uses decides about images, not what the spec says: baked ones have digests.
    let is_refused = |item: &Diagnostic| {
        let rule = item.rule();
        rule != Rule::UnpinnedImage
            && (item.severity == Severity::Error || KEPT_IN.contains(&rule))
            && !allow.contains(&rule)
    };
    Ok(found.into_iter().filter(is_refused).map(|item| at_its_place(&item)).collect())
}

/// A diagnostic as an error.
fn at_its_place(item: &Diagnostic) -> Error {
    let place = item.primary.source.position(item.primary.span.start);
    let at = (place.line as u64, Some(place.column as u64));
    let error =
        Error::new(item.message.clone()).in_file(item.primary.source.name(), Some(at)).of(item.rule());
    match &item.hint {
        Some(hint) => error.hint(hint.clone()),
        None => error,
    }
}

impl Release {
    /// Adds a reason why it cannot go out.
    pub fn refuse(&mut self, why: Error) {
        self.refusals.push(why);
    }

    /// The lines of specs that have to be others, each once.
    pub fn lines(&self) -> Vec<Diagnostic> {
        let lines = self.rows.iter().filter_map(|row| row.line.clone());
        let place = |line: &Diagnostic| (line.primary.source.name().to_string(), line.primary.span.start);
        lines.map(|line| (place(&line), line)).collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// Writes what goes out into a folder, which `harbor publish` takes, and the set's `dataset.toml` beside the specs, which is
    /// to be committed. The folder is replaced as a whole, if it held a release before.
    ///
    /// # Errors
    /// It cannot go out, the folder holds something else, or it cannot be written.
    pub fn write(&self, workspace: &Workspace, out: &Utf8Path) -> Result<()> {
        if !self.refusals.is_empty() {
            return Err(Error::new("what cannot go out is not written"));
        }
        write::write(self, workspace, out)
    }
}
