//! The threads that run candidates: each takes batch after batch and tells the conductor what comes of it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::conduct::{Event, MOST_WAITING};
use super::run::{Request, Runner};
use super::stage::Words;
use super::{ModeA, Plan};
use crate::sandbox::Cell;
use crate::sandbox::order::RunLimits;

/// What the threads that run share.
pub(super) struct Shared<'a> {
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// The next batch.
    pub next: AtomicUsize,
    /// Bytes of answers that wait for the scorer.
    pub waiting: AtomicU64,
}

/// Runs batches until none is left.
pub(super) fn work(
    mode: &ModeA,
    plan: &Plan<'_>,
    cell: &Cell,
    shared: &Shared<'_>,
    runner: &Runner<'_>,
    batches: &[&[usize]],
    sender: &Sender<Event>,
) {
    loop {
        // Before a batch is taken, so that every batch that is taken gets done and what waits behind it moves on.
        while shared.waiting.load(Ordering::Relaxed) > MOST_WAITING && !(shared.stop)() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let Some(batch) = batches.get(shared.next.fetch_add(1, Ordering::Relaxed)) else { return };
        if (shared.stop)() {
            return;
        }
        let mut open: Vec<usize> = Vec::with_capacity(batch.len());
        let mut requests = Vec::with_capacity(batch.len());
        for place in *batch {
            let id = plan.samples[*place].clone();
            match mode.rows.get(&id) {
                Ok(row) => {
                    open.push(*place);
                    requests.push(Request { place: *place, id, row });
                }
                Err(error) => drop(sender.send(Event::Failed(*place, error.to_string()))),
            }
        }
        if requests.is_empty() {
            continue;
        }
        let ran = runner.run(cell, &requests, &mut |place, answer| {
            open.retain(|other| *other != place);
            let _ = sender.send(Event::Answered(place, answer));
        });
        if let Err(error) = ran {
            for place in open {
                let _ = sender.send(Event::Failed(place, error.to_string()));
            }
        }
    }
}

pub(super) fn words<'a>(mode: &'a ModeA, plan: &Plan<'a>) -> Words<'a> {
    Words { scorer: &mode.scorer_folder, candidate: plan.candidate, taskwright: mode.sandbox.taskwright() }
}

pub(super) fn runner<'a>(
    mode: &'a ModeA,
    words: &'a Words<'a>,
    batch: usize,
    stop: &'a (dyn Fn() -> bool + Sync),
) -> Runner<'a> {
    Runner {
        words,
        command: &mode.scorer.run,
        environment: &mode.scorer.env,
        limits: limits(mode, u64::try_from(batch).unwrap_or(u64::MAX)),
        output_bytes: mode.serve.limits.output_mb.saturating_mul(1 << 20),
        sample_timeout: Duration::from_secs(mode.serve.limits.sample_timeout_sec),
        transcript_bytes: usize::try_from(mode.serve.feedback.max_bytes).unwrap_or(usize::MAX).min(1 << 20),
        dataset: &mode.dataset,
        row_files: &mode.scorer.rows,
        stop,
    }
}

/// What one process may use for so many samples.
pub(super) fn limits(mode: &ModeA, samples: u64) -> RunLimits {
    let limits = &mode.serve.limits;
    let seconds = limits.sample_timeout_sec.saturating_mul(samples.max(1)).min(limits.evaluation_timeout_sec);
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let file = limits.file_size_mb.saturating_mul(1 << 20);
    RunLimits {
        memory: limits.memory_mb.saturating_mul(1 << 20),
        processes: limits.processes,
        file,
        disk: file.saturating_mul(4),
        files: 50_000,
        processor_seconds: seconds.saturating_add(10).saturating_mul(processors),
        // The clock of the evaluation is first; this one is for when nobody looks at that one any more.
        seconds: seconds.saturating_add(10),
        network: mode.serve.gateway.is_some(),
    }
}
