//! Runs one job, and says what ended it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use taskwright_base::{Error, Result};
use taskwright_harbor::child::{Environment, Patience, describe, tail};
use taskwright_harbor::command::HarborCommand;
use taskwright_harbor::job::{JobFolder, TrialFolder};
use taskwright_harbor::run::{self, Ended, Run};
use taskwright_harbor::watch::TrialEvent;

use super::record_folder::{How, Record, Round};
use crate::cancel::Cancel;

/// How much of Harbor's log an error quotes.
const TAIL: usize = 1200;

/// What a job is run with.
pub(super) struct Job<'a> {
    pub record: &'a Record,
    pub round: &'a Round,
    pub command: &'a HarborCommand,
    pub environment: &'a Environment,
    pub docker: bool,
    /// When the evaluation's time is over.
    pub deadline: Option<Instant>,
    /// How long a trial may take; none if Harbor alone knows, by its task.
    pub trial_time: Option<Duration>,
    /// The version of Harbor that has to run.
    pub harbor: &'a str,
    pub cancel: &'a Cancel,
    pub say: &'a dyn Fn(&str),
}

/// A job that was run.
pub(super) struct Done {
    pub how: How,
    /// What became of the process, in words.
    pub status: String,
    /// Whether it ended by itself and well, which says nothing of its trials.
    pub success: bool,
    /// The folders of the tasks whose trials hung, with how many, if any trial of theirs had come to the candidate.
    pub hung: BTreeMap<String, u64>,
    /// What went wrong on our side, with the end of the log.
    pub trouble: Option<String>,
}

/// Runs a job. `observe` is told of its trials.
pub(super) fn run(job: &Job<'_>, observe: &mut dyn FnMut(&TrialEvent)) -> Result<Done> {
    let mut how = How::Finished;
    let mut hung: Vec<String> = Vec::new();
    let rounds = job.record.rounds_dir();
    let run = Run {
        folder: &rounds,
        hold: Some(job.record.lock()),
        docker: job.docker,
        patience: Patience::default(),
        ..Run::new(job.command, &job.round.job_dir, &job.round.log, job.environment)
    };
    let limit = job.trial_time.map(patience);
    let ended = run::run(&run, observe, &mut |watch| {
        if job.cancel.is_cancelled() {
            how = How::Cancelled;
        } else if job.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            how = How::TimeOver;
        } else {
            hung = watch
                .running()
                .filter(|(_, since)| limit.is_some_and(|limit| since.elapsed() > limit))
                .map(|(trial, _)| trial.to_owned())
                .collect();
            if !hung.is_empty() {
                how = How::Overrun;
            }
        }
        let why = match how {
            How::Cancelled => "asked to stop",
            How::TimeOver => "the evaluation's time is over",
            How::Overrun => "a trial does not end",
            How::Finished | How::Killed => return true,
        };
        (job.say)(&format!("{why}: stopping Harbor, which is given time to remove its containers"));
        false
    });
    let ended = ended.map_err(|error| Error::new(error.to_string()))?;
    check_version(job)?;
    let status = format!("`harbor run` {}", describe(ended.status));
    let trouble = trouble(job, &ended, how);
    let hung = hung.iter().filter_map(|trial| reached_candidate(job, trial));
    let mut by_task = BTreeMap::new();
    hung.for_each(|task| *by_task.entry(task).or_insert(0) += 1);
    Ok(Done { how, status, success: ended.status.success(), hung: by_task, trouble })
}

/// How long a trial may take before the job is taken to hang: a tenth longer than the spec says, since Harbor's own
/// timeouts, which are the spec's, come first where Harbor still works.
fn patience(trial: Duration) -> Duration {
    trial.saturating_add((trial / 10).max(Duration::from_secs(1)))
}

/// Results of another Harbor mean something else: they are not taken.
fn check_version(job: &Job<'_>) -> Result<()> {
    let lock = JobFolder::open(&job.round.job_dir).and_then(|folder| folder.lock());
    let ran = lock.ok().flatten().and_then(|lock| lock.harbor_version);
    match ran {
        Some(version) if version != job.harbor => Err(Error::new(format!(
            "Harbor {version} ran, not {} as the spec says: the job `{}` is not taken",
            job.harbor,
            job.round.job_dir.display()
        ))),
        _ => Ok(()),
    }
}

fn trouble(job: &Job<'_>, ended: &Ended, how: How) -> Option<String> {
    let mut trouble = Vec::new();
    if how == How::Finished && !ended.status.success() {
        let said = tail(&job.round.log, TAIL);
        trouble.push(format!(
            "`harbor run` {}; its log `{}` ends with:\n{said}",
            describe(ended.status),
            job.round.log.display()
        ));
    }
    trouble
        .extend(ended.left_behind.as_ref().map(|why| format!("containers of this run may be left: {why}")));
    (!trouble.is_empty()).then(|| trouble.join("\n"))
}

/// The folder of the task of a trial that hung, if it hung in the candidate's hands and not while its environment was
/// made. A trial that did not even say how it was stopped hung there: nothing else keeps Harbor from answering.
fn reached_candidate(job: &Job<'_>, trial: &str) -> Option<String> {
    let mut buffer = Vec::new();
    let folder = TrialFolder::open(job.round.job_dir.join(trial)).ok()?;
    let task = folder.lock(&mut buffer).ok().flatten()?.task_folder()?.to_owned();
    match folder.result(&mut buffer) {
        Ok(result) if result.agent_setup.is_none() && result.agent_execution.is_none() => None,
        _ => Some(task),
    }
}
