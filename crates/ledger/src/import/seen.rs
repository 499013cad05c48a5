//! Files that were imported, as the file system had them then: one that has not changed since need not be read again.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

use rusqlite::params;
use rustix::fs::Stat;
use taskwright_base::Result;
pub(super) use taskwright_base::stamp::Stamp;

use crate::db::Ledger;

/// The stamp of a file, if it was not changed just now; asked for before the file is read.
pub(super) fn settled(stat: &Stat) -> Option<Stamp> {
    Some(Stamp::from(stat).settled(SystemTime::now())).filter(|stamp| !stamp.is_young())
}

/// What was imported, by path: its stamp then, and the number of the trial, if it is a trial's.
///
/// Stamps are compared as bytes: one of another release matches nothing, and what it is of is read once more.
#[derive(Default)]
pub(super) struct Seen(HashMap<Vec<u8>, (Vec<u8>, Option<i64>)>);

impl Seen {
    /// The trial of a result that has not changed.
    pub fn trial(&self, path: &Path, stamp: &Stamp) -> Option<i64> {
        let (before, trial) = self.0.get(path.as_os_str().as_bytes())?;
        (*before == stamp.to_bytes()).then_some(*trial).flatten()
    }

    pub fn is_unchanged(&self, path: &Path, stamp: &Stamp) -> bool {
        self.0.get(path.as_os_str().as_bytes()).is_some_and(|(before, _)| *before == stamp.to_bytes())
    }
}

/// What was imported from a job's folder.
pub(super) fn seen(ledger: &Ledger, job: &Path) -> Result<Seen> {
    let mut from = job.as_os_str().as_bytes().to_vec();
    from.push(b'/');
    let mut to = from.clone();
    // The sign after the slash: all paths below the folder lie between the two.
    if let Some(last) = to.last_mut() {
        *last += 1;
    }
    let read = || {
        let mut statement = ledger
            .connection
            .prepare_cached("SELECT path, stamp, trial FROM seen WHERE path > ?1 AND path < ?2")?;
        let rows =
            statement.query_map(params![from, to], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
        rows.collect::<rusqlite::Result<_>>()
    };
    read().map(Seen).map_err(|error| ledger.failed(&error))
}
