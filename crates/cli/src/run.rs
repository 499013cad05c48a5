//! `cargo xtask run`.

mod bounded;
mod detach;
mod estimate;
mod left;
mod metered;
pub mod show;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::{self, Status};
use crate::output::{self, say};
use crate::set::parameters;
use crate::{interrupt, tasks, workspace};
use anyhow::Context;
use serde_json::{Value, json};
use taskwright_base::Error;
use taskwright_builder::{Intent, Options, Workspace};
use taskwright_experiment::dispatch::{Ending, Harbor};
use taskwright_experiment::jobs::{self, Job, JobLock};
use taskwright_experiment::plan::{self, Prepared};
use taskwright_experiment::progress::{self, Progress, State};
use taskwright_experiment::{Experiment, ExperimentError, find, load, reference_page, schema_text};
use taskwright_gateway::Money;
use taskwright_language::document::Document;

use self::bounded::{Bounded, Ran, Running};
use self::estimate::Estimate;
use self::left::is_anything_left;
use self::metered::{Keep, Metered, Used, beside};
use crate::gateway::dollars;
use crate::import_job;
use crate::ledger::LedgerArguments;

/// Run an experiment through Harbor and keep its trials in the ledger.
///
/// The manifest becomes one job of Harbor, in jobs/, which runs from copies of the tasks. What is finished is imported
/// into the ledger however the run ends.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask run smoke\n  cargo xtask run smoke --dry-run\n  cargo xtask run smoke --resume\n  \
                        cargo xtask run experiments/smoke.toml --set model=provider/name --detach\n  cargo xtask run --schema > docs/experiment.schema.json"
)]
pub struct Arguments {
    /// A manifest: a file, or the name of one in experiments/.
    #[arg(required_unless_present_any = ["schema", "reference"])]
    experiment: Option<String>,
    /// Run nothing: check everything and print the configuration that Harbor would get.
    #[arg(long, conflicts_with_all = ["resume", "again", "detach"])]
    dry_run: bool,
    /// Go on with a run that was stopped: trials that have a result are kept, but for those that were stopped.
    #[arg(long)]
    resume: bool,
    /// With --resume: make those trials again, too, that have no reward that counts.
    #[arg(long, requires = "resume")]
    failed: bool,
    /// Run it once more as a job of its own, although it has been run.
    #[arg(long, conflicts_with = "resume")]
    again: bool,
    /// Leave it running, and return at once; `cargo xtask status` says how far it is.
    #[arg(long)]
    detach: bool,
    /// Start no new trial once the agents have spent so much, in US dollars, over all runs of the job; what is under way ends. It needs
    /// `[gateway]` with prices.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_usd: Option<Money>,
    /// Build tasks that are not what taskwright.lock says, too, and bring the lock up to date.
    #[arg(long, conflicts_with = "dry_run")]
    build: bool,
    /// Give a parameter of the manifest another value.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    ledger: LedgerArguments,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    json: bool,
    /// Print the JSON Schema of manifests, which editors complete and check them with.
    #[arg(long, exclusive = true)]
    schema: bool,
    /// Print the reference page of manifests.
    #[arg(long, exclusive = true)]
    reference: bool,
    /// This is the process that `--detach` left running.
    #[arg(long, hide = true)]
    detached: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    if arguments.schema || arguments.reference {
        output::print(&if arguments.schema { schema_text() } else { reference_page() })?;
        return Ok(exit::SUCCESS);
    }
    if arguments.detached {
        // Whoever started this may go, and their terminal with them.
        rustix::process::setsid().context("leaving the terminal")?;
    }
    match dispatch(arguments) {
        Ok(status) => Ok(status),
        Err(error) => match experiments(error) {
            Ok(error) => Ok(refuse(arguments, &error)?),
            Err(error) => Err(error),
        },
    }
}

/// The error of an experiment, whichever of its two types it came as.
fn experiments(error: anyhow::Error) -> Result<ExperimentError, anyhow::Error> {
    let error = match error.downcast::<ExperimentError>() {
        Ok(error) => return Ok(error),
        Err(error) => error.downcast::<Error>()?,
    };
    // What has a status of its own is not refused here.
    if error.is_interrupt() || error.is_stale() { Err(error.into()) } else { Ok(error.into()) }
}

/// Tells of an error, with places where there are any.
fn refuse(arguments: &Arguments, error: &ExperimentError) -> anyhow::Result<Status> {
    let diagnostics = match error {
        ExperimentError::Manifest(diagnostics) => Some(diagnostics),
        ExperimentError::Failed(_) => None,
    };
    if arguments.json {
        let object = json!({
            "error": error.to_string(),
            "hint": error.hint_text(),
            "diagnostics": diagnostics.map(|diagnostics| json!(diagnostics)),
        });
        output::print(&format!("{object:#}\n"))?;
    } else if let Some(diagnostics) = diagnostics {
        say(diagnostics.render(output::is_colored()).trim_end());
    } else {
        output::error(&error.to_string(), error.hint_text());
    }
    Ok(if error.is_usage() { exit::USAGE } else { exit::FAILURE })
}

