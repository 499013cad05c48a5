//! The record of an evaluation: a folder that outlives us, whatever becomes of us.
//!
//! ```text
//! RECORD/lock                    held by who works on it, until the last process of the run is gone
//! RECORD/home/                   in a sidecar: the home of the user that the run is
//! RECORD/candidate/              the candidate's files, at a path that no other content ever has
//! RECORD/rounds/0001.json        the job's configuration
//! RECORD/rounds/0001.log         what Harbor printed
//! RECORD/rounds/0001.end.json    how the round ended; missing if we were killed
//! RECORD/jobs/NAME-0001/         the job as Harbor keeps it: nothing of ours is in there
//! ```
//!
//! Harbor's own results are the record: a trial is kept the moment Harbor has written it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use taskwright_base::lock::{Attempt, LockFile, Wait};
use taskwright_base::write::{self, Durable};
use taskwright_base::{Error, Result, failed};

use crate::cancel::Cancel;
use crate::failure::ErrorClass;
use crate::sandbox::folder;
use taskwright_base::copy::copy;

/// A record that we work on.
#[derive(Debug)]
pub(super) struct Record {
    dir: PathBuf,
    lock: LockFile,
}

/// One job of a record.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub config: PathBuf,
    pub log: PathBuf,
    /// The folder that Harbor keeps the job in.
    pub job_dir: PathBuf,
    end: PathBuf,
}

/// How a round ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RoundEnd {
    pub how: How,
    /// What became of the process, in words.
    pub status: String,
    /// Attempts that the candidate failed and that Harbor says nothing of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Failed>,
}

/// Attempts that the candidate failed and that Harbor says nothing of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failed {
    pub class: ErrorClass,
    pub message: String,
    /// How many at each sample.
    pub attempts: BTreeMap<String, u64>,
}

/// What ended a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum How {
    Finished,
    /// Somebody who did not want to wait.
    Cancelled,
    TimeOver,
    /// A trial that did not end.
    Overrun,
    /// The process that watched it was killed.
    Killed,
}

impl Record {
    /// Opens a record, or begins it. Waits for who else works on it; `waiting` is called once if that takes a while.
    /// None if it was cancelled meanwhile.
    pub fn open(dir: &Path, waiting: &dyn Fn(&str), cancel: &Cancel) -> Result<Option<Self>> {
        for folder in ["rounds", "jobs"] {
            let folder = dir.join(folder);
            std::fs::create_dir_all(&folder).map_err(failed("making", &folder))?;
        }
        let dir = dir.canonicalize().map_err(failed("finding", dir))?;
        let stop = || cancel.is_cancelled();
        match LockFile::acquire(dir.join("lock"), &Wait::until(waiting, &stop))? {
            Attempt::Held(lock) => Ok(Some(Self { dir, lock })),
            Attempt::Stopped | Attempt::Busy(_) => Ok(None),
        }
    }

    /// The lock: to be held by all that works on the record.
    pub fn lock(&self) -> &File {
        self.lock.file()
    }

    /// The folder of the record.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the run finds as its user's home.
    pub fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    /// The candidate's files: a copy, since an installer may write into it.
    pub fn candidate(&self, files: &Path) -> Result<PathBuf> {
        let place = self.dir.join("candidate");
        if !place.is_dir() {
            let part = self.dir.join("candidate.part");
            folder::remove(&part).map_err(failed("removing", &part))?;
            copy(files, &part)?;
            std::fs::rename(&part, &place).map_err(failed("moving", &place))?;
        }
        Ok(place)
    }

    /// The folder that Harbor makes its jobs' folders in.
    pub fn jobs_dir(&self) -> PathBuf {
        self.dir.join("jobs")
    }

    /// The folder of the rounds.
    pub fn rounds_dir(&self) -> PathBuf {
        self.dir.join("rounds")
    }

    /// The rounds so far, with how they ended; none for one that nobody saw the end of.
    pub fn rounds(&self, name: &str) -> Result<Vec<(Round, Option<RoundEnd>)>> {
        let mut rounds = Vec::new();
        loop {
            let round = self.round(name, rounds.len() + 1);
            if !round.config.is_file() {
                return Ok(rounds);
            }
            let end = match std::fs::read(&round.end) {
                Ok(bytes) => serde_json::from_slice(&bytes).ok(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(failed("reading", &round.end)(error)),
            };
            rounds.push((round, end));
        }
    }

    /// The place of a round, counted from 1.
    pub fn round(&self, name: &str, number: usize) -> Round {
        let rounds = self.rounds_dir();
        Round {
            config: rounds.join(format!("{number:04}.json")),
            log: rounds.join(format!("{number:04}.log")),
            end: rounds.join(format!("{number:04}.end.json")),
            job_dir: self.jobs_dir().join(job_name(name, number)),
        }
    }
}

/// The name of a round's job.
pub(super) fn job_name(name: &str, number: usize) -> String {
    format!("{name}-{number:04}")
}

impl Round {
    /// Keeps how the round ended.
    pub fn write_end(&self, end: &RoundEnd) -> Result<()> {
        let bytes = serde_json::to_vec_pretty(end)
            .map_err(|error| Error::new(format!("the end of a round cannot be recorded: {error}")))?;
        write::atomic(&self.end, Durable::Yes, &bytes)
    }
}
