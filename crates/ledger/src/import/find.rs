//! Finds trials by Harbor's own layout: folders of jobs at any depth, then a job's folder, then its trials' and nothing
//! below.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use taskwright_base::Result;
use taskwright_base::folder::{EntryKind, Folder};
use taskwright_base::text::count;
use taskwright_harbor::document::DocumentError;
use taskwright_harbor::job::{FolderKind, JobFolder, JobLock, kind_of_folder};

use super::model::{JobDescription, Options};
use super::seen::{Stamp, seen, settled};
use crate::db::Ledger;
use crate::evidence::paths::escape;
use crate::record::Provenance;
use crate::record::from_harbor::folder_name;

/// How deep folders of jobs may lie in each other.
const DEEPEST: usize = 64;

/// Something that was found.
#[derive(Debug)]
pub(super) enum Item {
    /// A trial to be read.
    Trial(Candidate),
    /// A trial that was imported and has not changed since.
    Known { path: PathBuf, trial: i64 },
    /// Something that is no trial, and why.
    Refused { path: PathBuf, reason: String },
    /// All of a job has been found.
    JobEnd(Arc<Job>),
}

/// A trial's folder, or a single result.
#[derive(Debug)]
pub(super) struct Candidate {
    pub path: PathBuf,
    pub is_folder: bool,
    pub job: Option<Arc<Job>>,
}

/// What is known of a job before its trials are read.
#[derive(Debug)]
pub(super) struct Job {
    /// Harbor's id of it, or where it is.
    pub key: String,
    pub name: String,
    pub path: PathBuf,
    /// Its lock, unless nothing has changed since it was last read.
    pub lock: Option<JobLock>,
    pub lock_stamp: Option<Stamp>,
    /// Whether nothing has changed since it was last imported.
    pub unchanged: bool,
    pub finished: bool,
    /// How many trials it planned by its own result.
    pub total: Option<u64>,
    /// Whether all of its trials were looked for.
    pub whole: bool,
    /// What is known of it besides.
    pub description: JobDescription,
    /// The digest of each task by the name of its folder; none where the lock has two.
    digests: HashMap<String, Option<String>>,
}

impl Job {
    /// The digest that the job's lock has for a task's folder.
    pub fn digest(&self, folder: &str) -> Option<&str> {
        self.digests.get(folder)?.as_deref()
    }

    /// The version of Harbor that ran it.
    pub fn harbor_version(&self) -> Option<&str> {
        self.lock.as_ref()?.harbor_version.as_deref()
    }
}

/// What is asked for, and else what is known of the job.
impl Options<'_> {
    pub(super) fn experiment(&self, job: Option<&Job>) -> Option<String> {
        self.experiment.clone().or_else(|| job.and_then(|job| job.description.experiment.clone()))
    }

    pub(super) fn reward_key<'a>(&'a self, job: Option<&'a Job>) -> Option<&'a str> {
        self.reward_key.as_deref().or_else(|| job.and_then(|job| job.description.reward_key.as_deref()))
    }

    /// What a task was built from. What the job says of itself is what was so when it ran.
    pub(super) fn provenance(&self, job: Option<&Job>, task_digest: Option<&str>) -> Option<Provenance> {
        let digest = task_digest?;
        let of_job = job.and_then(|job| job.description.provenance.get(digest));
        of_job.or_else(|| self.provenance.get(digest)).cloned()
    }
}

/// What `walk` hands over each thing it finds to.
type Found<'a> = dyn FnMut(Item) -> Result<()> + 'a;

/// Finds what lies at some paths.
pub(super) fn walk(
    ledger: &Ledger,
    paths: &[PathBuf],
    options: &Options<'_>,
    found: &mut Found<'_>,
) -> Result<()> {
    for path in paths {
        let mut walk = Walk { ledger, options, links: 0 };
        // So that a job is known again from wherever it is named.
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let mut any = false;
        walk.start(&path, &mut |item| {
            any = true;
            found(item)
        })?;
        if !any && walk.links > 0 {
            let links = count(walk.links, "link");
            let reason = format!(
                "holds no job and no trial of Harbor's, but {links} to folders, which are not followed: name the folders \
                 themselves"
            );
            refuse(&path, &reason, found)?;
        } else if !any {
            let reason = "holds no job and no trial of Harbor's; results outside of trials' folders are named one by one";
            refuse(&path, reason, found)?;
        }
    }
    Ok(())
}