fn dispatch(arguments: &Arguments) -> anyhow::Result<Status> {
    let workspace = workspace::this()?;
    let root = workspace.root.clone();
    let stop = interrupt::flag()?;
    let here = workspace::here()?;
    let manifest = find(&workspace, &here, arguments.experiment.as_deref().unwrap_or_default())?;
    let document = load(&root, &manifest, &parameters(&arguments.set)?).map_err(ExperimentError::from)?;
    for warning in &document.warnings {
        say(warning.render(output::is_colored()).trim_end());
    }
    let prepared = match prepare(arguments, &workspace, &document, &stop)? {
        Ok(prepared) => prepared,
        Err(status) => return Ok(status),
    };
    let bounded = bounded::split(arguments.max_usd, &document.value, &prepared)?;
    let job = prepared.job(&workspace);
    let estimate = bounded.as_ref().map(|_| estimate(arguments, &prepared)).transpose()?;
    let ready = metered::ready(&document.value)?;
    if arguments.dry_run {
        let metered = ready.map(|ready| ready.start(&job, Keep::Nothing)).transpose()?;
        return dry_run(arguments, &workspace, &prepared, &job, metered.as_ref(), estimate.as_ref());
    }
    let experiment = document.value.name.as_str();
    let asked = Asked {
        arguments,
        workspace: &workspace,
        experiment,
        prepared: &prepared,
        bounded: bounded.as_ref(),
        job: &job,
        stop: &stop,
    };
    let lock = asked.hold()?;
    let going_on = job.exists();
    if !going_on {
        job.forget(&lock)?;
    }
    let keep = if arguments.detach { Keep::Nothing } else { Keep::Journal };
    let metered = ready.map(|ready| ready.start(&job, keep)).transpose()?;
    let harbor = beside(Harbor::find(&root, &prepared)?, metered.as_ref());
    prepared.keep(&workspace)?;
    // Where agents ask hangs on this machine's variables, which may be others than last time.
    if (!going_on || metered.is_some()) && !asked.begin(&harbor, metered.as_ref())? {
        return Ok(exit::INTERRUPTED);
    }
    if arguments.detach {
        // It is the other process that runs it.
        drop(lock);
        return detach::start(arguments, &job, experiment);
    }
    let token = metered.as_ref().map(|metered| metered.token().to_owned());
    let ran = asked.run(&lock, &harbor, metered.as_ref(), going_on)?;
    // Only once the gateway has ended is known what was spent.
    let used = metered.map(Metered::end).transpose().and_then(|used| {
        if let (Some(bounded), Some(used)) = (&bounded, &used) {
            bounded.note(&job, used.in_all, ran.is_reached)?;
        }
        Ok(used)
    });
    drop(lock);
    conclude(arguments, &workspace, &job, &ran.ending, token.as_deref(), used)
}

/// A job that is to be begun, or gone on with.
struct Asked<'a> {
    arguments: &'a Arguments,
    workspace: &'a Workspace,
    experiment: &'a str,
    prepared: &'a Prepared,
    bounded: Option<&'a Bounded>,
    job: &'a Job,
    stop: &'a AtomicBool,
}

