//! What is asked of the service: to import a candidate, to evaluate one, to submit one.
//!
//! The submission is one variable that every `submit` writes and only sealing closes:
//!
//! ```text
//!   nothing ──submit──▶ candidate ──submit──▶ another candidate ...
//!      └──────────────────┴──── sealed: the last one stands, and every later request is refused
//! ```

use std::path::Path;

use super::queue::MOST_WAITING;
use super::state::{Service, lock, now};
use crate::api::{Candidate, Charge, Choice, Evaluation};
use crate::budget::BudgetBook;
use crate::events::{Charged, Entry, Purpose};
use crate::problem::{Kind, Problem, shown};

/// How often another candidate may be submitted: each time is a line of the journal, and more than anybody means.
pub const MOST_SUBMISSIONS: u64 = 10_000;

/// An evaluation that the service makes for itself.
pub struct OwnRequest<'a> {
    pub purpose: Purpose,
    pub candidate: &'a Candidate,
    pub split: &'a str,
    /// The samples' positions; none if all.
    pub samples: Option<Vec<u32>>,
}

impl Service {
    /// A candidate that was imported before.
    pub fn candidate(&self, commit: &str) -> Result<Candidate, Problem> {
        if commit.len() != 40 || !commit.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(Problem::new(
                Kind::Usage,
                format!("`{}` is not a commit's whole name", shown(commit)),
                "give the 40 lower-case hexadecimal digits that `git rev-parse` prints",
            ));
        }
        match self.book().tree(commit) {
            Some(tree) => Ok(Candidate { commit: commit.to_owned(), tree: tree.to_owned() }),
            None => Err(Problem::new(
                Kind::NotFound,
                format!("the candidate `{commit}` was not uploaded"),
                "`taskwright eval` and `taskwright submit` upload it",
            )),
        }
    }

    pub fn import(&self, upload: &Path, commit: &str) -> Result<Candidate, Problem> {
        match self.candidate(commit) {
            Err(problem) if problem.kind == Kind::NotFound => {}
            known => return known,
        }
        self.refuse_if_sealed(&self.book())?;
        let _alone = lock(&self.importing);
        let (room, full) = self.room_for_import();
        if upload.metadata().map_or(0, |file| file.len()) > room {
            return Err(full);
        }
        // How much it takes is known only when it is unpacked: a pack of 300 kB can hold 80 MB of small files.
        let candidate = self.runner.import(upload, commit, room)?;
        let mut journal = lock(&self.journal);
        self.refuse_if_sealed(&self.book())?;
        let entry = Entry::Candidate { commit: candidate.commit.clone(), tree: candidate.tree.clone() };
        self.commit(&mut journal, &entry)?;
        Ok(candidate)
    }

    /// Notes a candidate that needs no upload: the baseline.
    pub fn know(&self, candidate: &Candidate) -> Result<(), Problem> {
        let mut journal = lock(&self.journal);
        if self.book().tree(&candidate.commit).is_some() {
            return Ok(());
        }
        let entry = Entry::Candidate { commit: candidate.commit.clone(), tree: candidate.tree.clone() };
        self.commit(&mut journal, &entry)
    }

    /// Submits a candidate. The last submission counts.
    pub fn submit(&self, commit: &str) -> Result<Candidate, Problem> {
        let candidate = self.candidate(commit)?;
        let mut journal = lock(&self.journal);
        self.refuse_if_sealed(&self.book())?;
        if self.book().submitted.as_ref() == Some(&candidate) {
            return Ok(candidate);
        }
        // Not by what is free: submitting must be possible when nothing else is.
        if self.book().submissions >= MOST_SUBMISSIONS {
            return Err(Problem::new(
                Kind::Full,
                format!("another candidate was submitted {MOST_SUBMISSIONS} times"),
                "the last submission stands",
            ));
        }
        let entry = Entry::Submitted { commit: candidate.commit.clone(), tree: candidate.tree.clone() };
        self.commit(&mut journal, &entry)?;
        Ok(candidate)
    }

    /// Refuses whatever comes after the work is over.
    pub fn refuse_if_over(&self) -> Result<(), Problem> {
        self.refuse_if_sealed(&self.book())
    }

    fn refuse_if_sealed(&self, book: &BudgetBook) -> Result<(), Problem> {
        if book.sealed {
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
                format!("there is no split `{}`", shown(split)),
                "`taskwright plan` lists the splits that may be evaluated",
            ));
        };
        let chosen = chooser.choose(choice)?;
        let samples = (chosen.samples.len() < self.size_of(split)).then(|| chosen.samples.clone());
        let deterministic = self.runner.is_deterministic();

        let mut journal = lock(&self.journal);
        let charged = {
            let book = self.book();
            self.refuse_if_sealed(&book)?;
            if deterministic && let Some(number) = book.same(&candidate.tree, split, samples.as_deref()) {
                drop(book);
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
            self.refuse_if_full(chosen.samples.len())?;
            if self.queue_is_full() {
                return Err(Problem::new(
                    Kind::Busy,
                    format!("{MOST_WAITING} evaluations are waiting already"),
                    "wait for some of them, or cancel them",
                ));
            }
            let fresh = chosen
                .samples
                .iter()
                .filter(|index| !deterministic || book.result(&candidate.tree, split, **index).is_none())
                .count() as u64;
            let charge = Charge { runs: u64::from(fresh > 0), samples: fresh };
            book.afford(&self.config, split, charge)?;
            Charged {
                number: book.next_number(),
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
        self.enqueue(number);
        drop(journal);
        self.evaluation(number)
    }

    /// Evaluates for the service itself and waits: no budget, no queue.
    pub fn evaluate_now(&self, request: OwnRequest<'_>) -> Result<u64, Problem> {
        let number = {
            let mut journal = lock(&self.journal);
            let number = self.book().next_number();
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
}
