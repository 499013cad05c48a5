//! From a manifest to a job: its tasks, the copies it runs from, its configuration and its name.

use camino::Utf8PathBuf;
use taskwright_base::{Digest, Error, Result};
use taskwright_builder::Workspace;
use taskwright_harbor::job_config::{JobConfig, TaskConfig};
use taskwright_language::document::Document;
use taskwright_language::model::SpecPath;

use crate::error::ExperimentError;
use crate::inputs::{self, Input, Kind};
use crate::jobs::{self, Job, Record, TaskRecord};
use crate::lower::{self, Files, Lowered};
use crate::model::{Experiment, Gateway};
use crate::own_models::{self, Taken};
use crate::tasks::{self, FoundTask, FoundTasks};
use crate::yaml;

/// How many digits of the configuration's digest a job's name ends with.
const DIGITS: usize = 8;

/// A manifest with the tasks that it names.
#[derive(Debug)]
pub struct Plan<'a> {
    workspace: &'a Workspace,
    document: &'a Document<Experiment>,
    found: FoundTasks,
}

/// Finds the tasks of a manifest.
pub fn plan<'a>(
    workspace: &'a Workspace,
    document: &'a Document<Experiment>,
) -> Result<Plan<'a>, ExperimentError> {
    let found = tasks::find(workspace, document)?;
    Ok(Plan { workspace, document, found })
}

/// A job that is ready to be written and run.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// What Harbor is told, the job's name in it.
    pub config: JobConfig,
    /// Further arguments of `harbor run`.
    pub arguments: Vec<String>,
    /// Where the Python packages of agents will be, from the workspace's root.
    pub packages: Vec<Utf8PathBuf>,
    /// Harbor's version, where one is named.
    pub harbor: Option<String>,
    /// Harbor's optional parts.
    pub extras: Vec<String>,
    /// Whether its agents ask language models through a gateway beside Harbor.
    pub is_metered: bool,
    /// What its tasks take from this machine, where a gateway's token may stand instead.
    pub taken: Vec<Taken>,
    /// Whether its configuration has something that only the last release of Harbor was tried with.
    pub needs_last: bool,
    /// Seconds after which the run is stopped.
    pub run_sec: Option<f64>,
    /// What the job's own files do not say.
    pub record: Record,
    inputs: Vec<Input>,
}

