//! Mode B: a sample is a whole Harbor task, and a nested `harbor run` scores the candidate on it.
//!
//! `evaluate` runs one job of Harbor after the other until nothing is left to be run. `samples` says what is left,
//! `inner_tasks` copies the tasks, `lower` writes the job's configuration, `job_run` runs it while `progress` tells of
//! it, in a `record_folder` that lasts, as the user of `host_or_sidecar` and with the versions of packages that
//! `requirements` finds. `probe` finds what is wrong with a candidate's package, [`collate`] turns what Harbor leaves into
//! sample results, and `outcome` these into an evaluation.

pub mod collate;
mod evaluate;
mod host_or_sidecar;
mod inner_tasks;
mod job_run;
mod lower;
mod outcome;
mod probe;
mod progress;
mod record_folder;
mod registry;
mod requirements;
mod samples;
mod step;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use taskwright_harbor::child::Environment;
use taskwright_harbor::command::{HarborCommand, Launcher};
use taskwright_harbor::job_config::JobConfig;
use taskwright_harbor::project::Project;
use taskwright_harbor::tools;
use taskwright_language::serve::{ServeConfig, ServeHarbor};

pub use self::collate::{Note, NoteKind, Rules};
use taskwright_base::{Error, Result, failed};
pub use taskwright_harbor::project::ProjectFault;

use self::host_or_sidecar::Runner;
pub use self::host_or_sidecar::{HostPlace, Place, SidecarPlace};
use self::record_folder::{Record, job_name};
use self::requirements::Question;
use crate::cancel::Cancel;
use crate::evaluation::EvaluationResult;
use crate::result::SampleResult;

/// What an evaluator needs to know.
#[derive(Debug, Clone)]
pub struct ModeBOptions {
    /// What the task says.
    pub serve: Arc<ServeConfig>,
    /// The folder of the inner tasks.
    pub inner_tasks: PathBuf,
    /// A folder of ours for copies of the inner tasks, which lasts; made if missing. Where Harbor reaches a Docker engine
    /// outside of this container, the path must be the same there.
    pub work: PathBuf,
    /// What Harbor finds in its environment: the secrets that the spec names, `PATH`, and little else.
    pub environment: Environment,
    /// A registry file on this machine in place of the public registry.
    pub registry_path: Option<PathBuf>,
    /// Where the nested run happens.
    pub place: Place,
}

/// What is to be evaluated.
#[derive(Debug, Clone, Copy)]
pub struct PlanB<'a> {
    /// The candidate's files; see [`crate::Store::checkout`].
    pub candidate: &'a Path,
    /// The samples, each at most once.
    pub samples: &'a [String],
    /// How many attempts each has, and what they add up to; see [`ModeB::rules`].
    pub rules: &'a Rules,
    /// The folder of the record: one for each candidate, settings and occasion. What is in it is not done again.
    pub record: &'a Path,
    /// What its jobs are called, before their number: letters, digits and dashes; always the same for one record.
    pub name: &'a str,
}

/// Who is told how an evaluation goes, from the thread that runs it.
pub trait Observer {
    /// A sample is finished: once for each planned sample, in any order. `recorded` says that it was found in the record.
    fn sample(&self, result: &SampleResult, recorded: bool);
    /// The trials of the job that runs.
    fn trials(&self, trials: &Trials);
    /// Something that whoever waits may want to know.
    fn say(&self, what: &str);
}

/// The trials of the job that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Trials {
    /// How many there are to be.
    pub planned: u64,
    /// How many run.
    pub running: u64,
    /// How many have ended.
    pub ended: u64,
}

/// An evaluation, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluationB {
    /// What came out.
    pub result: EvaluationResult,
    /// What lay in the job directories and does not count.
    pub notes: Vec<Note>,
    /// The job directories that it was collated from.
    pub jobs: Vec<PathBuf>,
    /// How many trials were run for it; none if it was answered from the record.
    pub trials_run: u64,
    /// What went wrong on our side, with the end of Harbor's log.
    pub trouble: Option<String>,
}

/// A job that is not run: what it would be.
#[derive(Debug, Clone, PartialEq)]
pub struct DryRun {
    /// The command.
    pub command: HarborCommand,
    /// The configuration that stands in the file that the command names.
    pub config: JobConfig,
}

/// Evaluates candidates on inner Harbor tasks.
#[derive(Debug)]
pub struct ModeB {
    serve: Arc<ServeConfig>,
    harbor: ServeHarbor,
    inner_tasks: PathBuf,
    work: PathBuf,
    environment: Environment,
    registry_path: Option<PathBuf>,
    place: Place,
}

