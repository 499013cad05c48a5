//! How much the service keeps: never more than the task allows, and never so much that there is no room to finish.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use taskwright_base::failed;
use taskwright_base::write::on_disk;

use super::reserve::{free, results};
use super::state::{Service, lock};
use crate::problem::{Kind, Problem};

/// What stays free besides, so that the journal can be written when nothing else may be: what is cancelled, what is
/// submitted.
const SLACK: u64 = 8 << 20;

/// Where uploads lie until they are imported.
pub(super) const UPLOADS: &str = "uploads";

/// An upload on its way. Its file goes with it, and what was counted of it.
pub struct Upload {
    service: Arc<Service>,
    path: PathBuf,
    size: u64,
}

impl Upload {
    /// Begins one, with its file to write to. Whoever still writes when it is gone writes to a file without a name.
    pub fn begin(service: Arc<Service>) -> Result<(Self, File), Problem> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = service.state.join(UPLOADS).join(format!("{number}.pack"));
        let file = File::options().write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(failed("making", &path)).map_err(|error| {
            Problem::new(Kind::Broken, format!("an upload cannot be written: {error}"), "try again later")
        })?;
        Ok((Self { service, path, size: 0 }, file))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Counts more of it, and says how much came by now, or refuses it. Until it is imported it is there twice, as it was sent
    /// and as it is kept: so there must be room for all that is on its way once more.
    pub fn grow(&mut self, bytes: u64) -> Result<u64, Problem> {
        self.size += bytes;
        let all = self.service.uploading.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let (room, why) = self.service.room(0);
        if all > room { Err(full(why)) } else { Ok(self.size) }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        self.service.uploading.fetch_sub(self.size, Ordering::Relaxed);
    }
}

impl Service {
    /// Refuses an evaluation of so many samples that there is no room for. What the task may keep is compared with what is
    /// there, as results are far smaller than they may be; the disk has room for all that they may be.
    pub fn refuse_if_full(&self, samples: usize) -> Result<(), Problem> {
        let (room, why) = self.room(results(&self.config, samples as u64));
        if room == 0 { Err(full(why)) } else { Ok(()) }
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

fn full(detail: String) -> Problem {
    Problem::new(
        Kind::Full,
        detail,
        "submit the best of what was evaluated (`taskwright results list`); nothing larger is taken any more",
    )
}
