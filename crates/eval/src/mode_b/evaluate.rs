//! An evaluation as a whole: what the record answers, the jobs that run the rest, what it all comes to.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use taskwright_base::text::count;
use taskwright_base::write::{self, Durable};
use taskwright_base::{Result, failed};
use taskwright_harbor::child::Environment;
use taskwright_harbor::job::JobFolder;
use taskwright_harbor::run::clean_up;

use super::collate::{Collation, JobEnd, PlannedSample};
use super::host_or_sidecar::Runner;
use super::job_run::{self, Done};
use super::outcome::{evaluation, unusable};
use super::probe::{Finding, Probe};
use super::progress::Progress;
use super::record_folder::{Failed, How, Record, Round, RoundEnd};
use super::samples::{left, planned, with_others};
use super::{EvaluationB, ModeB, Observer, PlanB, Trials};
use crate::cancel::Cancel;
use crate::evaluation::End;
use crate::failure::ErrorClass;
use crate::result::SampleResult;

const TIME_OVER: &str = "the evaluation's time was over";

pub(super) fn evaluate(
    mode: &ModeB,
    plan: &PlanB<'_>,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Result<EvaluationB> {
    let start = Instant::now();
    let planned = planned(mode, plan)?;
    if let Err(fault) = mode.check_package(plan.candidate) {
        return Ok(unusable(mode, plan, &planned, &fault.to_string(), observer));
    }
    let waiting = |_: &str| observer.say("waiting for another process that works on the same evaluation");
    let Some(record) = Record::open(plan.record, &waiting, cancel)? else {
        let collated = Collation::new(&planned, plan.rules).conclude();
        return Ok(evaluation(mode, collated, Vec::new(), End::Cancelled, start));
    };
    let Some(runner) = mode.place.runner(&mode.harbor.run, cancel)? else {
        let collated = Collation::new(&planned, plan.rules).conclude();
        return Ok(evaluation(mode, collated, Vec::new(), End::Cancelled, start));
    };
    let environment = mode.place.environment(&mode.environment, &record);
    let count = planned.len();
    let planned = with_others(mode, planned);
    let seconds = mode.serve.limits.evaluation_timeout_sec;
    let mut rounds = Rounds {
        mode,
        plan,
        observer,
        cancel,
        deadline: start.checked_add(Duration::from_secs(seconds)),
        told: (0..planned.len()).map(|place| place >= count).collect(),
        planned,
        record,
        runner,
        is_admitted: false,
        environment,
        trials_run: 0,
        trouble: Vec::new(),
    };
    let how = rounds.go()?;
    rounds.conclude(how, start)
}

struct Rounds<'a> {
    mode: &'a ModeB,
    plan: &'a PlanB<'a>,
    observer: &'a dyn Observer,
    cancel: &'a Cancel,
    deadline: Option<Instant>,
    /// The samples of the plan, and after them the others of the task.
    planned: Vec<PlannedSample>,
    record: Record,
    runner: Runner,
    /// Whether the record was opened to the runner.
    is_admitted: bool,
    environment: Environment,
    /// Which samples the observer knows of.
    told: Vec<bool>,
    trials_run: u64,
    trouble: Vec<String>,
}

