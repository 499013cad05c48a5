//! How far a job is, from its folder alone: whoever runs it, and whether anybody does.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use taskwright_base::{Error, Result, number, words};
use taskwright_harbor::exceptions::reward_is_valid;
use taskwright_harbor::job::{JobFolder, JobResult, TrialFolder};
use taskwright_harbor::result::{AgentConfig, TrialResult};
use taskwright_harbor::watch::TrialEvent;

use crate::jobs::Job;
use crate::waves::Waves;

/// How far a job is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Progress {
    /// The job's name.
    pub job: String,
    /// The experiment's name.
    pub experiment: String,
    /// Whether it runs.
    pub state: State,
    /// The process that runs it, if it runs and has said its number.
    pub process: Option<u32>,
    /// How many trials were planned; none while nobody knows.
    pub planned: Option<u64>,
    /// How many have ended.
    pub ended: u64,
    /// How many of them have a reward that counts.
    pub graded: u64,
    /// How many of them recorded an exception. An agent that ran out of time may have been graded all the same.
    pub errored: u64,
    /// How many have begun and not ended. If nobody runs the job they never will.
    pub running: u64,
    /// The mean of the rewards that count, over trials. The leaderboard's is over tasks.
    pub mean: Option<f64>,
    /// Planned trials that have no result.
    pub missing: Vec<Missing>,
    /// Whether Harbor has said what it plans: before, nothing is known to be missing.
    #[serde(skip)]
    pub is_planned_by_harbor: bool,
    /// When Harbor last wrote of the whole job, by its clock on the wall.
    pub updated_at: Option<String>,
}

words! {
    /// Whether a job runs.
    State {
        /// Some process runs it.
        Running = "running",
        /// Nobody runs it, and it is not finished.
        Stopped = "stopped",
        /// Harbor finished it.
        Finished = "finished",
    }
}

/// Planned trials of one agent on one task that have no result.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Missing {
    /// The task's folder.
    pub task: String,
    /// The agent's name, or its class.
    pub agent: String,
    /// Its model.
    pub model: Option<String>,
    /// How many.
    pub trials: u64,
    /// Why, if they were left out.
    pub why: Option<LeftOut>,
}

words! {
    /// Why planned trials were not started.
    LeftOut {
        /// As much was spent as the run may spend.
        Budget = "budget",
    }
}

/// What became of the trials that have ended. It is told of them one by one, so that a long job is not read again and
/// again.
#[derive(Debug)]
pub struct Tally {
    reward_key: Option<String>,
    trials: BTreeMap<String, Outcome>,
    buffer: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Outcome {
    reward: Option<f64>,
    errored: bool,
}

impl Tally {
    /// No trial yet; `reward_key` says which reward counts.
    pub fn new(reward_key: Option<&str>) -> Self {
        Self { reward_key: reward_key.map(str::to_owned), trials: BTreeMap::new(), buffer: Vec::new() }
    }

    /// Takes note of what happened to a trial.
    pub fn observe(&mut self, event: &TrialEvent) {
        match event {
            TrialEvent::Began { .. } => {}
            TrialEvent::Again { trial } => drop(self.trials.remove(trial)),
            TrialEvent::Ended { trial, dir } => self.read(trial, dir),
        }
    }

    fn read(&mut self, trial: &str, dir: &Path) {
        let result = TrialFolder::open(dir).and_then(|folder| folder.result(&mut self.buffer));
        // What cannot be read has no reward; the import says what is wrong with it.
        let outcome = result.map_or(Outcome { reward: None, errored: true }, |result| self.outcome(&result));
        self.trials.insert(trial.to_owned(), outcome);
    }

    fn outcome(&self, result: &TrialResult) -> Outcome {
        let reward = result.rewards.as_ref().filter(|_| reward_is_valid(result));
        let chosen = reward.and_then(|rewards| rewards.choose(self.reward_key.as_deref()).ok());
        Outcome { reward: chosen.map(|chosen| chosen.value), errored: result.exceptions().next().is_some() }
    }

    /// Adds the trials of one job to those of several.
    fn add(&mut self, job: &str, other: &Self) {
        self.trials.extend(other.trials.iter().map(|(trial, outcome)| (format!("{job}/{trial}"), *outcome)));
    }

    /// How many trials have ended.
    pub fn ended(&self) -> u64 {
        count(self.trials.len())
    }

    /// How many have a reward that counts.
    pub fn graded(&self) -> u64 {
        count(self.trials.values().filter(|outcome| outcome.reward.is_some()).count())
    }

    /// How many recorded an exception.
    pub fn errored(&self) -> u64 {
        count(self.trials.values().filter(|outcome| outcome.errored).count())
    }

