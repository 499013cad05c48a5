//! What the service shows: evaluations, samples, the plan and the status, each only as far as the access allows.

use std::collections::BTreeMap;

use taskwright_gateway::Scope;
use tokio::sync::watch;

use super::state::{Progress, Service, lock};
use crate::api::{AttemptView, Evaluation, Models, Page, SampleView, SplitPlan, State, Status, Use};
use crate::budget::KnownEvaluation;
use crate::events::{Line, Outcome, Purpose, Sample};
use crate::problem::{Kind, Problem, shown};
use taskwright_base::chained_log;
use taskwright_eval::{Attempt, Attempts, Claimed, ErrorClass};
use taskwright_language::model::Access;

/// How many evaluations one page of the list shows.
const PAGE: usize = 200;

pub fn parse_id(id: &str) -> Result<u64, Problem> {
    let number = id.strip_prefix('e').and_then(|digits| digits.parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> Problem {
    Problem::new(
        Kind::NotFound,
        format!("there is no evaluation `{}`", shown(id)),
        "`taskwright results list` lists them",
    )
}

/// Why an evaluation has no result, without anything that the optimizer must not know.
fn shown_error(end: &crate::events::End) -> Option<String> {
    match end.outcome {
        Outcome::Done => None,
        Outcome::Failed => Some("it failed for reasons of the service, and is not charged".to_owned()),
        Outcome::Refused | Outcome::Cancelled | Outcome::Interrupted => end.error.clone(),
    }
}

impl Service {
    pub fn evaluation(&self, number: u64) -> Result<Evaluation, Problem> {
        // Looked at first: what is not live any more is over in the book.
        let progress = lock(&self.live).get(&number).map(|live| *live.progress.borrow());
        let book = self.book();
        let known = book.evaluation(number).filter(|known| known.charged.purpose == Purpose::Optimizer);
        known.map(|known| self.show(known, progress)).ok_or_else(|| unknown(&format!("e{number}")))
    }

    fn show(&self, known: &KnownEvaluation, progress: Option<Progress>) -> Evaluation {
        let charged = &known.charged;
        let samples = charged.samples.as_ref().map_or_else(|| self.size_of(&charged.split), Vec::len) as u64;
        let end = known.end.as_ref();
        let state = match end.map(|end| end.outcome) {
            Some(Outcome::Done) => State::Done,
            Some(Outcome::Failed | Outcome::Interrupted) => State::Failed,
            Some(Outcome::Refused) => State::Refused,
            Some(Outcome::Cancelled) => State::Cancelled,
            None => progress.map_or(State::Running, |progress| progress.state),
        };
        let summary = end.and_then(|end| end.summary.as_ref());
        let finished = match (state, progress) {
            (State::Done, _) => samples,
            (_, Some(progress)) => self.shown_progress(&charged.split, progress.finished),
            (_, None) => 0,
        };
        Evaluation {
            id: format!("e{}", charged.number),
            commit: charged.commit.clone(),
            tree: charged.tree.clone(),
            split: charged.split.clone(),
            state,
            samples,
            finished,
            recorded: end.map_or(0, |end| end.recorded),
            charged: known.cost(),
            score: summary.map(|summary| summary.score),
            eligible: summary.map(|summary| summary.eligible),
            metrics: summary.map(|summary| summary.metrics.clone()).unwrap_or_default(),
            scored: summary.map_or(0, |summary| summary.scored),
            failures: summary.map(|summary| summary.failures.clone()).unwrap_or_default(),
            error: end.and_then(shown_error),
            note: charged.note.clone(),
            created: charged.created,
            seconds: end.map_or(0.0, |end| end.seconds),
            // How much was asked says something of what was seen.
            models: end.and_then(|end| end.models.clone()).filter(|_| self.shows_samples(&charged.split)),
        }
    }

    /// How many samples may be shown as finished.
    pub fn shown_progress(&self, split: &str, finished: u64) -> u64 {
        self.chooser(split).map_or(0, |chooser| chooser.shown_progress(finished))
    }

    /// A page of the optimizer's evaluations, from a number on.
    pub fn list(&self, from: u64) -> Page {
        let start = usize::try_from(from.max(1) - 1).unwrap_or(usize::MAX);
        let live: std::collections::HashMap<u64, Progress> =
            lock(&self.live).iter().map(|(number, live)| (*number, *live.progress.borrow())).collect();
        let book = self.book();
        let rest = book.evaluations().get(start..).unwrap_or_default();
        let mut shown = rest.iter().filter(|known| known.charged.purpose == Purpose::Optimizer);
        let evaluations = shown
            .by_ref()
            .take(PAGE)
            .map(|known| self.show(known, live.get(&known.charged.number).copied()))
            .collect();
        Page { evaluations, next: shown.next().map(|known| known.charged.number) }
    }

    /// Follows an evaluation. None if it is over already.
    pub fn follow(&self, number: u64) -> Option<watch::Receiver<Progress>> {
        lock(&self.live).get(&number).map(|live| live.progress.subscribe())
    }

    /// The samples between two offsets of an evaluation's record, if the split shows them.
    pub fn samples(&self, number: u64, from: u64, to: u64) -> Result<Vec<SampleView>, Problem> {
        let evaluation = self.evaluation(number)?;
        if !self.shows_samples(&evaluation.split) {
            return Err(Problem::new(
                Kind::Access,
                format!("the split `{}` shows only the aggregate, not its samples", evaluation.split),
                "evaluate on a split that `taskwright plan` calls viewable",
            ));
        }
        let lines =
            chained_log::read_between::<Line>(&self.record_path(number), from, to).map_err(|error| {
                Problem::new(Kind::Broken, format!("the record cannot be read: {error}"), "try again later")
            })?;
        let ended = lines.into_iter().filter_map(|line| match line {
            Line::Sample(sample) => Some(self.show_sample(sample)),
            Line::End(_) => None,
        });
        Ok(ended.collect())
    }

    pub fn shows_samples(&self, split: &str) -> bool {
        self.config.splits.get(split).is_some_and(|split| split.access == Access::Viewable)
    }

    fn show_sample(&self, sample: Sample) -> SampleView {
        // What an infrastructure error says may name what the optimizer must not know.
        let infrastructure = sample.value.is_none();
        SampleView {
            id: sample.id,
            score: sample.value,
            metrics: sample.metrics,
            error: sample.failure.map(|kind| kind.as_str().to_owned()),
            feedback: sample.feedback.filter(|_| !infrastructure),
            log: sample.log.filter(|_| !infrastructure && self.config.feedback.transcripts),
            seconds: sample.seconds,
            attempts: sample.attempts.map(|attempts| self.show_attempts(*attempts)).unwrap_or_default(),
        }
    }

    /// Each attempt that ended, if the task shows them; what the optimizer must not know of it stays out.
    fn show_attempts(&self, attempts: Attempts) -> Vec<AttemptView> {
        if !self.config.feedback.attempts {
            return Vec::new();
        }
        let show = |attempt: Attempt| {
            let infrastructure =
                matches!(attempt.class, Some(ErrorClass::Infrastructure | ErrorClass::Verifier));
            let shown = self.config.feedback.transcripts && !infrastructure && !attempt.transcript.is_empty();
            AttemptView {
                score: attempt.reward,
                error: attempt
                    .exception
                    .filter(|_| !infrastructure)
                    .or_else(|| infrastructure.then(|| "infrastructure".to_owned())),
                log: shown.then_some(attempt.transcript),
                seconds: attempt.seconds,
                // The candidate's own code wrote these, as it wrote the transcript.
                claimed: Some(attempt.claimed).filter(|claimed| shown && *claimed != Claimed::default()),
            }
        };
        attempts.list.into_iter().map(show).collect()
    }

    /// What everybody has used of language models, and has left; nothing where the gateway does not say.
    pub fn models(&self) -> Models {
        self.runner.models().unwrap_or_else(|error| {
            eprintln!("taskwright: {error}");
            Models::new()
        })
    }

    /// The optimizer's budgets.
    pub fn budgets(&self) -> BTreeMap<String, Use> {
        let book = self.book();
        let budgets = self.evaluable().map(|(name, split)| {
            let used = book.used(name);
            let budget = Use {
                runs: split.budget.runs,
                runs_used: used.runs,
                samples: split.budget.samples,
                samples_used: used.samples,
            };
            (name.clone(), budget)
        });
        budgets.collect()
    }

    pub fn status(&self) -> Status {
        // Asked before the book is held: the gateway is another process. What candidates use says something of what they see.
        let mut models = self.models();
        models.retain(|user, _| *user == Scope::Producer);
        let budgets = self.budgets();
        let live: Vec<(u64, Progress)> =
            lock(&self.live).iter().map(|(number, live)| (*number, *live.progress.borrow())).collect();
        let book = self.book();
        let mut active: Vec<Evaluation> = live
            .iter()
            .filter_map(|(number, progress)| Some((book.evaluation(*number)?, *progress)))
            .filter(|(known, _)| known.charged.purpose == Purpose::Optimizer && known.end.is_none())
            .map(|(known, progress)| self.show(known, Some(progress)))
            .collect();
        active.sort_by_key(|evaluation| parse_id(&evaluation.id).unwrap_or_default());
        let of_optimizer = |known: &&KnownEvaluation| known.charged.purpose == Purpose::Optimizer;
        Status {
            sealed: book.sealed,
            submitted: book.submitted.clone(),
            evaluations: book.evaluations().iter().filter(of_optimizer).count() as u64,
            active,
            budgets,
            models,
        }
    }

    pub fn evaluable(&self) -> impl Iterator<Item = (&String, &taskwright_language::serve::ServeSplit)> {
        self.config.splits.iter().filter(|(_, split)| split.access != Access::NoAccess)
    }

    pub fn split_plans(&self) -> Vec<SplitPlan> {
        let book = self.book();
        let plan = |(name, split): (&String, &taskwright_language::serve::ServeSplit)| {
            let used = book.used(name);
            let viewable = split.access == Access::Viewable;
            SplitPlan {
                name: name.clone(),
                access: split.access,
                samples: split.samples.len() as u64,
                min_samples: if viewable { 1 } else { split.min_samples },
                blocks: self.chooser(name).map(crate::chooser::Chooser::block_sizes).unwrap_or_default(),
                runs: split.budget.runs,
                runs_used: used.runs,
                sample_budget: split.budget.samples,
                samples_used: used.samples,
                ids: if viewable { split.samples.clone() } else { Vec::new() },
            }
        };
        self.evaluable().map(plan).collect()
    }
}