impl Asked<'_> {
    /// Takes the job's lock, if it may be started as it was asked for.
    fn hold(&self) -> Result<JobLock, Error> {
        let Self { arguments, workspace, experiment, bounded, job, .. } = *self;
        let may_run = || {
            bounded::same_kind(job, bounded)?;
            may_run(arguments, workspace, job, experiment)
        };
        if job.runner().is_some() {
            return Err(already_running(job));
        }
        may_run()?;
        let lock = job.acquire()?.ok_or_else(|| already_running(job))?;
        // Somebody may have been quicker.
        may_run()?;
        Ok(lock)
    }

    /// Has Harbor check the job, and writes it. Not if it is to be stopped: then Harbor was, too, and what it says of that is no
    /// refusal.
    fn begin(&self, harbor: &Harbor, metered: Option<&Metered<'_>>) -> anyhow::Result<bool> {
        let checked = harbor.check(&self.prepared.yaml()?);
        if self.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let checked = checked?;
        metered.iter().try_for_each(|metered| metered.check(self.prepared, &checked))?;
        self.bounded.iter().try_for_each(|bounded| bounded.begin(self.job))?;
        self.prepared.write(self.workspace)?;
        Ok(true)
    }

    /// Runs what there is to be run.
    fn run(
        &self,
        lock: &JobLock,
        harbor: &Harbor,
        metered: Option<&Metered<'_>>,
        going_on: bool,
    ) -> anyhow::Result<Ran> {
        let Self { arguments, workspace, experiment, prepared, bounded, job, stop } = *self;
        if let (Some(bounded), Some(metered)) = (bounded, metered) {
            let run_sec = prepared.run_sec;
            return bounded.run(job, lock, &Running { arguments, harbor, metered, run_sec, stop });
        }
        let ending = if going_on && !is_anything_left(arguments, job, metered.map(Metered::token))? {
            Ok(Ending::Done)
        } else {
            let bar = show::Bar::new(prepared.record.planned, arguments.json);
            bar.say(&format!("running {experiment} in {}", show::short(&workspace.root, &job.dir)));
            let ran = harbor.run(job, lock, prepared.run_sec, stop, &mut |now| bar.tell(now));
            bar.finish();
            ran
        };
        Ok(Ran { ending, is_reached: false })
    }
}

/// Builds what is to be built, and makes a job of a manifest. An exit status is why it cannot go on; it has been said.
fn prepare(
    arguments: &Arguments,
    workspace: &Workspace,
    document: &Document<Experiment>,
    stop: &AtomicBool,
) -> anyhow::Result<Result<Prepared, Status>> {
    let plan = plan::plan(workspace, document)?;
    let intent = match (arguments.build, arguments.dry_run) {
        (true, _) => Intent::Build,
        (_, true) => Intent::Look,
        _ => Intent::Locked,
    };
    if let Some(status) = build(workspace, plan.built(), intent, stop)? {
        return Ok(Err(status));
    }
    // The lock may be another one now.
    let plan = if arguments.build { plan::plan(workspace, document)? } else { plan };
    let mut prepared = plan.prepare()?;
    if arguments.again {
        prepared.again(workspace);
    } else if arguments.resume || arguments.max_usd.is_some() {
        prepared.latest(workspace);
    }
    Ok(Ok(prepared))
}

/// What the ledger knows of the cost. Says it.
fn estimate(arguments: &Arguments, prepared: &Prepared) -> anyhow::Result<Estimate> {
    let estimate = estimate::of(&arguments.ledger.directory()?, &prepared.config)?;
    if !arguments.json {
        say(&estimate.words());
    }
    Ok(estimate)
}

/// Builds the tasks that are named, or only looks. An exit status is why it cannot go on; it has been said.
fn build(
    workspace: &Workspace,
    names: Vec<String>,
    intent: Intent,
    stop: &AtomicBool,
) -> anyhow::Result<Option<Status>> {
    if names.is_empty() {
        // No name would mean all.
        return Ok(None);
    }
    let options = Options { names, intent, ..Options::default() };
    Ok(tasks::build(workspace, &options, |_| true, stop)?.err())
}

/// Whether a job may be started as it was asked for, by what there is of it.
fn may_run(arguments: &Arguments, workspace: &Workspace, job: &Job, experiment: &str) -> Result<(), Error> {
    if arguments.resume && !job.exists() {
        let others: Vec<String> =
            jobs::list(workspace, Some(experiment))?.into_iter().map(|job| job.name).collect();
        let hint = if others.is_empty() {
            "leave out `--resume`".to_owned()
        } else {
            format!("the manifest, or a task, was another one in {}; leave out `--resume`", others.join(", "))
        };
        let message = format!("`{experiment}` was not run yet as it is now");
        return Err(Error::new(message).usage().hint(hint));
    }
    // With more money, the same command goes on.
    let goes_on = arguments.resume || arguments.detached || arguments.max_usd.is_some();
    if !goes_on && job.exists() {
        let progress = progress::look(job)?;
        let far = match progress.planned {
            Some(planned) => format!("{} of {planned}", progress.ended),
            None => progress.ended.to_string(),
        };
        let message = format!("`{experiment}` was run already as {}: {far} trials have ended", job.name);
        let hint =
            "`--resume` makes those that are missing; `--again` runs it once more, as a job of its own";
        return Err(Error::new(message).usage().hint(hint));
    }
    Ok(())
}

fn already_running(job: &Job) -> Error {
    Error::new(format!("another process runs {}", job.name)).hint("`cargo xtask status` says how far it is")
}

