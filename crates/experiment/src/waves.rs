//! Waves: an experiment whose spend is bounded, as jobs of Harbor's one after the other.
//!
//! Harbor cannot be told to start no more trials of a job without breaking off those under way. So a bounded experiment becomes many
//! jobs, each of no more trials than run at a time, of all agents and of each: none of a wave waits for another, between two waves none is
//! under way, and only there is looked at what was spent.
//!
//! ```text
//! jobs/NAME-DIGEST/                 the experiment's job, which Harbor never runs as a whole
//!   waves.json                      its waves, and what was spent when it was last run
//!   NAME-DIGEST.1/ ...              Harbor's folder of the first wave, with what every job of ours has
//! ```

use std::ops::Range;

use serde::{Deserialize, Serialize};
use taskwright_base::write::{Durable, atomic};
use taskwright_base::{Error, Result};
use taskwright_harbor::job::JobFolder;

use crate::jobs::Job;
use crate::plan::Prepared;

const FILE: &str = "waves.json";
/// The version of that file's format.
const VERSION: u64 = 1;
/// The most waves: each takes Harbor some seconds to start.
const MOST: usize = 10_000;

/// What a bounded job's own file says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waves {
    version: u64,
    /// The waves in their order.
    pub waves: Vec<Wave>,
    /// How it stood with the money when the job was last run.
    pub line: Option<Line>,
}

/// What every version of the file says.
#[derive(Debug, Deserialize)]
struct Version {
    version: u64,
}

/// A wave: each of some agents on each of some tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wave {
    /// The name of its job.
    pub job: String,
    /// The agents, each with its model.
    pub agents: Vec<(String, Option<String>)>,
    /// The folders of the tasks.
    pub tasks: Vec<String>,
    /// How often.
    pub attempts: u64,
}

/// How it stands with the money.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// How much may be spent before no new trial starts, in US dollars.
    pub max_usd: f64,
    /// How much was.
    pub spent_usd: f64,
    /// Whether trials were left out for it.
    pub is_reached: bool,
}

/// A part of an experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block {
    agents: Range<usize>,
    tasks: Range<usize>,
    attempts: u64,
}

/// Divides agents, tasks and repetitions into blocks of at most `at_a_time` trials, and of at most `of_each` of one agent. Agents come
/// side by side and tasks before repetitions, so that wherever it ends, agents have tried the same tasks as far as can be.
fn blocks(
    agents: usize,
    tasks: usize,
    repetitions: u64,
    at_a_time: usize,
    of_each: usize,
) -> Result<Vec<Block>> {
    let (agents, tasks, at_a_time) = (agents.max(1), tasks.max(1), at_a_time.max(1));
    let wide = agents.min(at_a_time);
    let of_each = (at_a_time / wide).min(of_each).max(1);
    let long = tasks.min(of_each);
    let deep = u64::try_from(of_each / long).unwrap_or(1).max(1);
    let layers = usize::try_from(repetitions.div_ceil(deep)).ok();
    let count = layers
        .and_then(|layers| layers.checked_mul(tasks.div_ceil(long))?.checked_mul(agents.div_ceil(wide)));
    if count.is_none_or(|count| count > MOST) {
        return Err(Error::new(format!(
            "a bounded experiment has at most {MOST} waves of {at_a_time} trials"
        ))
        .hint("raise `compute.resource_limits.concurrency`, or divide it into several experiments"));
    }
    let mut blocks = Vec::new();
    let mut left = repetitions;
    while left > 0 {
        let attempts = deep.min(left);
        left -= attempts;
        for task in (0..tasks).step_by(long) {
            for agent in (0..agents).step_by(wide) {
                blocks.push(Block {
                    agents: agent..agents.min(agent + wide),
                    tasks: task..tasks.min(task + long),
                    attempts,
                });
            }
        }
    }
    Ok(blocks)
}

/// The waves of a job, each ready to be written and run below it.
///
/// # Errors
/// Harbor fetches a dataset, so that nobody knows its tasks; or there are too many waves.
pub fn split(prepared: &Prepared) -> Result<Vec<Prepared>> {
    let config = &prepared.config;
    if !config.datasets.is_empty() {
        return Err(Error::new("`--max-usd` needs to know the tasks, and Harbor fetches those of a dataset")
            .usage()
            .hint("download it by `harbor download`, and name its folder by `path`"));
    }
    let at_a_time = usize::try_from(config.n_concurrent_trials).unwrap_or(usize::MAX);
    // One that may run fewer trials at a time would make others of its wave wait, and those would start after money was spent.
    let of_each = config.agents.iter().filter_map(|agent| agent.n_concurrent).min();
    let of_each = of_each.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let blocks = blocks(config.agents.len(), config.tasks.len(), config.n_attempts, at_a_time, of_each)?;
    let wave = |(index, block): (usize, Block)| {
        let Block { agents, tasks, attempts } = block;
        let mut wave = prepared.clone();
        wave.config.jobs_dir = config.job_dir();
        wave.config.job_name = format!("{}.{}", config.job_name, index + 1);
        wave.config.agents = config.agents.get(agents).unwrap_or_default().to_vec();
        wave.config.tasks = config.tasks.get(tasks).unwrap_or_default().to_vec();
        wave.config.n_attempts = attempts;
        let trials = wave.config.agents.len().checked_mul(wave.config.tasks.len());
        let trials = trials.and_then(|trials| u64::try_from(trials).ok()?.checked_mul(attempts));
        wave.record.planned = trials;
        wave
    };
    Ok(blocks.into_iter().enumerate().map(wave).collect())
}

