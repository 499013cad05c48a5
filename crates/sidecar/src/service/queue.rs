//! The life of an evaluation: one at a time runs, what waits can be withdrawn, and the end of the work ends all.
//!
//! ```text
//!   asked ──▶ charged ──▶ queued ──▶ running ──▶ done         the samples that were run are paid for
//!     │   (journal)          │          ├──────▶ failed       infrastructure error: the charge is given back
//!     └▶ refused             └──────────┴──────▶ cancelled    what was not run is given back
//!                                       ╎
//!                                       └╌╌╌╌╌╌▶ interrupted  the service ended: settled when it opens again
//! ```
//!
//! The charge is on the disk before any work begins, and the end before anybody sees it; between the two stands the record,
//! to which each sample is appended as it finishes. An evaluation of the service's own (finalizing) is neither charged
//! nor queued, but it takes its turn at running. Sealing cancels all of the optimizer's, and gives everything back.

use std::time::Duration;

use taskwright_eval::Cancel;
use tokio::sync::watch;

use super::state::{Live, Progress, Service, lock};
use crate::api::{Evaluation, State};
use crate::events::{Entry, Purpose};
use crate::problem::Problem;

/// How many of the optimizer's evaluations may wait at once.
pub const MOST_WAITING: usize = 64;

impl Service {
    /// Lets an evaluation that was charged be followed and stopped.
    pub(super) fn enlist(&self, number: u64) {
        let (progress, _) = watch::channel(Progress { state: State::Queued, finished: 0, bytes: 0 });
        lock(&self.live).insert(number, Live { stop: Cancel::new(), progress });
    }

    pub(super) fn queue_is_full(&self) -> bool {
        lock(&self.queue).len() >= MOST_WAITING
    }

    pub(super) fn enqueue(&self, number: u64) {
        lock(&self.queue).push_back(number);
        self.queued.notify_one();
    }

    /// Works on what is queued, for ever.
    pub fn work(&self) {
        loop {
            let number = {
                let mut queue = lock(&self.queue);
                loop {
                    match queue.pop_front() {
                        Some(number) => break number,
                        None => {
                            queue = self
                                .queued
                                .wait_timeout(queue, Duration::from_mins(1))
                                .map_or_else(|poisoned| poisoned.into_inner().0, |(queue, _)| queue);
                        }
                    }
                }
            };
            self.execute(number);
        }
    }

    /// Stops an evaluation of the optimizer's: at once if it waits, a moment later if it runs.
    pub fn cancel(&self, number: u64) -> Result<Evaluation, Problem> {
        self.evaluation(number)?;
        if self.is_of_optimizer(number) {
            self.stop(number);
        }
        self.evaluation(number)
    }

    fn is_of_optimizer(&self, number: u64) -> bool {
        self.book().evaluation(number).is_some_and(|known| known.charged.purpose == Purpose::Optimizer)
    }

    /// Stops an evaluation, and ends it if it has not begun.
    fn stop(&self, number: u64) {
        if let Some(live) = lock(&self.live).get(&number) {
            live.stop.cancel();
        }
        let waiting = {
            let mut queue = lock(&self.queue);
            let before = queue.len();
            queue.retain(|queued| *queued != number);
            queue.len() < before
        };
        if waiting {
            self.execute(number);
        }
    }

    /// Ends the optimizer's part: from now on no evaluation and no submission is accepted, and what runs is stopped.
    pub fn seal(&self) -> Result<(), Problem> {
        {
            let mut journal = lock(&self.journal);
            // Room for the seal itself, if need be; nothing of the optimizer's is begun while the journal is ours.
            self.reserve.release();
            if !self.book().sealed {
                self.commit(&mut journal, &Entry::Sealed)?;
            }
        }
        let live: Vec<u64> = lock(&self.live).keys().copied().collect();
        for number in live.into_iter().filter(|number| self.is_of_optimizer(*number)) {
            self.stop(number);
        }
        // Whatever runs now has been asked to stop: when nothing runs any more, all of it has ended.
        drop(lock(&self.running));
        Ok(())
    }
}
