//! How to import, and what an import came to.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use taskwright_base::{Error, Result};

use crate::record::{Provenance, Source};
use crate::redact::Secrets;

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
    /// Values that are secret whatever they look like: those of the variables that whoever ran the trials has named.
    pub secrets: Secrets,
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
    /// How many trials failed within three seconds of each other, if that is more than chance: what they share may have failed.
    pub failed_together: u64,
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
    /// How many bytes of evidence were removed first, which an import that was killed had left.
    pub swept: u64,
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

    pub(super) fn count(&mut self, outcome: Outcome) {
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

impl Options<'_> {
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    pub(super) fn check_stop(&self) -> Result<()> {
        if self.is_stopped() { Err(Error::interrupted()) } else { Ok(()) }
    }
}