impl Waves {
    /// What a job's waves are.
    pub fn new(waves: &[Prepared]) -> Self {
        let wave = |wave: &Prepared| {
            let config = &wave.config;
            let folder = |path: &std::path::PathBuf| Some(path.file_name()?.to_str()?.to_owned());
            Wave {
                job: config.job_name.clone(),
                agents: config
                    .agents
                    .iter()
                    .map(|agent| (agent.label().to_owned(), agent.model_name.clone()))
                    .collect(),
                tasks: config
                    .tasks
                    .iter()
                    .map(|task| task.path.as_ref().and_then(folder).unwrap_or_else(|| "?".to_owned()))
                    .collect(),
                attempts: config.n_attempts,
            }
        };
        Self { version: VERSION, waves: waves.iter().map(wave).collect(), line: None }
    }

    /// What a job's file says; none if there is no such file, as in a job that is not bounded.
    ///
    /// # Errors
    /// The file is there and cannot be read, or is of another version: nobody may take its job for one without a bound.
    pub fn of(job: &Job) -> Result<Option<Self>> {
        let unknown = |why: &dyn std::fmt::Display| {
            Error::new(format!("what `{}` says of the job's bound cannot be read: {why}", job.dir.join(FILE)))
                .hint("restore it, or run the experiment once more with `--again`")
        };
        let file = match JobFolder::open(&job.dir) {
            Ok(folder) => folder.other(FILE),
            Err(error) => Err(error),
        };
        let bytes = match file {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(error) if error.is_missing() => return Ok(None),
            Err(error) => return Err(unknown(&error)),
        };
        // The version first: another one may have other fields.
        let version: Version = serde_json::from_slice(&bytes).map_err(|error| unknown(&error))?;
        if version.version != VERSION {
            return Err(unknown(&format!(
                "its format is version {}, and {VERSION} is known",
                version.version
            )));
        }
        serde_json::from_slice(&bytes).map(Some).map_err(|error| unknown(&error))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, job: &Job) -> Result<()> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::new(format!("writing the job's waves: {error}")))?;
        atomic(job.dir.join(FILE), Durable::Yes, format!("{text}\n").as_bytes())
    }

    /// The jobs of its waves.
    pub fn jobs(&self, job: &Job) -> impl Iterator<Item = Job> {
        self.waves.iter().map(|wave| Job { name: wave.job.clone(), dir: job.dir.join(&wave.job) })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_trial_is_in_one_wave_and_none_is_larger_than_what_runs_at_a_time() {
        for (agents, tasks, repetitions, most, of_each) in [
            (1, 1, 10, 4, usize::MAX),
            (2, 3, 2, 4, usize::MAX),
            (2, 3, 2, 4, 1),
            (3, 7, 5, 2, 0),
            (5, 1, 1, 2, usize::MAX),
            (2, 2, 3, 100, usize::MAX),
            (2, 2, 3, 100, 5),
            (1, 5, 1, 1, 3),
            (3, 5, 7, 11, 2),
        ] {
            let mut seen: BTreeMap<(usize, usize), u64> = BTreeMap::new();
            for Block { agents, tasks, attempts } in
                blocks(agents, tasks, repetitions, most, of_each).unwrap()
            {
                let one = tasks.len() * usize::try_from(attempts).unwrap();
                assert!(one <= of_each.max(1), "{one} of one agent, {of_each} at a time");
                let size = agents.len() * tasks.len() * usize::try_from(attempts).unwrap();
                assert!(size > 0 && size <= most, "{size} of {most}");
                for cell in agents.flat_map(|agent| tasks.clone().map(move |task| (agent, task))) {
                    *seen.entry(cell).or_default() += attempts;
                }
            }
            assert_eq!(seen.len(), agents * tasks);
            assert!(seen.values().all(|attempts| *attempts == repetitions), "{seen:?}");
        }
    }

    #[test]
    fn agents_go_side_by_side() {
        let blocks = blocks(2, 2, 2, 2, 2).unwrap();
        assert!(blocks.iter().all(|block| block.agents == (0..2) && block.tasks.len() == 1));
        assert_eq!(blocks[0].tasks, 0..1);
        assert_eq!(blocks[1].tasks, 1..2, "both tasks before the second time of the first");
    }

    #[test]
    fn no_number_is_too_large() {
        assert!(blocks(usize::MAX, usize::MAX, u64::MAX, 1, 1).is_err());
        assert_eq!(blocks(1, 1, u64::MAX, usize::MAX, usize::MAX).unwrap().len(), 1);
    }
}
