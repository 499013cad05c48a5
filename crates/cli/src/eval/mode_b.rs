//! Mode B: the candidate's agent works on inner tasks, through Harbor.

use std::sync::Arc;

use crate::output;
use anyhow::{Context, bail};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use taskwright_base::lock::LockFile;
use taskwright_eval::{
    Cancel, Candidate, EvaluationB, HostPlace, IsolationGap, IsolationMode, ModeB, ModeBOptions, Observer,
    Place, PlanB, Rules, SampleResult, Sandbox, SandboxOptions, Trials,
};
use taskwright_gateway::{Usage, clients};
use taskwright_harbor::child::Environment;

use super::Evaluated;
use super::candidate::Files;
use super::import::{self, Imported};
use super::paths::Paths;
use super::progress::Progress;
use super::refused;
use super::task::Task;
use crate::gateway::host::{self, HostGateway};

/// Runs candidates of mode B.
pub struct Runner<'a> {
    task: &'a Task,
    mode: ModeB,
    rules: Rules,
    sandbox: Sandbox,
    gateway: Option<HostGateway>,
    _runtime_lock: LockFile,
}

/// What is known of a run besides its result.
pub struct Facts {
    /// Where the jobs are.
    pub jobs: Vec<std::path::PathBuf>,
    /// How many trials were run for it.
    pub trials_run: u64,
    /// What lay there and does not count.
    pub notes: Vec<taskwright_eval::mode_b::Note>,
    /// What went wrong on our side.
    pub trouble: Option<String>,
}

/// The isolation that this machine does not give: the candidate's agent is part of the Harbor process.
pub fn gaps() -> Vec<IsolationGap> {
    let gap = |name: &str, consequence: &str| IsolationGap {
        name: name.to_owned(),
        consequence: consequence.to_owned(),
    };
    vec![gap(
        "user",
        "the candidate's agent runs as you, inside the Harbor process: it can read your files and the inner tasks, and \
         what Harbor records of it; do not evaluate candidates that you do not trust outside of a container",
    )]
}

/// What Harbor finds: instead of the upstream's address and key those of the gateway.
fn environment(task: &Task, gateway: Option<&HostGateway>) -> Environment {
    let own = task.serve.harbor.iter().flat_map(|harbor| &harbor.run.process_env);
    let found = own.fold(Environment::inherited(), |found, (name, value)| found.with(name, value));
    let Some(spec) = &task.serve.gateway else { return found };
    let (address, key) = (spec.upstream_base_url_env.as_str(), spec.upstream_api_key_env.as_str());
    let variables = match gateway {
        Some(gateway) => gateway.variables(address, key),
        // Candidates may ask no model: in a trial they have no way to one.
        None => clients::names(address, key).map(|name| (name, String::new())).collect(),
    };
    let secrets = &task.serve.secrets;
    let variables = variables.into_iter().filter(|(name, _)| clients::is_free(name, secrets, address, key));
    variables.fold(found, |found, (name, value)| found.with(name, value))
}

impl<'a> Runner<'a> {
    /// Opens the built task. Where its candidates ask language models and something is to be run, a gateway is started for them.
    pub fn open(
        task: &'a Task,
        paths: &Paths,
        registry: Option<Utf8PathBuf>,
        is_dry: bool,
    ) -> anyhow::Result<Self> {
        let (runtime, runtime_lock) = Paths::runtime()?;
        let sandbox = Sandbox::open(SandboxOptions {
            taskwright: task.binary().into(),
            runtime: runtime.into(),
            isolation: IsolationMode::BestEffort,
            path: std::env::var("PATH").ok(),
            hidden: Vec::new(),
        })?;
        let harbor = task.serve.harbor.as_ref().map(|harbor| harbor.run.environment.as_str());
        let listen = || host::address(harbor.unwrap_or_default());
        let gateway = HostGateway::of_candidates(&task.serve, &task.name, is_dry, listen)?;
        let mode = ModeB::open(ModeBOptions {
            serve: Arc::new(task.serve.clone()),
            inner_tasks: task.dir.join("environment/sidecar/inner-tasks").into(),
            work: paths.shared().into(),
            environment: environment(task, gateway.as_ref()),
            registry_path: registry.map(Into::into),
            place: Place::Host(HostPlace { environment: task.dir.join("environment").into() }),
        })?;
        let feedback = usize::try_from(task.serve.feedback.max_bytes).unwrap_or(usize::MAX);
        let rules = mode.rules(Some(feedback).filter(|_| task.serve.feedback.transcripts));
        Ok(Self { task, mode, rules, sandbox, gateway, _runtime_lock: runtime_lock })
    }

    /// What the candidate used of language models until now, where a gateway counted it.
    pub fn usage(&self) -> anyhow::Result<Option<Usage>> {
        Ok(self.gateway.as_ref().map(HostGateway::usage).transpose()?)
    }

