//! Taking in candidates, requests for evaluations, and submissions.

use std::path::Path;

use tokio::sync::watch;

use super::{Live, MOST_WAITING, Progress, Service, lock, now};
use crate::api::{Candidate, Charge, Choice, Evaluation, State};
use crate::blocks::shortened;
use crate::events::{Charged, Entry, Purpose};
use crate::ledger::Ledger;
use crate::problem::{Kind, Problem};
use taskwright_eval::Cancel;

/// A request to evaluate, as the service's own parts make it.
pub struct Request<'a> {
    /// What it is for.
    pub purpose: Purpose,
    /// The candidate.
    pub candidate: &'a Candidate,
    /// The split.
    pub split: &'a str,
    /// The samples' positions; none if all.
    pub samples: Option<Vec<u32>>,
}

impl Service {
    /// A candidate that was taken in before.
    pub fn candidate(&self, commit: &str) -> Result<Candidate, Problem> {
        if commit.len() != 40 || !commit.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(Problem::new(
                Kind::Usage,
                format!("`{}` is not a commit's whole name", shortened(commit)),
                "give the 40 lower-case hexadecimal digits that `git rev-parse` prints",
            ));
        }
        match self.ledger().tree(commit) {
            Some(tree) => Ok(Candidate { commit: commit.to_owned(), tree: tree.to_owned() }),
            None => Err(Problem::new(
                Kind::NotFound,
                format!("the candidate `{commit}` was not uploaded"),
                "`taskwright eval` and `taskwright submit` upload it",
            )),
        }
    }

    /// Takes in an uploaded candidate.
    pub fn import(&self, upload: &Path, commit: &str) -> Result<Candidate, Problem> {
        match self.candidate(commit) {
            Err(problem) if problem.kind == Kind::NotFound => {}
            known => return known,
        }
        self.refuse_if_sealed(&self.ledger())?;
        let _alone = lock(&self.importing);
        // As much again as was sent: that is what is kept of it.
        self.refuse_if_full(upload.metadata().map_or(0, |file| file.len()))?;
        let candidate = self.runner.import(upload, commit)?;
        let mut journal = lock(&self.journal);
        self.refuse_if_sealed(&self.ledger())?;
        let entry = Entry::Candidate { commit: candidate.commit.clone(), tree: candidate.tree.clone() };
        self.commit(&mut journal, &entry)?;
        Ok(candidate)
    }

    /// Notes a candidate that needs no upload: the baseline.
    pub fn know(&self, candidate: &Candidate) -> Result<(), Problem> {
        let mut journal = lock(&self.journal);
        if self.ledger().tree(&candidate.commit).is_some() {
            return Ok(());
        }
        let entry = Entry::Candidate { commit: candidate.commit.clone(), tree: candidate.tree.clone() };
        self.commit(&mut journal, &entry)
    }

    /// Submits a candidate. The last submission counts.
    pub fn submit(&self, commit: &str) -> Result<Candidate, Problem> {
        let candidate = self.candidate(commit)?;
        let mut journal = lock(&self.journal);
        self.refuse_if_sealed(&self.ledger())?;
        if self.ledger().submitted.as_ref() == Some(&candidate) {
            return Ok(candidate);
        }
        let entry = Entry::Submitted { commit: candidate.commit.clone(), tree: candidate.tree.clone() };
        self.commit(&mut journal, &entry)?;
        Ok(candidate)
    }

    fn refuse_if_sealed(&self, ledger: &Ledger) -> Result<(), Problem> {
        if ledger.sealed {
            return Err(Problem::new(
                Kind::Sealed,
                format!("the work on `{}` is over: the result is being decided", self.config.task),
                "nothing more is evaluated or submitted",
            ));
        }
        Ok(())
    }

    /// Evaluates on the optimizer's request: charged first, then queued.
    ///
    /// What was evaluated before is not evaluated again. The same tree on the same samples is the same evaluation, even
    /// if it is still running, and costs nothing; of other samples only those without a result are charged, and a run
    /// if there are any.
    pub fn evaluate(&self, commit: &str, split: &str, choice: &Choice) -> Result<Evaluation, Problem> {
        let candidate = self.candidate(commit)?;
        let Some(chooser) = self.chooser(split) else {
            return Err(Problem::new(
                Kind::Usage,
                format!("there is no split `{}`", shortened(split)),
                "`taskwright plan` lists the splits that may be evaluated",
            ));
        };
        let chosen = chooser.choose(choice)?;
        let total = self.config.splits.get(split).map_or(0, |split| split.samples.len());
        let samples = (chosen.samples.len() < total).then(|| chosen.samples.clone());
        let deterministic = self.runner.is_deterministic();

        let mut journal = lock(&self.journal);
        let charged = {
            let ledger = self.ledger();
            self.refuse_if_sealed(&ledger)?;
            if deterministic && let Some(number) = ledger.same(&candidate.tree, split, samples.as_deref()) {
                drop(ledger);
                let mut evaluation = self.evaluation(number)?;
                evaluation.note = Some(if evaluation.state.is_final() {
                    "the same files were evaluated on the same samples before: this is that result, at no cost"
                        .to_owned()
                } else {
                    "the same files are being evaluated on the same samples: this is that evaluation"
                        .to_owned()
                });
                return Ok(evaluation);
            }
            self.refuse_if_full(0)?;
            if lock(&self.queue).len() >= MOST_WAITING {
                return Err(Problem::new(
                    Kind::Busy,
                    format!("{MOST_WAITING} evaluations are waiting already"),
                    "wait for some of them, or cancel them",
                ));
            }
            let fresh = chosen
                .samples
                .iter()
                .filter(|index| !deterministic || ledger.result(&candidate.tree, split, **index).is_none())
                .count() as u64;
            let charge = Charge { runs: u64::from(fresh > 0), samples: fresh };
            ledger.afford(&self.config, split, charge)?;
            Charged {
                number: ledger.next_number(),
                purpose: Purpose::Optimizer,
                commit: candidate.commit,
                tree: candidate.tree,
                split: split.to_owned(),
                samples,
                charge,
                note: chosen.note,
                created: now(),
            }
        };
        let number = charged.number;
        self.commit(&mut journal, &Entry::Charged(charged))?;
        self.enlist(number);
        lock(&self.queue).push_back(number);
        drop(journal);
        self.queued.notify_one();
        self.evaluation(number)
    }

    /// Evaluates for the service itself and waits: no budget, no queue.
    pub fn evaluate_now(&self, request: Request<'_>) -> Result<u64, Problem> {
        let number = {
            let mut journal = lock(&self.journal);
            let number = self.ledger().next_number();
            let charged = Charged {
                number,
                purpose: request.purpose,
                commit: request.candidate.commit.clone(),
                tree: request.candidate.tree.clone(),
                split: request.split.to_owned(),
                samples: request.samples,
                charge: Charge::default(),
                note: None,
                created: now(),
            };
            self.commit(&mut journal, &Entry::Charged(charged))?;
            self.enlist(number);
            number
        };
        self.execute(number);
        Ok(number)
    }

    fn enlist(&self, number: u64) {
        let (progress, _) = watch::channel(Progress { state: State::Queued, finished: 0, bytes: 0 });
        lock(&self.live).insert(number, Live { stop: Cancel::new(), progress });
    }

    /// Stops an evaluation of the optimizer's: at once if it waits, a moment later if it runs.
    pub fn cancel(&self, number: u64) -> Result<Evaluation, Problem> {
        self.evaluation(number)?;
        if self.ledger().evaluation(number).is_some_and(|known| known.charged.purpose == Purpose::Optimizer) {
            self.stop(number);
        }
        self.evaluation(number)
    }

    /// Stops an evaluation, and ends it if it has not begun.
    pub(super) fn stop(&self, number: u64) {
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
}
