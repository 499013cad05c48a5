//! From the trials of job directories to one result a sample.
//!
//! Nothing but what Harbor itself wrote at its own depth counts; whatever else lies in a job directory, and in which
//! order it is read, decides nothing. Collating cannot fail: a trial that cannot be used is an attempt without a value,
//! and stands in the notes.
//!
//! ```text
//!  planned ── `matching` ──▶ matched ── `attempt` ──▶ judged ── `conclude` ──▶ ranked ──▶ one sample
//!  samples    a trial of     trials     what each     attempts  graded first,             the first, the
//!             exactly one               is worth                then the rule's order     best or the mean
//!                │
//!                └─ of none, of several, not ended, damaged, more than were planned: a note
//! ```
//!
//! - An attempt is *graded* if Harbor counts its reward; an exception beside it is flagged.
//! - An attempt that is *dead* by the candidate's own doing counts with the failure value.
//! - An attempt that died of anything else has no value, and one that is *missing* neither. Under `mean` and `best` the
//!   sample then has none: what is left of its attempts is not what was asked for.
//!
//! Attempts rank graded ones first, then by value if the best counts, then by the time they ended, then by name.

mod attempt;
mod conclude;
mod feedback;
mod matching;

use std::path::{Path, PathBuf};

use taskwright_harbor::document::DocumentError;
use taskwright_harbor::job::{JobFolder, TrialFolder};
use taskwright_language::model::{Aggregate, Direction};
use taskwright_language::serve::ServeInnerTask;

use self::attempt::Judged;
use self::matching::{Evidence, Index, JobPlan};
use crate::attempts::Attempt;
use crate::failure::ErrorClass;
use crate::result::SampleResult;

/// A sample that was planned, and how its trials are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedSample {
    /// The sample.
    pub id: String,
    /// The inner task's name as its own task.toml has it; without one the name of its folder. None if it was never read.
    pub name: Option<String>,
    /// The name of the inner task's folder; of a package its name without the organisation.
    pub directory: String,
    /// The inner task's content digest, as Harbor computes it; none if it was never fetched.
    pub digest: Option<String>,
}

impl PlannedSample {
    /// A sample of a built task.
    pub fn of(id: &str, task: &ServeInnerTask) -> Self {
        Self {
            id: id.to_owned(),
            name: Some(task.name.clone()),
            directory: task.directory.clone(),
            digest: Some(task.digest.clone()),
        }
    }
}

/// What attempts add up to.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// How many attempts each sample has.
    pub attempts: u64,
    /// What they add up to.
    pub aggregate: Aggregate,
    /// Which way is better.
    pub direction: Direction,
    /// What an attempt counts with that the candidate failed.
    pub failure_value: f64,
    /// The reward that counts, if one was named; it is then never exchanged for another.
    pub reward_key: Option<String>,
    /// The objective's metric: `score`, which is the reward that counts, or another of the verifier's keys.
    pub metric: String,
    /// How many bytes of transcript and of verifier output are kept of an attempt; none where samples may not be seen.
    pub feedback_bytes: Option<usize>,
}

/// What was collated.
#[derive(Debug, Clone, PartialEq)]
pub struct Collated {
    /// Every planned sample, in the order of the plan.
    pub samples: Vec<SampleResult>,
    /// What was found and does not count, by path.
    pub notes: Vec<Note>,
}

/// Something in a job directory that does not count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// Where.
    pub path: PathBuf,
    /// What it is.
    pub kind: NoteKind,
    /// Why it does not count.
    pub reason: String,
}

/// What kind of thing does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoteKind {
    /// A trial of no planned sample, or of another version of its task; or a job with more trials than it planned.
    Foreign,
    /// A trial that has not ended.
    Unfinished,
    /// A result, a lock or a directory that cannot be read.
    Damaged,
}

/// What ended a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEnd {
    /// It came to its end by itself: nobody cancelled a trial but the candidate.
    OfItself,
    /// Somebody stopped it, or it has not ended: its trials may have been cancelled by us.
    Stopped,
}

/// A trial of a planned sample.
struct Found {
    /// The sample's place in the plan.
    place: usize,
    /// Whether it has ended, and so is an attempt.
    ended: bool,
}

/// Collates the trials of some job directories.
pub fn collate<P: AsRef<Path>>(planned: &[PlannedSample], rules: &Rules, jobs: &[P]) -> Collated {
    let mut collation = Collation::new(planned, rules);
    for job in jobs {
        collation.add_job(job.as_ref(), JobEnd::Stopped);
    }
    // Not `conclude`, which would hold everything twice.
    let Collation { mut notes, attempts, .. } = collation;
    notes.sort_unstable();
    let each = planned.iter().zip(attempts);
    let samples = each.map(|(sample, attempts)| conclude::sample(&sample.id, rules, attempts)).collect();
    Collated { samples, notes }
}

/// A collation that trials are added to one by one, as while a job runs.
#[derive(Debug)]
pub struct Collation<'a> {
    planned: &'a [PlannedSample],
    rules: &'a Rules,
    index: Index<'a>,
    /// The attempts at each sample, in the order of the plan.
    attempts: Vec<Vec<Judged>>,
    notes: Vec<Note>,
    /// What documents are read into.
    buffer: Vec<u8>,
}

impl<'a> Collation<'a> {
    /// A collation without trials.
    pub fn new(planned: &'a [PlannedSample], rules: &'a Rules) -> Self {
        Self {
            planned,
            rules,
            index: Index::new(planned),
            attempts: vec![Vec::new(); planned.len()],
            notes: Vec::new(),
            buffer: Vec::new(),
        }
    }

