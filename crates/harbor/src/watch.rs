//! Watches a job's folder for trials that begin and end, while Harbor works in it.
//!
//! A trial is a folder directly below the job's, and it has ended when its `result.json` can be read: what lies deeper
//! was written by agents and tasks and means nothing. Harbor writes the file in place, so half of it may be there; and
//! it removes the folder of a trial that it tries again.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use serde::Deserialize;
use taskwright_base::folder::Folder;

use crate::document::{MAX_DOCUMENT, parse, read};
use crate::job::TrialFolder;

/// What happened to a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialEvent {
    /// It began.
    Began {
        /// Its name: that of its folder.
        trial: String,
    },
    /// It ended, and `result.json` in its folder says how.
    Ended {
        /// Its name.
        trial: String,
        /// Its folder.
        dir: PathBuf,
    },
    /// Its folder is gone or begun anew: Harbor tries it again under the same name.
    Again {
        /// Its name.
        trial: String,
    },
}

/// Watches one job's folder. Foreign folders in it are taken for trials as soon as they hold a trial's files.
#[derive(Debug)]
pub struct Watch {
    job: PathBuf,
    trials: HashMap<String, Seen>,
}

/// What a file looks like from outside: its number, its size, and when it was changed.
type Look = (u64, u64, i64, i64);

#[derive(Debug)]
struct Seen {
    began: Instant,
    /// The folder's own number: a folder that is made anew has another one.
    folder: u64,
    /// What the result looked like when it could be read: a file that changes is read again.
    result: Option<Look>,
    /// What it looked like when it could not.
    unreadable: Option<Look>,
}

impl Watch {
    /// Watches a folder, which need not be there yet.
    pub fn new(job: impl Into<PathBuf>) -> Self {
        Self { job: job.into(), trials: HashMap::new() }
    }

    /// What happened since this was asked last, in order of the trials' names.
    pub fn look(&mut self) -> io::Result<Vec<TrialEvent>> {
        let mut events = Vec::new();
        let mut names = match std::fs::read_dir(&self.job) {
            Ok(entries) => names(entries)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(events),
            Err(error) => return Err(error),
        };
        names.sort_unstable();
        let mut gone: Vec<String> =
            self.trials.keys().filter(|name| names.binary_search(name).is_err()).cloned().collect();
        gone.sort_unstable();
        for trial in gone {
            self.trials.remove(&trial);
            events.push(TrialEvent::Again { trial });
        }
        for trial in names {
            let dir = self.job.join(&trial);
            let Ok(folder) = dir.symlink_metadata() else { continue };
            if self.trials.get(&trial).is_some_and(|seen| seen.folder != folder.ino()) {
                self.trials.remove(&trial);
                events.push(TrialEvent::Again { trial: trial.clone() });
            }
            let seen = match self.trials.entry(trial.clone()) {
                std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                // A folder that somebody else made is no trial that runs, and must not be waited for.
                std::collections::hash_map::Entry::Vacant(_) if !is_trial(&self.job, &trial) => continue,
                std::collections::hash_map::Entry::Vacant(entry) => {
                    events.push(TrialEvent::Began { trial: trial.clone() });
                    let (folder, began) = (folder.ino(), began(&folder));
                    entry.insert(Seen { folder, began, result: None, unreadable: None })
                }
            };
            let path = dir.join("result.json");
            let Some(look) = appearance(&path) else { continue };
            if seen.result == Some(look) || seen.unreadable == Some(look) {
                continue;
            }
            if is_whole(&self.job, &trial) {
                seen.result = Some(look);
                events.push(TrialEvent::Ended { trial, dir });
            } else {
                seen.unreadable = Some(look);
            }
        }
        Ok(events)
    }

    /// The trials that have begun and not ended, and since when.
    pub fn running(&self) -> impl Iterator<Item = (&str, Instant)> {
        self.trials
            .iter()
            .filter(|(_, seen)| seen.result.is_none())
            .map(|(name, seen)| (name.as_str(), seen.began))
    }

    /// How many trials have ended.
    pub fn ended(&self) -> usize {
        self.trials.values().filter(|seen| seen.result.is_some()).count()
    }
}

/// The names of a job's trials, finished or not, sorted; empty if there is no such folder.
pub fn trial_names(job: &Path) -> io::Result<Vec<String>> {
    let mut names = match std::fs::read_dir(job) {
        Ok(entries) => names(entries)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    names.sort_unstable();
    Ok(names)
}

/// The folders, by name. Links are none: Harbor makes none.
fn names(entries: std::fs::ReadDir) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir())
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    Ok(names)
}

