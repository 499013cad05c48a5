//! The service behind the network: evaluations, budgets and submissions, kept in a journal.

mod create;
mod open;
mod room;
#[cfg(test)]
mod tests;
mod view;
mod work;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use taskwright_language::serve::ServeConfig;
use tokio::sync::watch;

pub use create::Request;
pub use open::{OpenError, open};
pub use view::parse_id;

use crate::api::State;
use crate::blocks::Chooser;
use crate::events::{Entry, Purpose};
use crate::journal::Journal;
use crate::ledger::Ledger;
use crate::problem::{Kind, Problem};
use crate::runner::Runner;
use taskwright_eval::Cancel;

/// How many of the optimizer's evaluations may wait at once.
pub const MOST_WAITING: usize = 64;

/// How far an evaluation that is not over is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Its state.
    pub state: State,
    /// Finished samples.
    pub finished: u64,
    /// How much of its record is written.
    pub bytes: u64,
}

/// An evaluation that is not over.
struct Live {
    stop: Cancel,
    progress: watch::Sender<Progress>,
}

/// The service.
pub struct Service {
    /// What the task says.
    pub config: ServeConfig,
    /// The digest of what the task says.
    pub config_digest: String,
    /// Where the state is.
    pub state: PathBuf,
    /// Runs candidates.
    pub runner: Box<dyn Runner>,
    choosers: BTreeMap<String, Chooser>,
    /// Held while something is decided and written; whoever holds it is alone in changing the ledger.
    journal: Mutex<Journal>,
    ledger: RwLock<Ledger>,
    live: Mutex<HashMap<u64, Live>>,
    queue: Mutex<VecDeque<u64>>,
    queued: Condvar,
    /// Held while a candidate runs, so that none disturbs another's measurement.
    running: Mutex<()>,
    /// Held while candidates are taken in.
    importing: Mutex<()>,
    /// Bytes of all records.
    recorded: AtomicU64,
    lock: std::fs::File,
}

impl Drop for Service {
    fn drop(&mut self) {
        // Closing it is not enough: a process that is just being started has it open until it executes its program.
        let _ = self.lock.unlock();
    }
}

/// A lock's content, even if a thread panicked while it held the lock: nothing here is left half-changed by one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Service {
    /// What the journal adds up to.
    pub fn ledger(&self) -> RwLockReadGuard<'_, Ledger> {
        self.ledger.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn ledger_mut(&self) -> RwLockWriteGuard<'_, Ledger> {
        self.ledger.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an entry, durably, and only then believes it.
    fn commit(&self, journal: &mut Journal, entry: &Entry) -> Result<(), Problem> {
        let failed = |error: &dyn std::fmt::Display| {
            Problem::new(
                Kind::Broken,
                format!("the service cannot write its journal: {error}"),
                "nothing was charged; try again later",
            )
        };
        journal.append(entry).map_err(|error| failed(&error))?;
        self.ledger_mut().apply(entry).map_err(|error| failed(&error))
    }

    /// Where an evaluation's samples are recorded.
    pub fn record_path(&self, number: u64) -> PathBuf {
        self.state.join("records").join(format!("{number:06}.jsonl"))
    }

    /// The one that knows which samples of a split may be chosen.
    pub fn chooser(&self, split: &str) -> Option<&Chooser> {
        self.choosers.get(split)
    }

    /// Ends the optimizer's part: from now on no evaluation and no submission is taken, and what runs is stopped.
    pub fn seal(&self) -> Result<(), Problem> {
        {
            let mut journal = lock(&self.journal);
            if !self.ledger().sealed {
                self.commit(&mut journal, &Entry::Sealed)?;
            }
        }
        let running: Vec<u64> = lock(&self.live).keys().copied().collect();
        for number in running {
            let of_optimizer = |known: &crate::ledger::Known| known.charged.purpose == Purpose::Optimizer;
            if self.ledger().evaluation(number).is_some_and(of_optimizer) {
                self.stop(number);
            }
        }
        // Whatever runs now has been asked to stop: when nothing runs any more, all of it has ended.
        drop(lock(&self.running));
        Ok(())
    }

    /// Notes the verdict. The first one stands.
    pub fn close(&self, digest: &str) -> Result<(), Problem> {
        let mut journal = lock(&self.journal);
        if self.ledger().verdict.is_some() {
            return Ok(());
        }
        self.commit(&mut journal, &Entry::Verdict { digest: digest.to_owned() })
    }
}

/// Seconds since 1970, for people to read: nothing is decided by it.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