    /// Adds every trial of a job directory. A directory that does not exist has none.
    pub fn add_job(&mut self, path: &Path, end: JobEnd) {
        let job = match JobFolder::open(path) {
            Ok(job) => job,
            Err(error) if error.is_missing() => return,
            Err(error) => return self.damaged(error),
        };
        let trials = match job.trials() {
            Ok(trials) => trials,
            Err(error) => return self.damaged(error),
        };
        let plan = JobPlan::of(&job);
        let before: Vec<usize> = self.attempts.iter().map(Vec::len).collect();
        let mut unfinished = vec![0; self.planned.len()];
        for trial in trials {
            match trial {
                Ok(trial) => {
                    if let Some(Found { place, ended: false }) = self.add(&trial, &plan, end) {
                        unfinished[place] += 1;
                    }
                }
                Err(error) => self.damaged(error),
            }
        }
        for (place, (before, unfinished)) in before.into_iter().zip(unfinished).enumerate() {
            self.refuse_unplanned(path, &plan, place, before, unfinished);
        }
    }

    /// Takes the attempts at a sample back that a job added if it holds more trials of it than it planned: somebody else
    /// has put some there, and which ones cannot be told. A trial that was copied is still one.
    fn refuse_unplanned(
        &mut self,
        job: &Path,
        plan: &JobPlan<'_>,
        place: usize,
        before: usize,
        unfinished: u64,
    ) {
        let added = &self.attempts[place][before..];
        if added.is_empty() {
            return;
        }
        let directory = &self.planned[place].directory;
        let Some(trials) = plan.trials(directory) else { return };
        let mut distinct: Vec<&Attempt> = Vec::new();
        let is_planned = added.iter().all(|judged| {
            if !distinct.contains(&&judged.attempt) {
                distinct.push(&judged.attempt);
            }
            distinct.len() as u64 + unfinished <= trials
        });
        if is_planned {
            return;
        }
        let reason = format!(
            "it holds more trials of the task `{}` than the {trials} it planned, so that none of them counts",
            directory.escape_debug()
        );
        self.attempts[place].truncate(before);
        self.attempts[place].push(attempt::unplanned(job, &reason));
        self.notes.push(Note { path: job.to_owned(), kind: NoteKind::Foreign, reason });
    }

    /// Adds one trial; says whose sample it is, by its place in the plan, if it has ended and counts.
    pub fn add_trial(&mut self, trial: &TrialFolder) -> Option<usize> {
        self.add(trial, &JobPlan::default(), JobEnd::Stopped)
            .filter(|found| found.ended)
            .map(|found| found.place)
    }

    /// Adds an attempt that the candidate failed and that Harbor left no word of: its agent cannot be made, its trial
    /// never ended.
    pub(super) fn add_failed(&mut self, place: usize, class: ErrorClass, message: &str) {
        self.attempts[place].push(attempt::failed(class, message));
    }

    /// What all trials so far come to.
    pub fn conclude(&self) -> Collated {
        let mut notes = self.notes.clone();
        notes.sort_unstable();
        let samples = (0..self.planned.len()).map(|place| self.sample(place)).collect();
        Collated { samples, notes }
    }

    /// What the trials of one sample come to, by its place in the plan.
    pub fn sample(&self, place: usize) -> SampleResult {
        conclude::sample(&self.planned[place].id, self.rules, self.attempts[place].clone())
    }

    fn add(&mut self, folder: &TrialFolder, plan: &JobPlan<'_>, end: JobEnd) -> Option<Found> {
        let result = match folder.result(&mut self.buffer) {
            Err(error) if error.is_missing() && !folder.is_trial() => return None,
            other => other,
        };
        let trial = result.as_ref().ok();
        let mut evidence = Evidence {
            name: trial.and_then(|trial| trial.task_name.clone()),
            directory: trial.and_then(|trial| trial.task_id.folder().map(str::to_owned)),
            digest: None,
        };
        match folder.lock(&mut self.buffer) {
            Ok(Some(lock)) => evidence.take(&lock),
            Ok(None) => evidence.take_job_lock(plan),
            Err(error) => self.damaged(error),
        }
        let note = |kind, reason: String| Note { path: folder.path().to_owned(), kind, reason };
        let place = match self.index.find(&evidence) {
            Ok(place) => place,
            Err(reason) => {
                // What is damaged as well is said to be that: it might have been ours.
                let note = match result {
                    Err(error) if !error.is_missing() => note(NoteKind::Damaged, error.problem.to_string()),
                    _ => note(NoteKind::Foreign, reason),
                };
                self.notes.push(note);
                return None;
            }
        };
        let judged = match result {
            Ok(trial) => attempt::judge(&trial, folder, self.rules, end),
            Err(error) if error.is_missing() => {
                self.notes.push(note(NoteKind::Unfinished, "the trial has not ended".to_owned()));
                return Some(Found { place, ended: false });
            }
            Err(error) => {
                self.notes.push(note(NoteKind::Damaged, error.problem.to_string()));
                attempt::damaged(folder, &error)
            }
        };
        self.attempts[place].push(judged);
        Some(Found { place, ended: true })
    }

    fn damaged(&mut self, error: DocumentError) {
        self.notes.push(Note {
            reason: error.problem.to_string(),
            path: error.path,
            kind: NoteKind::Damaged,
        });
    }
}

#[cfg(test)]
mod tests;
