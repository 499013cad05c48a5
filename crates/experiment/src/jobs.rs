//! Where jobs are kept: [`Workspace::jobs`], `jobs/` if nothing else is said, so that no `cargo clean` takes results away.
//!
//! ```text
//! jobs/NAME-DIGEST/                 Harbor's folder of the job, as `harbor view jobs` expects it
//!   config.json lock.json result.json TRIAL/...    Harbor's
//!   harbor.yaml                     what the manifest was lowered to
//!   experiment.json                 which experiment it is, and what its tasks were built from
//!   run.lock  run.log               locked by whoever runs it; what Harbor printed
//! jobs/.inputs/DIGEST/NAME          the tasks as they were: see `crate::inputs`
//! jobs/.gateway/NAME-DIGEST/        what its agents used of language models: the gateway's journal
//! ```
//!
//! Ours are files: Harbor removes folders that it does not know from a job when that is resumed.
//!
//! ```text
//!        acquire, create           acquire                 Harbor has written its end
//!   nothing ────────▶ made ──────────────────▶ running ────────────────────────────────▶ finished
//!                                                ▲  │                                        │
//!                        resumed: acquired again │  │ interrupted, out of time, killed        │ repaired: results that
//!                                                │  ▼                                        │ do not count are removed
//!                                              stopped ◀─────────────────────────────────────┘
//! ```
//!
//! Nothing is written down of that: a job is made if its configuration is there, runs while somebody holds its lock, and
//! is finished if Harbor says so. Resuming a job is running it again: Harbor makes the trials that have no result.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use taskwright_base::lock::{Attempt, LockFile, Wait};
use taskwright_base::write::{Durable, atomic};
use taskwright_base::{Error, Result, failed};
use taskwright_builder::Workspace;
use taskwright_builder::lock::LockEntry;
use taskwright_harbor::job::JobFolder;

use crate::variables;

/// The folder of the copies, in that of the jobs.
pub const INPUTS: &str = ".inputs";
/// The folder of the gateways' journals, in that of the jobs.
const GATEWAYS: &str = ".gateway";
/// The lowered configuration.
pub const CONFIG: &str = "harbor.yaml";
/// What Harbor printed.
pub const LOG: &str = "run.log";
const RECORD: &str = "experiment.json";
const LOCK: &str = "run.lock";
/// How often a lock is tried whose file is taken away meanwhile.
const ATTEMPTS: usize = 8;
/// The version of the record's format.
const VERSION: u64 = 1;

/// Which experiment a job is, and what its tasks were built from: what the job's own files do not say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of this format.
    pub version: u64,
    /// The experiment's name.
    pub experiment: String,
    /// The manifest, from the workspace's root.
    pub manifest: String,
    /// Which of the rewards counts, if the manifest says so.
    pub reward_key: Option<String>,
    /// How many trials are planned; none if Harbor fetches tasks, so that only its own lock says.
    pub planned: Option<u64>,
    /// The tasks on this machine.
    pub tasks: Vec<TaskRecord>,
}

/// A task of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The name of its folder.
    pub name: String,
    /// The digest of its copy: every name, kind and content.
    pub copy: String,
    /// What the lock of this workspace said of it when it was run, if a spec describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<LockEntry>,
}

impl Record {
    /// A record in this version's format.
    pub fn new(experiment: &str, manifest: &Utf8Path, reward_key: Option<&str>) -> Self {
        Self {
            version: VERSION,
            experiment: experiment.to_owned(),
            manifest: manifest.to_string(),
            reward_key: reward_key.map(str::to_owned),
            planned: None,
            tasks: Vec::new(),
        }
    }
}

/// A job's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Its folder; absolute.
    pub dir: Utf8PathBuf,
}

impl Job {
    /// The job of a name.
    pub fn new(workspace: &Workspace, name: &str) -> Self {
        Self { name: name.to_owned(), dir: workspace.jobs_dir().join(name) }
    }

    /// The job in a folder, wherever that is.
    pub fn at(dir: &Utf8Path) -> Option<Self> {
        Some(Self { name: dir.file_name()?.to_owned(), dir: dir.to_owned() })
    }

    /// Whether it was begun.
    pub fn exists(&self) -> bool {
        self.dir.join(CONFIG).exists()
    }

    /// The lowered configuration.
    pub fn config(&self) -> Utf8PathBuf {
        self.dir.join(CONFIG)
    }

    /// What Harbor printed.
    pub fn log(&self) -> Utf8PathBuf {
        self.dir.join(LOG)
    }

    /// The folder of the gateway's journal: beside the job's, since Harbor removes folders that it does not know.
    pub fn gateway(&self) -> Utf8PathBuf {
        self.dir.parent().unwrap_or(&self.dir).join(GATEWAYS).join(&self.name)
    }