/// Has everything checked, and prints what would be run.
fn dry_run(
    arguments: &Arguments,
    workspace: &Workspace,
    prepared: &Prepared,
    job: &Job,
    metered: Option<&Metered<'_>>,
    estimate: Option<&Estimate>,
) -> anyhow::Result<Status> {
    let harbor = beside(Harbor::find(&workspace.root, prepared)?, metered);
    prepared.keep(workspace)?;
    let yaml = prepared.yaml()?;
    let checked = harbor.check(&yaml)?;
    metered.iter().try_for_each(|metered| metered.check(prepared, &checked))?;
    let command = harbor.shell_line(&job.config());
    if arguments.json {
        let object = json!({
            "job": job.name,
            "planned": prepared.record.planned,
            "command": command,
            "config": prepared.config,
            "estimate": estimate.map(Estimate::json),
        });
        output::print(&format!("{object:#}\n"))?;
    } else {
        output::print(&yaml)?;
        say(&format!("Harbor accepts it: {}", checked.answer));
        if metered.is_some() {
            say("its agents ask language models through the gateway");
        }
        say(&format!("it would be started by: {command}"));
    }
    Ok(exit::SUCCESS)
}

/// Imports what is there, and says what came of the run.
fn conclude(
    arguments: &Arguments,
    workspace: &Workspace,
    job: &Job,
    ran: &Result<Ending, Error>,
    token: Option<&str>,
    used: anyhow::Result<Option<Used>>,
) -> anyhow::Result<Status> {
    let imported = import_job::import(&arguments.ledger, job, token);
    let used = used?;
    let progress = progress::look(job);
    let name = arguments.experiment.as_deref().unwrap_or_default();
    let how = arguments
        .max_usd
        .map_or_else(|| "--resume".to_owned(), |most| format!("--max-usd {} --resume", most.as_dollars()));
    let go_on = format!("`cargo xtask run {name} {how}` goes on");
    if !arguments.json {
        match ran {
            Ok(Ending::Done) => {}
            Ok(Ending::Interrupted) => say(&format!("stopped; what is finished is kept, and {go_on}")),
            Ok(Ending::OutOfTime) => {
                say(&format!("stopped: `timeouts.run_sec` is over; what is finished is kept, and {go_on}"));
            }
            Err(error) => output::error(&error.to_string(), error.hint_text()),
        }
    }
    let imported = imported?;
    let progress = progress?;
    let complete = is_complete(&progress);
    if arguments.json {
        let object = json!({
            "job": job.name,
            "dir": job.dir,
            "ending": ending_word(ran),
            "error": ran.as_ref().err().map(ToString::to_string),
            "progress": progress,
            "import": imported.json(),
            "models": used.as_ref().map(Used::json),
            "budget": bounded::json(job)?,
        });
        output::print(&format!("{object:#}\n"))?;
    } else {
        imported.tell();
        used.iter().for_each(Used::tell);
        show::missing(&progress);
        output::print(&show::line(&progress))?;
        if progress.ended > 0 {
            let metric = job.record().and_then(|record| record.reward_key);
            import_job::show(&arguments.ledger, job, &progress.experiment, metric.as_deref())?;
        }
        if let Some(words) = bounded::words(job)? {
            say(&words);
        } else if !complete && matches!(ran, Ok(Ending::Done)) {
            say(&format!(
                "not all of it is graded; {go_on}, with `--failed` for trials without a reward, too"
            ));
        }
        say(&format!("the job is in {}", show::short(&workspace.root, &job.dir)));
    }
    Ok(match ran {
        Err(_) => exit::FAILURE,
        Ok(Ending::Interrupted) => exit::INTERRUPTED,
        Ok(_) if complete && imported.is_clean() => exit::SUCCESS,
        Ok(_) => exit::INCOMPLETE,
    })
}

fn ending_word(ran: &Result<Ending, Error>) -> Value {
    match ran {
        Ok(Ending::Done) => "done",
        Ok(Ending::Interrupted) => "interrupted",
        Ok(Ending::OutOfTime) => "out of time",
        Err(_) => "failed",
    }
    .into()
}

/// Whether every planned trial has a reward that counts.
fn is_complete(progress: &Progress) -> bool {
    progress.state == State::Finished && progress.planned.is_none_or(|planned| progress.graded >= planned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_complete_when_every_planned_trial_is_graded() {
        let mut progress = Progress {
            job: "j".to_owned(),
            experiment: "e".to_owned(),
            state: State::Finished,
            process: None,
            planned: Some(2),
            ended: 2,
            graded: 2,
            errored: 1,
            running: 0,
            mean: Some(0.5),
            missing: Vec::new(),
            is_planned_by_harbor: true,
            updated_at: None,
        };
        assert!(is_complete(&progress));
        progress.graded = 1;
        assert!(!is_complete(&progress));
        progress.graded = 2;
        progress.state = State::Stopped;
        assert!(!is_complete(&progress));
    }
}