    /// Whether candidates' requests to language models cannot be made any more.
    fn is_cut_off(&self) -> bool {
        self.gateway.as_ref().is_some_and(HostGateway::is_cut_off)
    }

    /// Imports a candidate. One that cannot be installed is refused here, before anything is started.
    pub fn import(&self, files: &Files, paths: &Paths) -> anyhow::Result<Imported> {
        let imported = import::import(self.task, paths, &self.sandbox, files)?;
        self.mode
            .check_package(files.path())
            .with_context(|| format!("{} cannot be evaluated", files.source))?;
        Ok(imported)
    }

    /// All that a trial depends on besides the candidate. How many there are, how many run at once and what they add up to
    /// is not: that is asked again of the same trials.
    pub fn settings(&self, split: &str) -> Value {
        let harbor = self.task.serve.harbor.as_ref();
        let mut run = json!(harbor.map(|harbor| &harbor.run));
        if let Some(run) = run.as_object_mut() {
            for key in ["attempts", "aggregate", "reward_key", "inner_docker", "run_as", "optimizer_args"] {
                run.remove(key);
            }
        }
        let samples = self.task.serve.splits.get(split).map(|split| &split.samples);
        let digests: Vec<_> = samples
            .into_iter()
            .flatten()
            .map(|id| (id, harbor.and_then(|harbor| harbor.tasks.get(id)).map(|task| &task.digest)))
            .collect();
        json!({
            "mode": "b",
            "run": run,
            "sample_timeout_sec": self.task.serve.limits.sample_timeout_sec,
            "gateway": self.task.serve.gateway.as_ref().map(host::settings),
            "requirements": harbor.and_then(|harbor| harbor.requirements.as_ref()),
            "samples": digests,
        })
    }

    fn plan<'p>(
        &'p self,
        files: &'p std::path::Path,
        samples: &'p [String],
        record: &'p Utf8Path,
        name: &'p str,
    ) -> PlanB<'p> {
        PlanB { candidate: files, samples, rules: &self.rules, record: record.as_std_path(), name }
    }

    fn job_name(&self, candidate: &Candidate, split: &str) -> String {
        format!("{}-{split}-{}", self.task.name, &candidate.tree.as_str()[..8])
    }

    /// Prints what evaluating would run.
    pub fn dry_run(
        &self,
        imported: &Imported,
        split: &str,
        samples: &[String],
        record: &Utf8Path,
        is_json: bool,
    ) -> anyhow::Result<()> {
        let name = self.job_name(&imported.candidate, split);
        let dry = self.mode.dry_run(&self.plan(imported.checkout.path(), samples, record, &name))?;
        let text = if is_json {
            let arguments: Vec<_> =
                dry.command.command_line().iter().map(|word| word.to_string_lossy().into_owned()).collect();
            format!("{}\n", json!({"split": split, "command": arguments, "config": dry.config}))
        } else {
            format!("# {split}\n{}\n{}", dry.command.shell_line(), dry.config.to_json())
        };
        output::print(&text).context("printing")
    }

    /// Evaluates a candidate on samples, as far as the record does not answer already. None if it was refused, which is said: nothing was
    /// left of what candidates may use of language models.
    pub fn evaluate(
        &self,
        imported: &Imported,
        split: &str,
        samples: &[String],
        record: Utf8PathBuf,
        cancel: &Cancel,
    ) -> anyhow::Result<Option<Evaluated>> {
        let name = self.job_name(&imported.candidate, split);
        let progress = Progress::new(split, samples.len());
        let stop = cancel.part();
        let told = self.mode.evaluate(
            &self.plan(imported.checkout.path(), samples, &record, &name),
            &Told { progress: &progress, runner: self, stop: &stop },
            &stop,
        );
        let recorded = progress.finish();
        let EvaluationB { result, notes, jobs, trials_run, trouble } = told?;
        if refused::is_refused(self.usage()?, || refused::put_aside(&record))? {
            return Ok(None);
        }
        if result.samples.is_empty() {
            bail!("the split `{split}` has no samples");
        }
        let facts = Facts { jobs, trials_run, notes, trouble };
        Ok(Some(Evaluated {
            split: split.to_owned(),
            record,
            recorded,
            result,
            baseline: None,
            harbor: Some(facts),
        }))
    }
}

struct Told<'a> {
    progress: &'a Progress,
    runner: &'a Runner<'a>,
    stop: &'a Cancel,
}

impl Observer for Told<'_> {
    fn sample(&self, result: &SampleResult, recorded: bool) {
        if self.runner.is_cut_off() {
            self.stop.cancel();
        }
        if result.value.is_some() || !self.stop.is_cancelled() {
            self.progress.sample(result, recorded);
        }
    }

    fn trials(&self, trials: &Trials) {
        self.progress.trials(trials);
    }

    fn say(&self, what: &str) {
        self.progress.say(what);
    }
}