fn appearance(path: &Path) -> Option<Look> {
    let metadata = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some((metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}

/// When a folder was made, on the clock that only goes forward; at the latest now.
fn began(folder: &std::fs::Metadata) -> Instant {
    let now = Instant::now();
    let made = folder.created().or_else(|_| folder.modified()).ok();
    let age = made.and_then(|made| SystemTime::now().duration_since(made).ok());
    age.and_then(|age| now.checked_sub(age)).unwrap_or(now)
}

/// Whether Harbor has written anything into a folder of a job.
fn is_trial(job: &Path, trial: &str) -> bool {
    TrialFolder::open(job.join(trial)).is_ok_and(|folder| folder.is_trial())
}

/// Whether a job holds a whole result of the trial of that name. Others may write there while we look: what stands in the
/// stead of the folder or of the file by now is not waited for, not followed, and not read beyond what a result can have.
fn is_whole(job: &Path, trial: &str) -> bool {
    #[derive(Deserialize)]
    struct Identity {
        trial_name: String,
    }
    let mut bytes = Vec::new();
    let folder = Folder::open(job).and_then(|job| job.folder(trial));
    let read = folder.is_ok_and(|folder| read(&folder, "result.json", MAX_DOCUMENT, &mut bytes).is_ok());
    let identity = || parse(&bytes, |text| serde_json::from_str::<Identity>(text));
    read && identity().is_ok_and(|identity| identity.trial_name == trial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    fn result(job: &Path, trial: &str, text: &str) {
        std::fs::create_dir_all(job.join(trial)).unwrap();
        std::fs::write(job.join(trial).join("result.json"), text).unwrap();
    }

    fn began(trial: &str) -> TrialEvent {
        TrialEvent::Began { trial: trial.to_owned() }
    }

    #[test]
    fn trials_begin_and_end() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path().join("job");
        let mut watch = Watch::new(&job);
        assert!(watch.look().unwrap().is_empty());
        std::fs::create_dir_all(job.join("a__1")).unwrap();
        std::fs::write(job.join("result.json"), "{}").unwrap();
        // Harbor has made the folder and nothing in it yet.
        assert!(watch.look().unwrap().is_empty());
        std::fs::write(job.join("a__1/trial.log"), "").unwrap();
        assert_eq!(watch.look().unwrap(), [began("a__1")]);
        assert_eq!(watch.running().map(|(name, _)| name).collect::<Vec<_>>(), ["a__1"]);
        // Half written, then a forgery further down, then whole.
        result(&job, "a__1", r#"{"trial_name": "a__1""#);
        result(&job, "a__1/agent", r#"{"trial_name": "a__1"}"#);
        assert!(watch.look().unwrap().is_empty());
        result(&job, "a__1", r#"{"trial_name": "a__1"}"#);
        let ended = TrialEvent::Ended { trial: "a__1".to_owned(), dir: job.join("a__1") };
        assert_eq!(watch.look().unwrap(), [ended]);
        assert!(watch.look().unwrap().is_empty());
        assert_eq!((watch.running().count(), watch.ended()), (0, 1));
    }

    #[test]
    fn a_trial_that_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut watch = Watch::new(folder.path());
        result(folder.path(), "a__1", r#"{"trial_name": "a__1", "id": 1}"#);
        assert_eq!(watch.look().unwrap().len(), 2);
        std::fs::remove_dir_all(folder.path().join("a__1")).unwrap();
        assert_eq!(watch.look().unwrap(), [TrialEvent::Again { trial: "a__1".to_owned() }]);
        result(folder.path(), "a__1", r#"{"trial_name": "a__1", "id": 2}"#);
        assert_eq!(watch.look().unwrap().len(), 2);
        assert_eq!(watch.ended(), 1);
    }

    #[test]
    fn what_is_put_in_a_results_place_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let job = folder.path();
        let place = |trial: &str| {
            std::fs::create_dir_all(job.join(trial)).unwrap();
            std::fs::write(job.join(trial).join("trial.log"), "").unwrap();
            job.join(trial).join("result.json")
        };
        rustix::fs::mkfifoat(rustix::fs::CWD, place("pipe"), rustix::fs::Mode::RUSR).unwrap();
        // A hole, which takes no room and would be read as a gigabyte of zeros.
        std::fs::File::create(place("large")).unwrap().set_len(1 << 30).unwrap();
        result(job, "whole", r#"{"trial_name": "link", "rewards": 1}"#);
        std::os::unix::fs::symlink(job.join("whole/result.json"), place("link")).unwrap();
        std::fs::create_dir(place("folder")).unwrap();
        for trial in ["pipe", "large", "link", "folder"] {
            assert!(!is_whole(job, trial), "{trial}");
        }
        let mut watch = Watch::new(job);
        let begun = ["folder", "large", "link", "pipe", "whole"].map(began);
        assert_eq!(watch.look().unwrap(), begun);
        // What Harbor puts there is, also with a number that JSON has not.
        std::fs::remove_file(place("pipe")).unwrap();
        result(job, "pipe", r#"{"trial_name": "pipe", "rewards": {"reward": NaN}}"#);
        assert_eq!(
            watch.look().unwrap(),
            [TrialEvent::Ended { trial: "pipe".to_owned(), dir: job.join("pipe") }]
        );
    }

    #[test]
    fn what_is_no_trial() {
        let folder = tempfile::tempdir().unwrap();
        result(folder.path(), "notes", r#"{"trial_name": "another"}"#);
        std::os::unix::fs::symlink("/", folder.path().join("link")).unwrap();
        std::fs::create_dir_all(folder.path().join("mine/agent")).unwrap();
        let mut watch = Watch::new(folder.path());
        assert_eq!(watch.look().unwrap(), [began("notes")]);
        assert_eq!(trial_names(folder.path()).unwrap(), ["mine", "notes"]);
        assert!(trial_names(&folder.path().join("no")).unwrap().is_empty());
    }
}