struct Walk<'a> {
    ledger: &'a Ledger,
    options: &'a Options<'a>,
    /// How many links to folders were passed by.
    links: u64,
}

impl Walk<'_> {
    fn start(&mut self, path: &Path, found: &mut Found<'_>) -> Result<()> {
        if path.is_file() {
            return found(Item::Trial(Candidate { path: path.to_owned(), is_folder: false, job: None }));
        }
        if let Ok(FolderKind::Trial) = kind_of_folder(path) {
            let parent = path.parent().filter(|parent| matches!(kind_of_folder(parent), Ok(FolderKind::Job)));
            let job = match parent {
                Some(parent) => self.job(parent, false, false, found)?,
                None => None,
            };
            found(Item::Trial(Candidate { path: path.to_owned(), is_folder: true, job: job.clone() }))?;
            return job.map_or(Ok(()), |job| found(Item::JobEnd(job)));
        }
        self.folder(path, 0, found)
    }

    fn folder(&mut self, path: &Path, depth: usize, found: &mut Found<'_>) -> Result<()> {
        self.options.check_stop()?;
        match kind_of_folder(path) {
            Ok(FolderKind::Trial) => {
                found(Item::Trial(Candidate { path: path.to_owned(), is_folder: true, job: None }))
            }
            Ok(FolderKind::Job) => self.trials(path, found),
            Ok(FolderKind::Jobs | FolderKind::Other) => {
                let entries = match Folder::open(path).and_then(|folder| folder.entries()) {
                    Ok(entries) => entries,
                    Err(error) => return refuse(path, &format!("cannot be read: {error}"), found),
                };
                for entry in entries {
                    let inner = path.join(entry.name());
                    let is_other = entry.kind == EntryKind::Other;
                    self.links += u64::from(is_other && inner.is_symlink() && inner.is_dir());
                    // Jobs are in plain sight; what is hidden beside them (`.inputs`, `.git`) only looks like some.
                    if entry.kind != EntryKind::Folder || entry.name.to_bytes().starts_with(b".") {
                        continue;
                    }
                    if depth == DEEPEST {
                        return refuse(path, &format!("lies more than {DEEPEST} folders deep"), found);
                    }
                    self.folder(&inner, depth + 1, found)?;
                }
                Ok(())
            }
            Err(error) => refuse(&error.path, &error.problem.to_string(), found),
        }
    }

    /// The trials of a job, and its end.
    fn trials(&mut self, path: &Path, found: &mut Found<'_>) -> Result<()> {
        let folder = match Folder::open(path) {
            Ok(folder) => folder,
            Err(error) => return refuse(path, &format!("cannot be read: {error}"), found),
        };
        let entries = match folder.entries() {
            Ok(entries) => entries,
            Err(error) => return refuse(path, &format!("cannot be read: {error}"), found),
        };
        let seen = seen(self.ledger, path)?;
        let mut news = Vec::new();
        let mut known = Vec::new();
        for entry in entries {
            let trial = path.join(entry.name());
            match entry.kind {
                EntryKind::Folder => {}
                EntryKind::File => continue,
                EntryKind::Other => {
                    if trial.is_symlink() && trial.is_dir() {
                        refuse(&trial, "is a link, which Harbor does not make: not followed", found)?;
                    }
                    continue;
                }
            }
            let mut result = entry.name.to_bytes().to_vec();
            result.extend_from_slice(b"/result.json");
            let Ok(stat) = CString::new(result).map(|result| folder.stat(&result)) else { continue };
            // A trial that has not ended is missing by the job's plan; a folder that is none of Harbor's is nothing.
            let Ok(stat) = stat else { continue };
            let unchanged = settled(&stat).and_then(|stamp| seen.trial(&trial.join("result.json"), &stamp));
            match unchanged {
                Some(number) if !self.options.replace => known.push((trial, number)),
                _ => news.push(trial),
            }
        }
        let lock = path.join("lock.json");
        let stat = folder.stat(c"lock.json").ok();
        let lock_unchanged = news.is_empty()
            && stat.is_some_and(|stat| settled(&stat).is_some_and(|stamp| seen.is_unchanged(&lock, &stamp)));
        let Some(job) = self.job(path, true, lock_unchanged, found)? else { return Ok(()) };
        for (path, trial) in known {
            found(Item::Known { path, trial })?;
        }
        for path in news {
            self.options.check_stop()?;
            found(Item::Trial(Candidate { path, is_folder: true, job: Some(Arc::clone(&job)) }))?;
        }
        found(Item::JobEnd(job))
    }

    /// Reads what a job says of itself. A damaged document is refused, and the rest of the job stands.
    fn job(
        &self,
        path: &Path,
        whole: bool,
        unchanged: bool,
        found: &mut Found<'_>,
    ) -> Result<Option<Arc<Job>>> {
        let folder = match JobFolder::open(path) {
            Ok(folder) => folder,
            Err(error) => return refuse(&error.path, &error.problem.to_string(), found).map(|()| None),
        };
        let stat = Folder::open(path).and_then(|folder| folder.stat(c"lock.json"));
        let lock_stamp = stat.ok().and_then(|stat| settled(&stat));
        let config = usable(folder.config(), found)?;
        let result = usable(folder.result(), found)?;
        let id = result.as_ref().and_then(|result| result.id.clone());
        let key = id.unwrap_or_else(|| escape(path.as_os_str().as_bytes()));
        // Harbor gives a job its id when it ends: what was recorded before went by the job's folder, and is recorded anew.
        let unchanged = unchanged && self.is_recorded(&key)?;
        let lock = if unchanged { None } else { usable(folder.lock(), found)? };
        let mut digests: HashMap<String, Option<String>> = HashMap::new();
        for planned in lock.iter().flat_map(|lock| lock.trials.kinds()) {
            let Some(folder) = planned.task_folder() else { continue };
            digests
                .entry(folder_name(folder).to_owned())
                .and_modify(|known| {
                    if *known != planned.task_digest {
                        *known = None;
                    }
                })
                .or_insert_with(|| planned.task_digest.clone());
        }
        let name = path.file_name().unwrap_or_default();
        Ok(Some(Arc::new(Job {
            key,
            name: config.and_then(|config| config.job_name).unwrap_or_else(|| escape(name.as_bytes())),
            path: path.to_owned(),
            lock,
            digests,
            lock_stamp,
            unchanged,
            finished: result.as_ref().is_some_and(|result| result.finished_at.is_some()),
            total: result.and_then(|result| result.n_total_trials),
            whole,
            description: self.options.job.map(|describe| describe(path)).unwrap_or_default(),
        })))
    }

    fn is_recorded(&self, key: &str) -> Result<bool> {
        self.ledger
            .connection
            .prepare_cached("SELECT 1 FROM jobs WHERE key = ?1")
            .and_then(|mut statement| statement.exists([key]))
            .map_err(|error| self.ledger.failed(&error))
    }
}

/// A document that was read; one that is damaged is refused, and then there is none.
fn usable<T>(
    read: std::result::Result<Option<T>, DocumentError>,
    found: &mut Found<'_>,
) -> Result<Option<T>> {
    match read {
        Ok(document) => Ok(document),
        Err(error) => refuse(&error.path, &error.problem.to_string(), found).map(|()| None),
    }
}

fn refuse(path: &Path, reason: &str, found: &mut Found<'_>) -> Result<()> {
    found(Item::Refused { path: path.to_owned(), reason: reason.to_owned() })
}
