//! How much the service keeps: never more than the task allows, and never so much that there is no room to finish.
//!
//! What finalizing will write is set aside as a file of that size, which sealing removes: a number that is only compared
//! with what is free would have to foresee everything that an optimizer can make us write, and a file need not.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use taskwright_language::serve::ServeConfig;

use super::state::{Service, lock};
use crate::problem::{Kind, Problem};

/// What is set aside besides results: for the verdict, the bundle's index and all that is small.
const SPARE: u64 = 64 << 20;
/// What stays free besides, so that the journal can be written when nothing else may be: what is cancelled, what is
/// submitted.
const SLACK: u64 = 8 << 20;
/// Less than this, and what was set aside is needed to open the state at all.
const LEAST: u64 = 1 << 20;
/// What a sample's result takes besides what the candidate and the scorer say.
const RESULT: u64 = 1 << 10;
/// The least that a file takes of a disk.
const BLOCK: u64 = 4 << 10;

const RESERVE: &str = "reserve";
/// An upload on its way.
pub const UPLOAD: &str = "upload.pack";

impl Service {
    /// Refuses an evaluation of so many samples that there is no room for. What the task may keep is compared with what is
    /// there, as results are far smaller than they may be; the disk has room for all that they may be.
    pub fn refuse_if_full(&self, samples: usize) -> Result<(), Problem> {
        let (room, why) = self.room(results(&self.config, samples as u64));
        if room == 0 { Err(full(why)) } else { Ok(()) }
    }

    /// How many bytes an upload may have now, and the refusal of one that has more. Until it is imported it is there
    /// twice: as it was sent, and as it is kept.
    pub fn room_for_upload(&self) -> (u64, Problem) {
        let (room, why) = self.room(0);
        (room / 2, full(why))
    }

    /// How many bytes of the disk what is made of an upload may take, and the refusal of what takes more.
    pub(super) fn room_for_import(&self) -> (u64, Problem) {
        let (room, why) = self.room(0);
        (room, full(why))
    }

    /// How many bytes more may be kept, beside what will be written besides, and why no more.
    fn room(&self, besides: u64) -> (u64, String) {
        let written = [&self.recorded, &self.journaled].map(|bytes| bytes.load(Ordering::Relaxed));
        let kept = written.into_iter().fold(self.runner.kept_bytes(), u64::saturating_add);
        let most = self.config.limits.state_mb.saturating_mul(1 << 20);
        let of_task = most.saturating_sub(kept);
        let free = free(&self.state);
        let taken = [self.reserve.owed, SLACK, self.promised(), besides];
        let of_disk = taken.into_iter().fold(free, u64::saturating_sub);
        if of_disk < of_task {
            let why = format!(
                "the eval sidecar has {} MiB left on its disk, {} MiB of them for this, and keeps {} MiB free for the end",
                free >> 20,
                of_disk >> 20,
                self.reserve.size >> 20
            );
            return (of_disk, why);
        }
        let why = format!(
            "the eval sidecar keeps {} MiB of candidates and results, and may keep {} MiB in this task",
            kept >> 20,
            most >> 20
        );
        (of_task, why)
    }

    /// What the evaluations that are not over may write at most.
    fn promised(&self) -> u64 {
        let numbers: Vec<u64> = lock(&self.live).keys().copied().collect();
        let book = self.book();
        let samples = |number: u64| {
            let charged = &book.evaluation(number)?.charged;
            Some(charged.samples.as_ref().map_or_else(|| self.size_of(&charged.split), Vec::len) as u64)
        };
        numbers.into_iter().filter_map(samples).map(|count| results(&self.config, count)).sum()
    }

    /// Counts a record that will not grow any more.
    pub(super) fn count_record(&self, bytes: u64) {
        self.recorded.fetch_add(on_disk(bytes), Ordering::Relaxed);
    }
}

/// What a file of so many bytes takes of a disk.
pub(super) fn on_disk(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK).saturating_mul(BLOCK)
}

fn full(detail: String) -> Problem {
    Problem::new(
        Kind::Full,
        detail,
        "submit the best of what was evaluated (`taskwright results list`); nothing larger is taken any more",
    )
}

/// Without an answer the disk itself will say when it is full.
fn free(folder: &Path) -> u64 {
    rustix::fs::statvfs(folder).map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// What was set aside on the disk.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    size: u64,
    /// What could not be set aside as a file and has to stay free.
    owed: u64,
}

impl Reserve {
    /// Sets aside what finalizing will write at most, as far as there is room. A disk that is full is given room first.
    pub fn make(config: &ServeConfig, state: &Path) -> Self {
        let path = state.join(RESERVE);
        let aside = set_aside(config);
        let has = path.metadata().map_or(0, |file| file.blocks().saturating_mul(512));
        if has >= aside {
            if free(state) >= LEAST {
                return Self { path, size: aside, owed: 0 };
            }
            let _ = fs::remove_file(&path);
            return Self { path, size: aside, owed: aside };
        }
        let _ = fs::remove_file(&path);
        let wanted = aside.min(free(state) / 2);
        let owed = match fill(&path, wanted) {
            Ok(()) => aside - wanted,
            Err(error) => {
                eprintln!("taskwright: setting {} MiB of the disk aside: {error}", wanted >> 20);
                let _ = fs::remove_file(&path);
                aside
            }
        };
        Self { path, size: aside, owed }
    }

    /// Gives back what was set aside.
    pub fn release(&self) {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                eprintln!("taskwright: removing `{}`: {error}", self.path.display());
            }
            _ => {}
        }
    }
}

/// A file that takes so many bytes of the disk.
fn fill(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    if bytes == 0 {
        return Ok(());
    }
    match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        // Not every file system can; what is written is there as well.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let piece = vec![b'r'; 1 << 20];
            for at in (0..bytes).step_by(piece.len()) {
                let length = usize::try_from(bytes - at).unwrap_or(usize::MAX).min(piece.len());
                file.write_all(&piece[..length])?;
            }
            file.sync_data()
        }
        done => Ok(done?),
    }
}

/// What so many samples' results take at most.
fn results(config: &ServeConfig, samples: u64) -> u64 {
    let each = config.feedback.max_bytes.saturating_mul(2).saturating_add(RESULT);
    samples.saturating_mul(each)
}

/// What finalizing writes at most: each sample's result, in the record and again in the evidence.
fn set_aside(config: &ServeConfig) -> u64 {
    let selection = &config.selection;
    let size = config.splits.get(&selection.split).map_or(0, |split| split.samples.len() as u64);
    let times = selection.rescore_top_k.saturating_add(u64::from(selection.baseline_floor));
    let rescored = size.saturating_mul(times).saturating_mul(selection.rescore_attempts.max(1));
    let scored = config.targets.iter().map(|target| {
        let times = 1 + u64::from(selection.score_baseline);
        (target.samples.len() as u64).saturating_mul(target.attempts.max(1)).saturating_mul(times)
    });
    let samples = scored.fold(rescored, u64::saturating_add);
    results(config, samples).saturating_mul(2).saturating_add(SPARE)
}