impl Plan<'_> {
    /// The names of the tasks that specs of this workspace describe: what has to be built.
    pub fn built(&self) -> Vec<String> {
        self.found.tasks.iter().filter(|task| task.built.is_some()).map(|task| task.name.clone()).collect()
    }

    /// Makes a job of it. Nothing is written; tasks must have been built.
    pub fn prepare(&self) -> Result<Prepared, ExperimentError> {
        let experiment = &self.document.value;
        let root = &self.workspace.root;
        let mut files = Copies { workspace: self.workspace, inputs: Vec::new() };
        let mut record =
            Record::new(&experiment.name, self.document.file(), experiment.reward_key.as_deref());
        let mut tasks = Vec::new();
        for task in &self.found.tasks {
            let input = Input::of(&task.folder, Kind::Whole)?;
            record.tasks.push(TaskRecord {
                name: task.name.clone(),
                copy: input.digest.to_string(),
                lock: task.built.clone(),
            });
            tasks.push(TaskConfig::at(files.keep(input)));
        }
        tasks.extend(self.found.fetched.iter().cloned());
        let mut packages = Vec::new();
        for (path, package) in self.packages() {
            self.check_package(&path, package)?;
            let place = files.keep(Input::of(&root.join(package.as_path()), Kind::Package)?);
            if !packages.contains(&place) {
                packages.push(place);
            }
        }
        let arguments = self.arguments()?;
        let lowered = lower::lower(
            experiment,
            self.workspace.jobs.as_str(),
            tasks,
            self.found.datasets.clone(),
            &mut files,
        )?;
        let mut config = lowered.config;
        // Which Harbor it is, what is installed beside it, and how it is called are parts of what is run.
        let digest = serde_json::to_vec(&(&config, &arguments, &packages, &lowered.extras, &lowered.harbor))
            .map(|bytes| Digest::of(&[bytes, self.models()].concat()))
            .map_err(|error| Error::new(format!("writing the job's configuration: {error}")))?;
        // The engine reads these where the task lies. What the job is does not hang on where the workspace does.
        for mount in config.environment.mounts.iter_mut().filter(|mount| mount.kind == "bind") {
            mount.source = root.join(&mount.source).into_string();
        }
        config.job_name = format!("{}-{}", experiment.name, &digest.hex()[..DIGITS]);
        record.planned = self.planned();
        let Lowered { harbor, extras, run_sec, .. } = lowered;
        let is_metered = experiment.gateway.is_some();
        let taken = if is_metered { self.own_models()? } else { Vec::new() };
        let needs_last = experiment.needs_last();
        let inputs = files.inputs;
        Ok(Prepared {
            config,
            arguments,
            packages,
            harbor,
            extras,
            is_metered,
            taken,
            needs_last,
            run_sec,
            record,
            inputs,
        })
    }

    /// Whether the agents ask through a gateway, with whose key, and which models they get by other names: with others it is another
    /// job, and one that began metered does not go on without. How much they may use is not: a job whose budget was spent goes on with
    /// a larger one.
    fn models(&self) -> Vec<u8> {
        let Some(gateway) = &self.document.value.gateway else { return Vec::new() };
        let Gateway { upstream_api_key_env, upstream_base_url_env, agents, prices: _ } = gateway;
        let variables = ["gateway", upstream_api_key_env, upstream_base_url_env].into_iter();
        let aliases = agents.model_aliases.iter().flat_map(|(name, model)| [name.as_str(), model.as_str()]);
        variables.chain(aliases).flat_map(|text| text.bytes().chain([0])).collect()
    }

    /// What tasks on this machine take from it. Refuses those that meter their agents themselves: the experiment's gateway would lead
    /// these around it, and a trial's verdict would say that nothing was asked.
    fn own_models(&self) -> Result<Vec<Taken>, ExperimentError> {
        let (mut all, mut mistakes) = (Vec::new(), Vec::new());
        for FoundTask { name, folder, source, .. } in &self.found.tasks {
            all.extend(own_models::taken(name, folder)?);
            if own_models::has_gateway(folder)? {
                let mistake = self.document.error(
                    &["tasks", &source.to_string()],
                    format!("`{name}` has a gateway of its own, and that of the experiment leads its agents around it"),
                    "leave `[gateway]` out, and the task's own counts; or leave the task out",
                );
                mistakes
                    .push(mistake.with_label(self.document.label(&["gateway"]).saying("the experiment's")));
            }
        }
        if mistakes.is_empty() { Ok(all) } else { Err(ExperimentError::manifest(mistakes)) }
    }

    /// How many trials there will be; unknown if Harbor fetches tasks.
    fn planned(&self) -> Option<u64> {
        let experiment = &self.document.value;
        let count = |number: usize| u64::try_from(number).ok();
        let tasks = self.found.tasks.len().checked_add(self.found.fetched.len())?;
        let trials = count(tasks)?.checked_mul(count(experiment.agents.len())?)?;
        trials.checked_mul(experiment.repetitions).filter(|_| self.found.datasets.is_empty())
    }

    /// The Python packages that are installed beside Harbor, each with its place in the manifest.
    fn packages(&self) -> impl Iterator<Item = ([String; 3], &SpecPath)> {
        let experiment = &self.document.value;
        let place = |table: &str, step: String, key: String| [table.to_owned(), step, key];
        let of_agents = experiment.agents.iter().enumerate().filter_map(move |(index, agent)| {
            Some((place("agents", index.to_string(), "package".to_owned()), agent.package.as_ref()?))
        });
        let further = experiment.harbor.packages.iter().enumerate();
        of_agents.chain(further.map(move |(index, package)| {
            (place("harbor", "packages".to_owned(), index.to_string()), package)
        }))
    }

    fn check_package(&self, place: &[String; 3], package: &SpecPath) -> Result<(), ExperimentError> {
        let folder = self.workspace.root.join(package.as_path());
        if folder.join("pyproject.toml").is_file() || folder.join("setup.py").is_file() {
            return Ok(());
        }
        let path = package.as_path();
        let message = if folder.is_dir() {
            format!("`{path}` is not a Python package: it has no `pyproject.toml`")
        } else {
            format!("`{path}` is not a folder")
        };
        let hint = "name the folder that `pip install` would take";
        let place = place.each_ref().map(String::as_str);
        Err(ExperimentError::manifest(vec![self.document.error(&place, message, hint)]))
    }

    /// The further arguments of `harbor run` that specs ask for. There is one `harbor run` for all tasks, so they must
    /// all ask for the same.
    fn arguments(&self) -> Result<Vec<String>> {
        let nothing = Vec::new();
        let is_fetched = !(self.found.datasets.is_empty() && self.found.fetched.is_empty());
        let fetched = is_fetched.then_some(("tasks of a registry or a repository", &nothing));
        let mut wishes =
            self.found.tasks.iter().map(|task| (task.name.as_str(), &task.arguments)).chain(fetched);
        let Some((first, arguments)) = wishes.next() else { return Ok(nothing) };
        match wishes.find(|(_, other)| *other != arguments) {
            None => Ok(arguments.clone()),
            Some((other, _)) => Err(Error::new(format!(
                "`{first}` and `{other}` do not ask for the same `harbor.optimizer_args`, and one `harbor run` \
                 runs them both"
            ))
            .hint("give each an experiment of its own; `extends` shares what they have in common")),
        }
    }
}