impl Rounds<'_> {
    /// Runs jobs until nothing is left to be run, or nothing may be run any more.
    fn go(&mut self) -> Result<How> {
        self.mend()?;
        self.learn_digests()?;
        let limits = &self.mode.serve.limits;
        let mut attempts = limits.infrastructure_max_attempts.max(1);
        let total = |left: &[(usize, u64)]| left.iter().map(|(_, times)| *times).sum::<u64>();
        let mut left = self.left_to_run(true)?;
        loop {
            if left.is_empty() || attempts == 0 {
                return Ok(How::Finished);
            }
            if let Some(how) = self.is_over() {
                return Ok(how);
            }
            let (how, is_all) = self.round(&left)?;
            if matches!(how, How::Cancelled | How::TimeOver) {
                return Ok(how);
            }
            let before = total(&left);
            left = self.left_to_run(false)?;
            // What did not get its turn, because another trial hung or because it waits for a round of its own, has had
            // no attempt; but only as long as there is less and less of it.
            if (how == How::Overrun || !is_all) && total(&left) < before {
                continue;
            }
            attempts -= 1;
            if attempts > 0 && !left.is_empty() {
                self.pause(Duration::from_secs(limits.infrastructure_retry_delay_sec));
            }
        }
    }

    fn is_over(&self) -> Option<How> {
        if self.cancel.is_cancelled() {
            Some(How::Cancelled)
        } else if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            Some(How::TimeOver)
        } else {
            None
        }
    }

    /// Waits before failed samples get another attempt.
    fn pause(&self, pause: Duration) {
        self.observer.say(&format!("trying failed samples again in {} s", pause.as_secs()));
        let start = Instant::now();
        while self.is_over().is_none() && start.elapsed() < pause {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends rounds that nobody saw the end of: removes what they left in the Docker engine.
    fn mend(&mut self) -> Result<()> {
        let docker = self.is_docker();
        for (round, end) in self.record.rounds(self.plan.name)? {
            if end.is_some() {
                continue;
            }
            if let Err(why) = clean_up(&round.job_dir, docker, &self.environment) {
                self.trouble.push(format!("containers of an earlier run may be left: {why}"));
            }
            let status = "the process that watched it was killed".to_owned();
            round.write_end(&RoundEnd { how: How::Killed, status, failed: Vec::new() })?;
        }
        Ok(())
    }

    fn is_docker(&self) -> bool {
        self.mode.harbor.run.environment == "docker"
    }

    /// Tasks of a registry are known by their names alone until they were fetched; from then on they must stay the same.
    fn learn_digests(&mut self) -> Result<()> {
        if self.planned.iter().all(|planned| planned.digest.is_some()) {
            return Ok(());
        }
        for (round, _) in self.record.rounds(self.plan.name)? {
            let lock = JobFolder::open(&round.job_dir).and_then(|folder| folder.lock()).ok().flatten();
            for trial in lock.iter().flat_map(|lock| lock.trials.kinds()) {
                let Some(folder) = trial.task_folder() else { continue };
                for planned in &mut self.planned {
                    if planned.directory == folder && planned.digest.is_none() {
                        planned.digest.clone_from(&trial.task_digest);
                    }
                }
            }
        }
        super::registry::verify(&self.mode.harbor.run.source, &self.planned)
    }

    /// All that is on record.
    fn collation(&self) -> Result<Collation<'_>> {
        let mut collation = Collation::new(&self.planned, self.plan.rules);
        for (round, end) in self.record.rounds(self.plan.name)? {
            let by_itself = end.as_ref().is_some_and(|end| end.how == How::Finished);
            let how = if by_itself { JobEnd::OfItself } else { JobEnd::Stopped };
            collation.add_job(&round.job_dir, how);
            for failed in end.into_iter().flat_map(|end| end.failed) {
                for (place, planned) in self.planned.iter().enumerate() {
                    for _ in 0..failed.attempts.get(&planned.id).copied().unwrap_or(0) {
                        collation.add_failed(place, failed.class, &failed.message);
                    }
                }
            }
        }
        Ok(collation)
    }

    /// What is still to be run, by place in the plan, and how often. Tells of what is finished.
    fn left_to_run(&mut self, recorded: bool) -> Result<Vec<(usize, u64)>> {
        let mut samples = self.collation()?.conclude().samples;
        samples.truncate(self.plan.samples.len());
        let mut left_to_run = Vec::new();
        for (place, sample) in samples.iter().enumerate() {
            match left(self.plan.rules.attempts, sample) {
                0 => self.tell(place, sample, recorded),
                left => left_to_run.push((place, left)),
            }
        }
        Ok(left_to_run)
    }

    fn tell(&mut self, place: usize, sample: &SampleResult, recorded: bool) {
        if !std::mem::replace(&mut self.told[place], true) {
            self.observer.sample(sample, recorded);
        }
    }

    /// Runs a job of what is left; says what ended it, and whether it was planned to leave nothing.
    fn round(&mut self, left: &[(usize, u64)]) -> Result<(How, bool)> {
        let mode = self.mode;
        let number = self.record.rounds(self.plan.name)?.len() + 1;
        let round = self.record.round(self.plan.name, number);
        let candidate = self.record.candidate(self.plan.candidate)?;
        if !std::mem::replace(&mut self.is_admitted, true) {
            self.runner.admit(&self.record, &candidate)?;
        }
        // As many attempts for all: that is what Harbor calls attempts. Otherwise a task is named as often as it is to be
        // tried; but a registry's set names each once, so that who misses more of them waits for another round.
        let fewest = left.iter().map(|(_, times)| *times).min().unwrap_or(1);
        let is_same = left.iter().all(|(_, times)| *times == fewest);
        let is_local = !mode.harbor.tasks.is_empty();
        let attempts = if is_same || !is_local { fewest } else { 1 };
        let tasks: Vec<(&str, u64)> = left
            .iter()
            .map(|(place, times)| {
                (self.planned[*place].id.as_str(), if attempts == 1 && is_local { *times } else { 1 })
            })
            .collect();
        let trials = attempts * tasks.iter().map(|(_, times)| *times).sum::<u64>();
        let tasks = mode.tasks(&tasks, true)?;
        let name = super::record_folder::job_name(self.plan.name, number);
        let config = mode.job_config(&name, &self.record.jobs_dir(), &tasks, attempts)?;
        let Some(launcher) = mode.launcher(&self.runner, &self.record, &candidate, self.cancel)? else {
            return Ok((How::Cancelled, false));
        };
        let command = mode.command(launcher, round.config.clone());
        write::atomic(&round.config, Durable::Yes, config.to_json().as_bytes())?;
        self.observer.say(&format!(
            "running {} of {name}: the log is {}",
            count(trials, "trial"),
            round.log.display()
        ));
        let done = self.watch(&round, &command, trials);
        self.runner.settle()?;
        let done = done?;
        self.trouble.extend(done.trouble.clone());
        let failed = self.faults(&round, &command, &config.agents[0], left, &done);
        // Finding out has perhaps run the candidate again.
        self.runner.settle()?;
        let failed = failed?;
        let how = done.how;
        round.write_end(&RoundEnd { how, status: done.status, failed })?;
        self.learn_digests()?;
        Ok((how, is_same || is_local))
    }

    /// Runs the job of a round and tells of samples as their trials finish.
    fn watch(
        &mut self,
        round: &Round,
        command: &taskwright_harbor::command::HarborCommand,
        planned_trials: u64,
    ) -> Result<Done> {
        let limits = &self.mode.serve.limits;
        let say = |what: &str| self.observer.say(what);
        let job = job_run::Job {
            say: &say,
            record: &self.record,
            round,
            command,
            environment: &self.environment,
            docker: self.is_docker(),
            deadline: self.deadline,
            trial_time: limits.sample_timeout_sec.seconds().map(Duration::from_secs),
            harbor: &self.mode.harbor.run.version,
            cancel: self.cancel,
        };
        let mut told = std::mem::take(&mut self.told);
        let mut progress = Progress {
            observer: self.observer,
            collation: self.collation()?,
            attempts: self.plan.rules.attempts,
            retries: self.mode.harbor.run.max_retries > 0,
            told: &mut told,
            trials: Trials { planned: planned_trials, ..Trials::default() },
            ended: HashSet::new(),
        };
        let done = job_run::run(&job, &mut |event| progress.take(event));
        let ended = progress.trials.ended;
        self.told = told;
        self.trials_run += ended;
        done
    }

    /// The attempts of a round that the candidate failed without a result of Harbor's.
    fn faults(
        &self,
        round: &Round,
        command: &taskwright_harbor::command::HarborCommand,
        agent: &taskwright_harbor::job_config::AgentConfig,
        left_before: &[(usize, u64)],
        done: &Done,
    ) -> Result<Vec<Failed>> {
        let id = |place: &usize| self.planned[*place].id.clone();
        if !done.hung.is_empty() {
            let seconds = self.mode.serve.limits.sample_seconds();
            let attempts = self.planned.iter().filter_map(|planned| {
                done.hung.get(&planned.directory).map(|count| (planned.id.clone(), *count))
            });
            let message = format!("not finished after {seconds} s");
            return Ok(vec![Failed { class: ErrorClass::Timeout, message, attempts: attempts.collect() }]);
        }
        if done.how != How::Finished || done.success {
            return Ok(Vec::new());
        }
        // Only a job that ran nothing at all is asked why: one whose trials ended has answered.
        let trials = taskwright_harbor::watch::trial_names(&round.job_dir)
            .map_err(failed("reading", &round.job_dir))?;
        let has_result = |name: &String| round.job_dir.join(name).join("result.json").is_file();
        if trials.iter().any(has_result) {
            return Ok(Vec::new());
        }
        self.observer.say("Harbor ran no trial: finding out why");
        let home = self.record.home();
        std::fs::create_dir_all(&home).map_err(failed("making", &home))?;
        let probe = Probe {
            launcher: &command.launcher,
            agent,
            environment: &self.environment,
            folder: &home,
            log: &self.record.rounds_dir().join("probe.log"),
            cancel: self.cancel,
        };
        Ok(match probe.ask() {
            Finding::Candidate(message) => {
                let attempts: BTreeMap<String, u64> =
                    left_before.iter().map(|(place, times)| (id(place), *times)).collect();
                vec![Failed { class: ErrorClass::Candidate, message, attempts }]
            }
            Finding::Infrastructure(_) | Finding::Neither | Finding::Cancelled => Vec::new(),
        })
    }

    /// What it all comes to.
    fn conclude(mut self, how: How, start: Instant) -> Result<EvaluationB> {
        let expected = self.plan.rules.attempts;
        let mut collation = self.collation()?;
        let mut before = collation.conclude().samples;
        before.truncate(self.plan.samples.len());
        let mut is_time_over = false;
        if how == How::TimeOver {
            // Where no trial came as far as the candidate, it is not the candidate that was slow.
            let reached = before.iter().any(|sample| left(expected, sample) < expected);
            for (place, sample) in before.iter().enumerate() {
                let left = left(expected, sample);
                is_time_over |= left > 0;
                for _ in 0..if reached { left } else { 0 } {
                    collation.add_failed(place, ErrorClass::Timeout, TIME_OVER);
                }
            }
        }
        let mut collated = collation.conclude();
        collated.samples.truncate(self.plan.samples.len());
        drop(collation);
        let is_unfinished = before.iter().any(|sample| left(expected, sample) > 0);
        let end = match how {
            How::Cancelled if is_unfinished => End::Cancelled,
            How::TimeOver if is_time_over => End::TimedOut,
            _ => End::Completed,
        };
        for (place, sample) in collated.samples.iter().enumerate() {
            // What was never attempted because of a stop is told of too: it is finished as far as this evaluation goes.
            self.tell(place, sample, false);
        }
        let jobs = self.record.rounds(self.plan.name)?.into_iter().map(|(round, _)| round.job_dir).collect();
        let mut evaluation = evaluation(self.mode, collated, jobs, end, start);
        evaluation.trials_run = self.trials_run;
        evaluation.trouble = (!self.trouble.is_empty()).then(|| self.trouble.join("\n"));
        Ok(evaluation)
    }
}
