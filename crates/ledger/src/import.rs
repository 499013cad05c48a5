//! Taking trials that Harbor has run into the ledger: each on its own, so that a damaged one costs nothing but itself.
//!
//! One thread walks ([`find`]) and hands trials in portions to several that read them and store their evidence
//! ([`read`]); another writes the records ([`apply`]), a batch in a transaction, after the batch's evidence is on the disk.
//! Whenever it is killed, the trials of finished batches are there as a whole and all others not at all.

mod apply;
mod evidence;
mod find;
mod plan;
mod read;
mod stamp;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rayon::prelude::*;
use serde::Serialize;

use crate::database::Ledger;
use crate::error::{LedgerError, Result};
use crate::record::{Provenance, Source};
use crate::store::Fresh;
use find::Job;

/// How many trials are read at a time.
const PORTION: usize = if cfg!(test) { 16 } else { 256 };
/// After how many trials, or bytes of evidence, a transaction ends.
const BATCH_TRIALS: usize = if cfg!(test) { 64 } else { 4096 };
const BATCH_BYTES: u64 = 256 << 20;

/// How to import.
#[derive(Default)]
pub struct Options<'a> {
    /// The experiment that the trials belong to. Trials that are there and belong to none are given to it.
    pub experiment: Option<String>,
    /// Which command imports.
    pub source: Source,
    /// Whether a trial whose content differs from what is there takes its place.
    pub replace: bool,
    /// Whether evidence stays where it is, and only its digests are kept.
    pub reference: bool,
    /// The key of the reward that counts, where it is not the usual.
    pub reward_key: Option<String>,
    /// What tasks were built from, by their content digest.
    pub provenance: HashMap<String, Provenance>,
    /// What is known of the job in a folder besides; it fills in what is not said here.
    pub job: Option<&'a (dyn Fn(&Path) -> JobDescription + Sync)>,
    /// Set when the import shall stop: it then keeps what is whole.
    pub stop: Option<&'a AtomicBool>,
    /// Called once if another process changes the ledger, before waiting for it.
    pub waiting: Option<&'a (dyn Fn() + Sync)>,
}

/// What is known of a job that Harbor's files do not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobDescription {
    /// The experiment that it is of.
    pub experiment: Option<String>,
    /// The key of the reward that counts in it.
    pub reward_key: Option<String>,
    /// What its tasks were built from, by their content digest.
    pub provenance: HashMap<String, Provenance>,
}

/// What became of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is in the ledger now, complete.
    Imported,
    /// It is in the ledger now, without a reward that counts.
    Partial,
    /// It took the place of another of its identifier, as was asked for.
    Replaced,
    /// It was there already.
    Duplicate,
    /// Another of its identifier with other content is there, and stays.
    Conflict,
    /// It is no trial, or cannot be read.
    Rejected,
    /// It was planned and has no result.
    Missing,
}

/// What happened to one trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// What became of it.
    pub outcome: Outcome,
    /// Its folder, or the file that was refused; of a missing one its job's.
    pub path: String,
    /// Its name; of a missing one its task's.
    pub trial: Option<String>,
    /// Why, where there is something to say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// A job that was met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobSeen {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub path: String,
    /// How many trials it planned, if that is known.
    pub planned: Option<u64>,
    /// How many of them have a result.
    pub found: u64,
    /// How many trials were planned and have no result.
    pub missing: u64,
    /// Whether Harbor has finished it. If not, it runs or was stopped.
    pub finished: bool,
}

/// What an import came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How many trials are in the ledger now that were not, and are complete.
    pub imported: u64,
    /// How many more that have no reward that counts.
    pub partial: u64,
    /// How many were replaced.
    pub replaced: u64,
    /// How many were there already.
    pub duplicates: u64,
    /// How many differ from what is there.
    pub conflicts: u64,
    /// How many were refused.
    pub rejected: u64,
    /// How many were planned and have no result.
    pub missing: u64,
    /// The jobs.
    pub jobs: Vec<JobSeen>,
}

impl Report {
    /// Whether nothing was refused, contradicted or missing.
    pub fn is_whole(&self) -> bool {
        self.conflicts + self.rejected + self.missing == 0
    }

    /// Whether there was no trial at all.
    pub fn is_empty(&self) -> bool {
        self.imported + self.partial + self.replaced + self.duplicates + self.conflicts == 0
    }

    fn count(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Imported => &mut self.imported,
            Outcome::Partial => &mut self.partial,
            Outcome::Replaced => &mut self.replaced,
            Outcome::Duplicate => &mut self.duplicates,
            Outcome::Conflict => &mut self.conflicts,
            Outcome::Rejected => &mut self.rejected,
            Outcome::Missing => &mut self.missing,
        } += 1;
    }
}

