//! The threads that run candidates: each takes batch after batch and hands over what comes of it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::candidate_process::{Answer, Request, Runner};
use super::limits::MOST_WAITING;
use super::rows::Rows;
use crate::sandbox::Cell;

/// What the threads share.
pub(super) struct Pool<'a> {
    pub runner: &'a Runner<'a>,
    pub rows: &'a Rows,
    /// The ids of the samples; their positions are what a batch lists.
    pub samples: &'a [&'a str],
    pub batches: &'a [Vec<usize>],
    pub next: AtomicUsize,
    /// Bytes of answers that wait for the scorer.
    pub waiting: AtomicU64,
}

impl Pool<'_> {
    /// Runs batches in a cell until none is left. Each sample is delivered once: its answer, or why there is none for
    /// reasons that are not the candidate's.
    pub fn work(&self, cell: &Cell, deliver: &mut dyn FnMut(usize, Result<Answer, String>)) {
        loop {
            // Before a batch is taken, so that every batch that is taken gets done and what waits behind it moves on.
            while self.waiting.load(Ordering::Relaxed) > MOST_WAITING && !(self.runner.stop)() {
                std::thread::sleep(Duration::from_millis(10));
            }
            let Some(batch) = self.batches.get(self.next.fetch_add(1, Ordering::Relaxed)) else { return };
            if (self.runner.stop)() {
                return;
            }
            let mut open: Vec<usize> = Vec::with_capacity(batch.len());
            let mut requests = Vec::with_capacity(batch.len());
            for sample in batch.iter().copied() {
                let id = self.samples[sample];
                match self.rows.get(id) {
                    Ok(row) => {
                        open.push(sample);
                        requests.push(Request { sample, id, row });
                    }
                    Err(error) => deliver(sample, Err(error.to_string())),
                }
            }
            if requests.is_empty() {
                continue;
            }
            let ran = self.runner.run(cell, &requests, &mut |sample, answer| {
                open.retain(|other| *other != sample);
                deliver(sample, Ok(answer));
            });
            if let Err(error) = ran {
                for sample in open {
                    deliver(sample, Err(error.to_string()));
                }
            }
        }
    }
}