    /// The mean of the rewards that count.
    pub fn mean(&self) -> Option<f64> {
        number::mean(self.trials.values().filter_map(|outcome| outcome.reward))
    }
}

/// Looks at a job's folder, or at those of its waves.
pub fn look(job: &Job) -> Result<Progress> {
    match Waves::of(job)? {
        Some(waves) => look_at_waves(job, &waves),
        None => look_at_one(job, &mut Tally::new(None)),
    }
}

fn look_at_waves(job: &Job, waves: &Waves) -> Result<Progress> {
    let record = job.record();
    let runner = job.runner();
    let reward_key = record.as_ref().and_then(|record| record.reward_key.clone());
    let why = waves.line.filter(|line| line.is_reached && runner.is_none()).map(|_| LeftOut::Budget);
    let mut all = Tally::new(reward_key.as_deref());
    let (mut running, mut finished, mut updated_at) = (0, true, None);
    let mut missing: BTreeMap<(String, String, Option<String>, Option<LeftOut>), u64> = BTreeMap::new();
    for (wave, part) in waves.waves.iter().zip(waves.jobs(job)) {
        // Planned trials stand in Harbor's own lock once it has begun, and in ours before.
        let begun = part.exists().then(|| look_at_one(&part, &mut all)).transpose()?;
        finished &= begun.as_ref().is_some_and(|progress| progress.state == State::Finished);
        if let Some(progress) = begun.filter(|progress| progress.is_planned_by_harbor) {
            running += progress.running;
            updated_at = progress.updated_at.or(updated_at);
            for Missing { task, agent, model, trials, why: _ } in progress.missing {
                *missing.entry((task, agent, model, why)).or_default() += trials;
            }
            continue;
        }
        for (agent, model) in &wave.agents {
            for task in &wave.tasks {
                *missing.entry((task.clone(), agent.clone(), model.clone(), why)).or_default() +=
                    wave.attempts;
            }
        }
    }
    let missing = missing
        .into_iter()
        .map(|((task, agent, model, why), trials)| Missing { task, agent, model, trials, why })
        .collect();
    Ok(Progress {
        job: job.name.clone(),
        planned: record.as_ref().and_then(|record| record.planned),
        experiment: record.map_or_else(String::new, |record| record.experiment),
        state: match (&runner, finished) {
            (Some(_), _) => State::Running,
            (None, true) => State::Finished,
            (None, false) => State::Stopped,
        },
        process: process(runner),
        ended: all.ended(),
        graded: all.graded(),
        errored: all.errored(),
        running,
        mean: all.mean(),
        missing,
        is_planned_by_harbor: true,
        updated_at,
    })
}

/// The number of a process that runs a job.
fn process(runner: Option<String>) -> Option<u32> {
    runner.and_then(|runner| runner.rsplit(' ').next()?.parse().ok())
}

/// Looks at the folder of one job of Harbor's. What has become of its trials is added to `all`, too.
fn look_at_one(job: &Job, all: &mut Tally) -> Result<Progress> {
    let record = job.record();
    let runner = job.runner();
    let unreadable = |error: &dyn std::fmt::Display| Error::new(error.to_string());
    let folder = JobFolder::open(job.dir.as_std_path()).map_err(|error| unreadable(&error))?;
    let result = folder.result().ok().flatten().unwrap_or_else(JobResult::default);

    let mut planned: BTreeMap<(String, String, Option<String>), u64> = BTreeMap::new();
    let lock = folder.lock().ok().flatten();
    for trial in lock.iter().flat_map(|lock| lock.trials.iter()) {
        *planned.entry(key(trial.task_folder(), &trial.agent)).or_default() += 1;
    }
    let mut tally = Tally::new(record.as_ref().and_then(|record| record.reward_key.as_deref()));
    let mut begun = 0;
    let mut buffer = Vec::new();
    for trial in folder.trials().map_err(|error| unreadable(&error))?.flatten() {
        if !trial.is_trial() {
            continue;
        }
        match trial.result(&mut buffer) {
            Err(error) if error.is_missing() => begun += 1,
            Err(_) => drop(tally.trials.insert(trial.name(), Outcome { reward: None, errored: true })),
            Ok(result) => {
                let config = result.config();
                if let Some(left) = planned.get_mut(&key(result.task_id.folder(), &config.agent)) {
                    *left = left.saturating_sub(1);
                }
                let outcome = tally.outcome(&result);
                tally.trials.insert(trial.name(), outcome);
            }
        }
    }
    let missing = planned
        .into_iter()
        .filter(|(_, trials)| *trials > 0)
        .map(|((task, agent, model), trials)| Missing { task, agent, model, trials, why: None })
        .collect();
    all.add(&job.name, &tally);
    let is_planned_by_harbor = lock.is_some();
    let of_lock = lock.map(|lock| count(lock.trials.len()));
    let of_record = record.as_ref().and_then(|record| record.planned);
    Ok(Progress {
        job: job.name.clone(),
        experiment: record.map_or_else(String::new, |record| record.experiment),
        state: match (&runner, result.finished_at) {
            (Some(_), _) => State::Running,
            (None, Some(_)) => State::Finished,
            (None, None) => State::Stopped,
        },
        process: process(runner),
        planned: of_lock.or(result.n_total_trials).or(of_record),
        ended: tally.ended(),
        graded: tally.graded(),
        errored: tally.errored(),
        running: begun,
        mean: tally.mean(),
        missing,
        is_planned_by_harbor,
        updated_at: result.updated_at.map(|time| time.to_string()),
    })
}

fn key(task: Option<&str>, agent: &AgentConfig) -> (String, String, Option<String>) {
    let label = agent.name.as_deref().or(agent.import_path.as_deref()).unwrap_or("?");
    (task.unwrap_or("?").to_owned(), label.to_owned(), agent.model_name.clone())
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The leaderboard adds up in the same way, so that the two never differ in a digit.
    #[test]
    fn the_mean_does_not_depend_on_the_order_of_trials() {
        let mut tally = Tally::new(None);
        for (trial, reward) in [("a", 1e100), ("b", 1.0), ("c", -1e100), ("d", 1.0)] {
            tally.trials.insert(trial.to_owned(), Outcome { reward: Some(reward), errored: false });
        }
        assert_eq!((tally.mean(), tally.ended()), (Some(0.5), 4));
    }
}