/// What the threads that read tell the one that writes.
enum Message {
    /// What came of a portion, in the order in which it was found.
    Done(Vec<read::Done>),
    /// The evidence of all before is on the disk, in these packs of these sizes.
    Commit(Vec<(Arc<str>, u64)>),
}

impl Ledger {
    /// Imports what lies at some paths: trials, jobs, folders of jobs at any depth, single results. `tell` hears of each
    /// trial, in the order of their names.
    ///
    /// An error means that the import ended early; what it told of before is in the ledger, or is imported next time.
    pub fn import(
        &mut self,
        paths: &[PathBuf],
        options: &Options<'_>,
        mut tell: impl FnMut(Event),
    ) -> Result<Report> {
        let _turn = self.take_turn(|| {
            if let Some(waiting) = options.waiting {
                waiting();
            }
        })?;
        let directory = self.directory().to_owned();
        let database = self.database();
        let (send, receive) = sync_channel(1);
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let send = send;
                Reader {
                    options,
                    directory: &directory,
                    send: &send,
                    workers: Mutex::default(),
                    fresh: Fresh::default(),
                }
                .run(paths)
            });
            let mut apply = apply::Apply::new(&mut self.connection, &database, options, &mut tell);
            let mut written = Ok(());
            for message in receive {
                // After a failure the reader's sends fail too, once the receiver is gone.
                written = match message {
                    Message::Done(portion) => apply.take(portion),
                    Message::Commit(packs) => apply.commit(&packs),
                };
                if written.is_err() {
                    break;
                }
            }
            let report = apply.finish();
            let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            written.and(read).map(|()| report)
        })
    }
}

/// Walks and reads.
struct Reader<'a> {
    options: &'a Options<'a>,
    directory: &'a Path,
    send: &'a SyncSender<Message>,
    /// Those that wait for work.
    workers: Mutex<Vec<read::Worker>>,
    fresh: Fresh,
}

impl Reader<'_> {
    fn run(&self, paths: &[PathBuf]) -> Result<()> {
        let ledger = Ledger::read(self.directory)?;
        let mut portion = Vec::new();
        let mut trials = 0;
        let walked = find::walk(&ledger, paths, self.options, &mut |item| {
            portion.push(item);
            if portion.len() < PORTION {
                return Ok(());
            }
            trials += portion.len();
            self.read(&mut portion)?;
            if trials >= BATCH_TRIALS || self.unsealed() >= BATCH_BYTES {
                trials = 0;
                self.seal()?;
            }
            Ok(())
        });
        match walked {
            Err(error) if !error.is_interrupt() => Err(error),
            walked => {
                self.read(&mut portion)?;
                self.seal()?;
                walked
            }
        }
    }

    /// Reads a portion and hands over what came of it.
    fn read(&self, portion: &mut Vec<find::Item>) -> Result<()> {
        let done: Vec<read::Done> = portion
            .par_drain(..)
            .with_max_len(8)
            .map(|item| {
                let idle = self.workers.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let mut worker = match idle {
                    Some(worker) => worker,
                    None => read::Worker::new(self.directory)?,
                };
                let done = worker.read(item, self.options, &self.fresh);
                self.workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
                done
            })
            .collect::<Result<_>>()?;
        self.send(Message::Done(done))
    }

    /// How many bytes of evidence are not on the disk yet.
    fn unsealed(&self) -> u64 {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner).iter().map(read::Worker::unsealed).sum()
    }

    fn seal(&self) -> Result<()> {
        let mut packs = Vec::new();
        for worker in self.workers.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            packs.extend(worker.seal()?);
        }
        self.send(Message::Commit(packs))?;
        // The writer has ended the batch before this one: it has taken what was sent after it.
        self.fresh.begin_batch();
        Ok(())
    }

    fn send(&self, message: Message) -> Result<()> {
        // The writer has an error of its own to report if it has stopped listening.
        self.send.send(message).map_err(|_| LedgerError::interrupted())
    }
}

impl Options<'_> {
    fn experiment(&self, job: Option<&Job>) -> Option<String> {
        self.experiment.clone().or_else(|| job.and_then(|job| job.description.experiment.clone()))
    }

    fn reward_key<'a>(&'a self, job: Option<&'a Job>) -> Option<&'a str> {
        self.reward_key.as_deref().or_else(|| job.and_then(|job| job.description.reward_key.as_deref()))
    }

    /// What a task was built from. What the job says of itself is what was so when it ran.
    fn provenance(&self, job: Option<&Job>, task_digest: Option<&str>) -> Option<Provenance> {
        let digest = task_digest?;
        let of_job = job.and_then(|job| job.description.provenance.get(digest));
        of_job.or_else(|| self.provenance.get(digest)).cloned()
    }

    fn check_stop(&self) -> Result<()> {
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(LedgerError::interrupted()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
