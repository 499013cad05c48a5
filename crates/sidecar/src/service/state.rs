//! The service's state, and the one way to change it: write the journal, then believe what was written.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use taskwright_base::lock::LockFile;
use taskwright_eval::Cancel;
use taskwright_language::serve::ServeConfig;
use tokio::sync::watch;

use super::reserve::Reserve;
use crate::api::State;
use crate::budget::BudgetBook;
use crate::chooser::Chooser;
use crate::events::Entry;
use crate::journal::Journal;
use crate::problem::{Kind, Problem};
use crate::runner::Runner;

/// How far an evaluation that is not over is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub state: State,
    pub finished: u64,
    /// How much of its record is written.
    pub bytes: u64,
}

pub(super) struct Live {
    pub stop: Cancel,
    pub progress: watch::Sender<Progress>,
}

/// Locks are taken in this order, and never one above while one below is locked: `running`, `importing`, `journal`,
/// then for a moment each `book`, `live`, `queue`.
pub struct Service {
    pub config: ServeConfig,
    pub config_digest: String,
    pub state: PathBuf,
    pub runner: Box<dyn Runner>,
    pub(super) choosers: BTreeMap<String, Chooser>,
    /// Locked while something is decided and written: only who has it changes the book.
    pub(super) journal: Mutex<Journal>,
    pub(super) book: RwLock<BudgetBook>,
    pub(super) live: Mutex<HashMap<u64, Live>>,
    pub(super) queue: Mutex<VecDeque<u64>>,
    pub(super) queued: Condvar,
    /// Locked while a candidate runs, so that none disturbs another's measurement.
    pub(super) running: Mutex<()>,
    pub(super) importing: Mutex<()>,
    /// Bytes on disk of all records, and of the journal.
    pub(super) recorded: AtomicU64,
    pub(super) journaled: AtomicU64,
    /// Bytes of the uploads that are not imported yet.
    pub(super) uploading: AtomicU64,
    pub(super) reserve: Reserve,
    /// Counts what was written, for whoever waits for the next.
    pub(super) changes: (Mutex<u64>, Condvar),
    /// One service at a time uses the state.
    pub(super) _lock: LockFile,
}

/// A lock's content, even if a thread panicked while it had the lock: nothing here is left half-changed by one.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Service {
    /// What the journal adds up to.
    pub fn book(&self) -> RwLockReadGuard<'_, BudgetBook> {
        self.book.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn book_mut(&self) -> RwLockWriteGuard<'_, BudgetBook> {
        self.book.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an entry, durably, and only then believes it.
    pub(super) fn commit(&self, journal: &mut Journal, entry: &Entry) -> Result<(), Problem> {
        let failed = |error: &dyn Display| {
            Problem::new(
                Kind::Broken,
                format!("the service cannot write its journal: {error}"),
                "nothing was charged; try again later",
            )
        };
        journal.append(entry).map_err(|error| failed(&error))?;
        self.journaled.store(journal.length(), Ordering::Relaxed);
        *lock(&self.changes.0) += 1;
        self.changes.1.notify_all();
        self.book_mut().apply(entry).map_err(|error| failed(&error))
    }

    pub fn record_path(&self, number: u64) -> PathBuf {
        self.state.join("records").join(format!("{number:06}.jsonl"))
    }

    /// The one that knows which samples of a split may be chosen.
    pub fn chooser(&self, split: &str) -> Option<&Chooser> {
        self.choosers.get(split)
    }

    pub fn size_of(&self, split: &str) -> usize {
        self.config.splits.get(split).map_or(0, |split| split.samples.len())
    }

    /// Waits until more was written than when it said so last; says how much it is now.
    pub fn wait_for_change(&self, seen: u64) -> u64 {
        let now = lock(&self.changes.0);
        *self.changes.1.wait_while(now, |now| *now == seen).unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the verdict. The first one stands.
    pub fn close(&self, digest: &str) -> Result<(), Problem> {
        let mut journal = lock(&self.journal);
        if self.book().verdict.is_some() {
            return Ok(());
        }
        self.commit(&mut journal, &Entry::Verdict { digest: digest.to_owned() })
    }
}

/// Seconds since 1970, for people to read: nothing is decided by it.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