impl Prepared {
    /// The job in its folder.
    pub fn job(&self, workspace: &Workspace) -> Job {
        Job::new(workspace, &self.config.job_name)
    }

    /// The same job once more, as another one: for trials that are to be made again although they are there.
    pub fn again(&mut self, workspace: &Workspace) {
        let first = self.config.job_name.clone();
        let mut number = 2_u64;
        while self.job(workspace).exists() {
            self.config.job_name = format!("{first}-{number}");
            number += 1;
        }
    }

    /// The last of those jobs that are there; the first one if none is.
    pub fn latest(&mut self, workspace: &Workspace) {
        let first = self.config.job_name.clone();
        for number in 2_u64.. {
            let name = format!("{first}-{number}");
            if !Job::new(workspace, &name).exists() {
                break;
            }
            self.config.job_name = name;
        }
    }

    /// The configuration as Harbor reads it.
    pub fn yaml(&self) -> Result<String> {
        let comment = format!(
            "Made from {} by `cargo xtask run`; paths are relative to the workspace's root.",
            self.record.manifest
        );
        yaml::text(&comment, &self.config)
    }

    /// Makes the copies that the job runs from.
    pub fn keep(&self, workspace: &Workspace) -> Result<()> {
        let folder = workspace.jobs_dir().join(jobs::INPUTS);
        self.inputs.iter().try_for_each(|input| input.keep(&folder))
    }

    /// Makes the job's folder, unless it is there.
    pub fn write(&self, workspace: &Workspace) -> Result<Job> {
        let job = self.job(workspace);
        if !job.exists() {
            job.create(&self.yaml()?, &self.record)?;
        }
        Ok(job)
    }
}

/// Collects what has to be copied.
struct Copies<'a> {
    workspace: &'a Workspace,
    inputs: Vec<Input>,
}

impl Copies<'_> {
    /// Where the copy will be, from the workspace's root.
    fn keep(&mut self, input: Input) -> Utf8PathBuf {
        let place = self.workspace.jobs.join(jobs::INPUTS).join(input.path());
        if !self.inputs.contains(&input) {
            self.inputs.push(input);
        }
        place
    }
}

impl Files for Copies<'_> {
    fn place(&mut self, path: &SpecPath) -> Result<String> {
        let input = Input::of(&self.workspace.root.join(path.as_path()), Kind::Whole)?;
        Ok(self.keep(input).into_string())
    }

    fn text(&mut self, path: &SpecPath) -> Result<String> {
        inputs::text(&self.workspace.root.join(path.as_path()))
    }
}
