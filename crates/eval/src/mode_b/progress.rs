//! Tells of trials and samples as they finish, while a job runs.

use std::collections::HashSet;

use taskwright_harbor::job::TrialFolder;
use taskwright_harbor::watch::TrialEvent;

use super::collate::Collation;
use super::samples::left;
use super::{Observer, Trials};
use crate::result::Outcome;

/// What is known of a job while it runs.
pub(super) struct Progress<'a> {
    pub observer: &'a dyn Observer,
    /// All that was on record before, and each trial as it ends.
    pub collation: Collation<'a>,
    /// How many attempts each sample has.
    pub attempts: u64,
    /// Whether Harbor gives failed trials another attempt.
    pub retries: bool,
    /// The samples that the observer knows of, by place in the plan.
    pub told: &'a mut [bool],
    pub trials: Trials,
    /// The trials that have ended, by name.
    pub ended: HashSet<String>,
}

impl Progress<'_> {
    /// Takes what happened to a trial.
    pub fn take(&mut self, event: &TrialEvent) {
        match event {
            TrialEvent::Began { .. } => self.trials.running += 1,
            TrialEvent::Again { trial } if self.ended.remove(trial) => self.trials.ended -= 1,
            TrialEvent::Again { .. } => self.trials.running = self.trials.running.saturating_sub(1),
            TrialEvent::Ended { trial, .. } => {
                // A result that was written once more is no other trial.
                if self.ended.insert(trial.clone()) {
                    self.trials.ended += 1;
                    self.trials.running = self.trials.running.saturating_sub(1);
                }
            }
        }
        self.observer.trials(&self.trials);
        let TrialEvent::Ended { dir, .. } = event else { return };
        let trial = TrialFolder::open(dir).ok();
        let Some(place) = trial.and_then(|trial| self.collation.add_trial(&trial)) else { return };
        let sample = self.collation.sample(place);
        // What Harbor may give another attempt is not finished.
        let is_final = !self.retries || matches!(sample.outcome, Outcome::Scored(_));
        if is_final && left(self.attempts, &sample) == 0 && !std::mem::replace(&mut self.told[place], true) {
            self.observer.sample(&sample, false);
        }
    }
}
