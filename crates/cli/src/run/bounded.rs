//! `run --max-usd`: an experiment in waves, of which none starts once as much is spent as may be.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taskwright_base::text::{count, one_of};
use taskwright_base::{Error, Result};
use taskwright_experiment::dispatch::{Ending, Harbor};
use taskwright_experiment::jobs::{Job, JobLock};
use taskwright_experiment::model::Experiment;
use taskwright_experiment::plan::Prepared;
use taskwright_experiment::waves::{self, Line, Waves};
use taskwright_gateway::Money;
use taskwright_language::model::without_price;

use super::left::{is_anything_left, would_be_left};
use super::metered::Metered;
use super::{Arguments, show};

/// A bounded experiment.
pub struct Bounded {
    most: Money,
    waves: Vec<Prepared>,
}

/// What is needed to go on after the job was begun.
pub struct Running<'a> {
    pub arguments: &'a Arguments,
    pub harbor: &'a Harbor,
    pub metered: &'a Metered<'a>,
    pub run_sec: Option<f64>,
    pub stop: &'a AtomicBool,
}

/// Divides an experiment into waves, if it is to be bounded.
pub fn split(most: Option<Money>, experiment: &Experiment, prepared: &Prepared) -> Result<Option<Bounded>> {
    let Some(most) = most else { return Ok(None) };
    let Some(gateway) = &experiment.gateway else {
        return Err(Error::new("`--max-usd` needs a gateway, which counts what the agents spend").usage().hint(
            "write `[gateway]` with `prices`, and `[gateway.agents]` with `allowed_models`: docs/experiments.md shows it",
        ));
    };
    let (spec, agents) = (gateway.as_of_spec(), &gateway.agents);
    let upstream = |model| spec.upstream_model(agents, model);
    let is_priced = |model: &str| spec.prices.contains_key(model);
    let unpriced = without_price(&agents.allowed_models, upstream, is_priced);
    if !unpriced.is_empty() {
        return Err(Error::new(format!("`--max-usd` needs a price of {}", one_of(unpriced)))
            .usage()
            .hint("add it to `gateway.prices`, in US dollars for a million tokens: `{ input = 0.25, output = 2.0 }`"));
    }
    Ok(Some(Bounded { most, waves: waves::split(prepared)? }))
}

/// Refuses to run a job as it was not begun.
pub fn same_kind(job: &Job, bounded: Option<&Bounded>) -> Result<()> {
    if !job.exists() {
        return Ok(());
    }
    match (Waves::of(job)?, bounded) {
        (Some(_), None) => Err(Error::new(format!("{} was begun with `--max-usd`", job.name)).usage().hint(
            "say how much it may have spent in all, with `--max-usd`; `--again` runs it once more without",
        )),
        (None, Some(_)) => {
            Err(Error::new(format!("{} was begun without `--max-usd`", job.name)).usage().hint(
                "Harbor has all of it as one job; `--again --max-usd ...` runs it once more, as another one",
            ))
        }
        _ => Ok(()),
    }
}

impl Bounded {
    /// Writes what the waves are, before the job is there.
    pub fn begin(&self, job: &Job) -> Result<()> {
        if job.exists() { Ok(()) } else { Waves::new(&self.waves).write(job) }
    }

    /// Runs wave after wave, until all are done, the money is spent, or something stops it.
    pub fn run(&self, job: &Job, lock: &JobLock, with: &Running<'_>) -> anyhow::Result<Ran> {
        let said = self.said(job)?;
        self.note(job, with.metered.spent()?, false)?;
        let deadline = with
            .run_sec
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .and_then(|time| Instant::now().checked_add(time));
        let parts: Vec<Job> = said.jobs(job).collect();
        let mut ran = Ok(Ending::Done);
        let mut is_reached = false;
        for (number, (part, wave)) in parts.iter().zip(&self.waves).enumerate() {
            // The money first: a result is removed only where another is made for it.
            let spent = with.metered.spent()?;
            if spent >= self.most {
                is_reached = !part.exists() || would_be_left(with.arguments, part)?;
                if is_reached {
                    break;
                }
                continue;
            }
            if part.exists() && !is_anything_left(with.arguments, part, Some(with.metered.token()))? {
                continue;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let stopped = with.stop.load(Ordering::Relaxed);
            if stopped || left.is_some_and(|left| left.is_zero()) {
                ran = Ok(if stopped { Ending::Interrupted } else { Ending::OutOfTime });
                break;
            }
            if !part.exists() {
                part.create(&wave.yaml()?, &wave.record)?;
            }
            let trials =
                wave.record.planned.map_or(String::new(), |trials| format!(", {}", count(trials, "trial")));
            let bar = show::Bar::new(wave.record.planned, with.arguments.json);
            bar.say(&format!(
                "wave {} of {}{trials}; {spent} of {} spent",
                number + 1,
                self.waves.len(),
                self.most
            ));
            ran = with
                .harbor
                .run(part, lock, left.map(|left| left.as_secs_f64()), with.stop, &mut |now| bar.tell(now));
            bar.finish();
            if !matches!(ran, Ok(Ending::Done)) {
                break;
            }
        }
        Ok(Ran { ending: ran, is_reached })
    }

    /// Writes how it stands with the money.
    pub fn note(&self, job: &Job, spent: Money, is_reached: bool) -> Result<()> {
        let mut said = self.said(job)?;
        said.line = Some(Line { max_usd: self.most.as_dollars(), spent_usd: spent.as_dollars(), is_reached });
        said.write(job)
    }

    /// What the job's file says. It must be these waves.
    fn said(&self, job: &Job) -> Result<Waves> {
        let said = Waves::of(job)?
            .ok_or_else(|| Error::new(format!("`{}` does not say what its waves are", job.dir)))?;
        if said.waves != Waves::new(&self.waves).waves {
            return Err(Error::new(format!("{} was begun in other waves than these", job.name)).hint(
                "go on with the release of Taskwright that began it, or run it once more with `--again`",
            ));
        }
        Ok(said)
    }
}

/// What came of a bounded run.
pub struct Ran {
    pub ending: Result<Ending>,
    /// Whether trials were left out because as much was spent as may be.
    pub is_reached: bool,
}

/// How it stands with the money of a bounded job, in words, where trials were left out.
pub fn words(job: &Job) -> Result<Option<String>> {
    let line = Waves::of(job)?.and_then(|waves| waves.line).filter(|line| line.is_reached);
    Ok(line.map(|Line { max_usd, spent_usd, .. }| {
        format!(
            "${spent_usd:.4} of ${max_usd:.4} is spent, so the rest was not started; the same command with a larger \
             `--max-usd` goes on"
        )
    }))
}

/// The same for programs; nothing where the job is not bounded.
pub fn json(job: &Job) -> Result<Value> {
    Ok(Waves::of(job)?.and_then(|waves| waves.line).map_or(Value::Null, |line| json!(line)))
}
