//! How much the service keeps: never more than the task allows, and never so much that there is no room to finish.

use std::sync::atomic::Ordering;

use super::reserve::{free, results};
use super::state::{Service, lock};
use crate::problem::{Kind, Problem};

/// What stays free besides, so that the journal can be written when nothing else may be: what is cancelled, what is
/// submitted.
const SLACK: u64 = 8 << 20;
/// The least that a file takes of a disk.
const BLOCK: u64 = 4 << 10;

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
