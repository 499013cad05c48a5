//! Walks and reads, several trials at once, and hands what came of them to the one that writes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use taskwright_base::{Error, Result};

use super::find;
use super::model::Options;
use super::read;
use crate::db::Ledger;
use crate::evidence::store::Fresh;

/// How many trials are read at a time.
pub(super) const PORTION: usize = if cfg!(test) { 16 } else { 128 };
/// After how many trials, bytes of evidence or seconds a transaction ends: what is killed has lost no more than that.
pub(super) const BATCH_TRIALS: usize = if cfg!(test) { 64 } else { 4096 };
const BATCH_BYTES: u64 = 256 << 20;
const BATCH_TIME: Duration = Duration::from_secs(2);

/// What the threads that read tell the one that writes.
pub(super) enum Message {
    /// What came of a portion, in the order in which it was found.
    Done(Vec<read::Done>),
    /// The evidence of all before is on the disk, in these packs of these sizes.
    Commit(Vec<(Arc<str>, u64)>),
}

/// Walks and reads.
pub(super) struct Reader<'a> {
    pub options: &'a Options<'a>,
    pub directory: &'a Path,
    pub send: &'a SyncSender<Message>,
    /// Those that wait for work.
    pub workers: Mutex<Vec<read::Worker>>,
    pub fresh: Fresh,
}

impl Reader<'_> {
    pub fn run(&self, paths: &[PathBuf]) -> Result<()> {
        let ledger = Ledger::read(self.directory)?;
        let mut portion = Vec::new();
        let mut trials = 0;
        let mut begun = Instant::now();
        let walked = find::walk(&ledger, paths, self.options, &mut |item| {
            portion.push(item);
            if portion.len() < PORTION {
                return Ok(());
            }
            trials += portion.len();
            self.read(&mut portion)?;
            if trials >= BATCH_TRIALS || self.unsealed() >= BATCH_BYTES || begun.elapsed() >= BATCH_TIME {
                trials = 0;
                self.seal()?;
                begun = Instant::now();
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
        self.send.send(message).map_err(|_| Error::interrupted())
    }
}