    /// Takes away what a job of this name that was removed has left beside its folder: a job that is not there has used nothing.
    /// `_held` is what [`Self::acquire`] gave. Without it another process could have begun the job by now, and count in there.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn forget(&self, _held: &JobLock) -> Result<()> {
        let state = self.gateway();
        match fs::remove_dir_all(&state) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed("removing", &state)(error)),
            _ => Ok(()),
        }
    }

    /// Makes the folder, with what is ours.
    pub fn create(&self, config: &str, record: &Record) -> Result<()> {
        let text = serde_json::to_string_pretty(record)
            .map_err(|error| Error::new(format!("writing the job's record: {error}")))?;
        atomic(self.dir.join(RECORD), Durable::Yes, format!("{text}\n").as_bytes())?;
        // Last: with it the job exists.
        atomic(self.config(), Durable::Yes, config.as_bytes())
    }

    /// Which experiment it is; none if it is not one of ours.
    pub fn record(&self) -> Option<Record> {
        let bytes = JobFolder::open(&self.dir).ok()?.other(RECORD).ok()??;
        let record: Record = serde_json::from_slice(&bytes).ok()?;
        (record.version == VERSION).then_some(record)
    }

    /// The variables of this machine whose values it takes as secrets: those that the manifest names in `secrets`, and
    /// those that stand under the name of one.
    ///
    /// # Errors
    /// The configuration is there and cannot be read.
    pub fn variables(&self) -> Result<BTreeSet<String>> {
        match fs::read_to_string(self.config()) {
            Ok(config) => Ok(variables::secret(&config)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(failed("reading", &self.config())(error)),
        }
    }

    /// Keeps other processes from beginning and from running it, until this is dropped; none if another one does so already. Makes
    /// the folder, in which the lock lies: the job exists no more for that.
    pub fn acquire(&self) -> Result<Option<JobLock>> {
        let path = self.dir.join(LOCK);
        // Who held it may have taken the folder away again, and what we hold then is a file that nobody finds.
        for _ in 0..ATTEMPTS {
            fs::create_dir_all(&self.dir).map_err(failed("making", &self.dir))?;
            let Attempt::Held(lock) = LockFile::acquire(&path, &Wait::none())? else { return Ok(None) };
            let held = lock.file().metadata().map_err(failed("looking at", &path))?.ino();
            if fs::metadata(&path).is_ok_and(|found| found.ino() == held) {
                return Ok(Some(JobLock { lock, job: self.clone() }));
            }
        }
        Ok(None)
    }

    /// The process that runs it, "process 17"; none if none does. An empty text is one that has not said its number yet.
    pub fn runner(&self) -> Option<String> {
        LockFile::holder(self.dir.join(LOCK))
    }
}

/// The right to begin a job and to run it, which one process has at a time. Where none came of it, its folder goes with it.
#[derive(Debug)]
pub struct JobLock {
    lock: LockFile,
    job: Job,
}

impl JobLock {
    /// The open file: a process that inherits it holds the lock too.
    pub fn file(&self) -> &File {
        self.lock.file()
    }
}

impl Drop for JobLock {
    fn drop(&mut self) {
        if !self.job.exists() {
            // The folder stays if anything else is in it.
            let _ = fs::remove_file(self.job.dir.join(LOCK)).and_then(|()| fs::remove_dir(&self.job.dir));
        }
    }
}

/// The jobs of an experiment, or all there are, by name. Folders that are no jobs of ours are passed over.
pub fn list(workspace: &Workspace, experiment: Option<&str>) -> Result<Vec<Job>> {
    let folder = workspace.jobs_dir();
    let entries = match folder.read_dir_utf8() {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed("reading", &folder)(error)),
    };
    let mut jobs = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed("reading", &folder))?;
        let job = Job::new(workspace, entry.file_name());
        let Some(record) = job.record() else { continue };
        if experiment.is_none_or(|experiment| experiment == record.experiment) {
            jobs.push(job);
        }
    }
    jobs.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_runs_a_job_and_the_others_see_which() {
        let folder = tempfile::tempdir().unwrap();
        let job = Job::at(Utf8Path::from_path(folder.path()).unwrap()).unwrap();
        assert_eq!(job.runner(), None);
        let lock = job.acquire().unwrap();
        assert_eq!(job.runner(), Some(format!("process {}", std::process::id())));
        assert!(job.acquire().unwrap().is_none());
        drop(lock);
        assert_eq!(job.runner(), None);
    }

    #[test]
    fn only_who_holds_a_job_forgets_what_one_of_its_name_has_used() {
        let folder = tempfile::tempdir().unwrap();
        let job = Job::at(&Utf8Path::from_path(folder.path()).unwrap().join("jobs/j")).unwrap();
        let lock = job.acquire().unwrap().unwrap();
        assert!(!job.exists(), "a lock alone is no job");
        job.forget(&lock).unwrap();
        fs::create_dir_all(job.gateway()).unwrap();
        fs::create_dir_all(job.gateway().with_file_name("other")).unwrap();
        assert!(job.acquire().unwrap().is_none(), "nobody else begins it");
        job.forget(&lock).unwrap();
        assert!(!job.gateway().exists() && job.gateway().with_file_name("other").exists());
        drop(lock);
        assert!(!job.dir.exists(), "nothing came of it");
    }

    #[test]
    fn the_folder_of_a_job_that_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let job = Job::at(&Utf8Path::from_path(folder.path()).unwrap().join("j")).unwrap();
        let lock = job.acquire().unwrap().unwrap();
        job.create("a: 1\n", &Record::new("e", "e.toml".into(), None)).unwrap();
        drop(lock);
        assert!(job.exists());
        drop(job.acquire().unwrap().unwrap());
    }
}