impl ModeB {
    /// Opens an evaluator.
    pub fn open(options: ModeBOptions) -> Result<Self> {
        let ModeBOptions { serve, inner_tasks, work, environment, registry_path, place } = options;
        let Some(harbor) = serve.harbor.clone() else {
            return Err(Error::new(format!(
                "the task `{}` says nothing of Harbor: it is not of mode B",
                serve.task
            )));
        };
        std::fs::create_dir_all(&work).map_err(failed("making", &work))?;
        let work = work.canonicalize().map_err(failed("finding", &work))?;
        // Three attempts to reach a price list that nobody needs take ten seconds where there is no network.
        let environment = match environment.get("LITELLM_LOCAL_MODEL_COST_MAP") {
            Some(_) => environment,
            None => environment.with("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
        };
        Ok(Self { serve, harbor, inner_tasks, work, environment, registry_path, place })
    }

    /// What the spec says of attempts and of the objective. `feedback_bytes` is for splits whose samples may be seen.
    pub fn rules(&self, feedback_bytes: Option<usize>) -> Rules {
        let (run, objective) = (&self.harbor.run, &self.serve.objective);
        Rules {
            attempts: run.attempts,
            aggregate: run.aggregate,
            direction: objective.direction,
            failure_value: objective.failure_value,
            reward_key: run.reward_key.clone(),
            metric: objective.metric.clone(),
            feedback_bytes,
        }
    }

    /// Looks at a candidate's package: what is wrong with it is the candidate's fault, and is found in milliseconds.
    pub fn check_package(&self, candidate: &Path) -> Result<(), ProjectFault> {
        Project::open(candidate)?.check(&self.harbor.run.version)
    }

    /// Evaluates a candidate, as far as the record does not answer already. Blocks until it is done; what is finished is
    /// kept even if we are killed.
    ///
    /// # Errors
    /// What kept us from trying: no `uv`, a folder that cannot be written. What a candidate does wrong is a result.
    pub fn evaluate(
        &self,
        plan: &PlanB<'_>,
        observer: &dyn Observer,
        cancel: &Cancel,
    ) -> Result<EvaluationB> {
        evaluate::evaluate(self, plan, observer, cancel)
    }

    /// The job that evaluating these samples from the start would run on a machine of one's own.
    pub fn dry_run(&self, plan: &PlanB<'_>) -> Result<DryRun> {
        let folders = plan.record.join("jobs");
        let tasks =
            self.tasks(&plan.samples.iter().map(|sample| (sample.as_str(), 1)).collect::<Vec<_>>(), false)?;
        let name = job_name(plan.name, 1);
        let config = self.job_config(&name, &folders, &tasks, plan.rules.attempts)?;
        let config_file = plan.record.join("rounds/0001.json");
        let candidate = plan.record.join("candidate");
        let Some(launcher) = self.host_launcher(&candidate, &Cancel::new())? else {
            return Err(Error::interrupted());
        };
        Ok(DryRun { command: self.command(launcher, config_file), config })
    }

    fn uv(&self) -> Result<PathBuf> {
        let path = self.environment.get("PATH");
        tools::uv(path.as_deref()).map_err(|error| Error::new(error.to_string()))
    }

    /// How Harbor is started beside a candidate; none if cancelled before that was known.
    fn launcher(
        &self,
        runner: &Runner,
        record: &Record,
        candidate: &Path,
        cancel: &Cancel,
    ) -> Result<Option<Launcher>> {
        match &self.place {
            Place::Host(_) => self.host_launcher(candidate, cancel),
            Place::Sidecar(place) => Ok(Some(Launcher::Beside(place.launcher(runner, record, candidate)))),
        }
    }

    fn host_launcher(&self, candidate: &Path, cancel: &Cancel) -> Result<Option<Launcher>> {
        let Place::Host(place) = &self.place else {
            return Err(Error::new("in an eval sidecar nothing is only told"));
        };
        let uv = self.uv()?;
        let question = Question {
            serve: &self.serve,
            harbor: &self.harbor,
            place,
            work: &self.work,
            environment: &self.environment,
        };
        let requirements = question.answer(cancel)?;
        Ok(requirements.map(|file| Launcher::Uv(lower::launcher(&self.harbor.run, &uv, file, candidate))))
    }

    fn command(&self, launcher: Launcher, config: PathBuf) -> HarborCommand {
        HarborCommand { launcher, config, extra_args: self.harbor.run.extra_args.clone() }
    }

    fn job_config(
        &self,
        name: &str,
        jobs_dir: &Path,
        tasks: &lower::Tasks,
        attempts: u64,
    ) -> Result<JobConfig> {
        let job = lower::Job {
            name,
            jobs_dir,
            tasks,
            attempts,
            registry_path: self.registry_path.as_deref(),
            downloads: &self.work.join("downloads"),
        };
        lower::job_config(&self.harbor.run, &self.serve.limits, &job)
    }

    /// The tasks of samples, each so many times; copied, or where the copies would be.
    fn tasks(&self, samples: &[(&str, u64)], copied: bool) -> Result<lower::Tasks> {
        let copies = self.work.join("inner-tasks");
        if self.harbor.tasks.is_empty() {
            let names = samples.iter().map(|(sample, _)| (*sample).to_owned());
            return Ok(lower::Tasks::Registry(names.collect()));
        }
        let mut folders = Vec::new();
        for (sample, times) in samples {
            let task = self.harbor.tasks.get(*sample).ok_or_else(|| {
                Error::new(format!("the task `{}` has no inner task `{sample}`", self.serve.task))
            })?;
            let folder = if copied {
                inner_tasks::copy(&self.inner_tasks, &copies, task)?
            } else {
                inner_tasks::path(&copies, task)
            };
            folders.extend(std::iter::repeat_n(folder, usize::try_from(*times).unwrap_or(usize::MAX)));
        }
        Ok(lower::Tasks::Folders(folders))
    }
}
