//! How much the service keeps: never more than the task allows, and never so much that there is no room to finish.

use std::sync::atomic::Ordering;

use taskwright_language::serve::ServeConfig;

use super::state::Service;
use crate::problem::{Kind, Problem};

/// What always stays free on the disk: for the journal, the verdict and all that is small.
const SPARE: u64 = 64 << 20;
/// What a sample's result takes besides what the candidate and the scorer say.
const RESULT: u64 = 1 << 10;

impl Service {
    /// Refuses what would keep so many bytes more than there is room for.
    pub fn refuse_if_full(&self, more: u64) -> Result<(), Problem> {
        let (room, why) = self.room();
        if room < more.max(1) { Err(full(why)) } else { Ok(()) }
    }

    /// How many bytes an upload may have now, and the refusal of one that has more. Until it is imported it is there
    /// twice: as it was sent, and as it is kept.
    pub fn room_for_upload(&self) -> (u64, Problem) {
        let (room, why) = self.room();
        (room / 2, full(why))
    }

    /// How many bytes more may be kept, and why no more.
    ///
    /// What finalizing will write is set aside: an optimizer that fills the disk must not keep itself from being judged.
    fn room(&self) -> (u64, String) {
        let kept = self.runner.kept_bytes().saturating_add(self.recorded.load(Ordering::Relaxed));
        let most = self.config.limits.state_mb.saturating_mul(1 << 20);
        let of_task = most.saturating_sub(kept);
        // Without an answer the disk itself will say when it is full.
        let free = rustix::fs::statvfs(&self.state)
            .map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        let aside = set_aside(&self.config);
        let of_disk = free.saturating_sub(aside);
        if of_disk < of_task {
            let why = format!(
                "the eval sidecar has {} MiB left on its disk and keeps {} MiB free for the end",
                free >> 20,
                aside >> 20
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

    /// Counts what a record has grown to.
    pub(super) fn count_record(&self, bytes: u64) {
        self.recorded.fetch_add(bytes, Ordering::Relaxed);
    }
}

fn full(detail: String) -> Problem {
    Problem::new(
        Kind::Full,
        detail,
        "submit the best of what was evaluated (`taskwright results list`); nothing larger is taken any more",
    )
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
    let each = config.feedback.max_bytes.saturating_mul(2).saturating_add(RESULT);
    samples.saturating_mul(each).saturating_mul(2).saturating_add(SPARE)
}
