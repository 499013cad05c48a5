//! `cargo xtask eval`.

mod baseline;
pub(crate) mod candidate;
pub(crate) mod import;
#[cfg(feature = "trials")]
mod keep;
pub(crate) mod mode_a;
pub(crate) mod mode_b;
pub(crate) mod paths;
mod progress;
mod refused;
pub(crate) mod show;
pub(crate) mod task;

use crate::exit::{self, Status};
use crate::ledger::LedgerArguments;
use crate::output::say;
use crate::{interrupt, workspace};
use anyhow::Context;
use camino::Utf8PathBuf;
use taskwright_base::Error;
use taskwright_eval::{Cancel, End, EvaluationResult, IsolationGap};
use taskwright_gateway::Usage;
use taskwright_language::model::Mode;

use self::baseline::Baseline;
use self::paths::Paths;
use self::show::{Form, Listed};
use self::task::Task;

/// Score a candidate on the samples of a task.
///
/// The task is built first. Mode A runs the candidate on this machine and needs no Docker; mode B runs it through Harbor.
/// What is finished is kept in target/taskwright/eval/TASK/SPLIT/CANDIDATE-SETTINGS/N and never done twice: the same
/// command goes on after it was stopped, and one that was finished is answered from there.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask eval circle-packing\n  cargo xtask eval arithmetic --split validation\n  \
                        cargo xtask eval arithmetic --candidate solution\n  cargo xtask eval digits --candidate ../my-digits --samples 20\n  \
                        cargo xtask eval arithmetic --environment modal --n-concurrent 50"
)]
pub struct Arguments {
    /// The task: its name, or the folder of its spec in harbor-tasks/.
    task: String,
    /// What to score: `baseline`; `solution`, the spec's own; a folder of files; or a revision of the git repository of
    /// the current folder or of the baseline.
    #[arg(long, value_name = "REV|PATH", default_value = "baseline")]
    candidate: String,
    /// The split; all of them, one after the other, if none is named.
    #[arg(long)]
    split: Option<String>,
    /// Which samples of the split: their names, or how many, from the first.
    #[arg(long, value_name = "A,B|N")]
    samples: Option<String>,
    /// Mode B: Harbor's environment for the inner tasks, instead of the spec's.
    #[arg(long)]
    environment: Option<String>,
    /// How many samples run at once, instead of what the spec says.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    n_concurrent: Option<u64>,
    /// Give a parameter of the spec another value. What is built then is kept apart from target/harbor-tasks.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Mode B: a registry file on this machine, in place of the public registry, for tasks that come from one.
    #[arg(long, value_name = "FILE")]
    registry_path: Option<Utf8PathBuf>,
    /// Go on where the last evaluation of the same stopped, as without it; but fail if there is none.
    #[arg(long, conflicts_with = "fresh")]
    resume: bool,
    /// Start from nothing, and keep what there is beside it.
    #[arg(long)]
    fresh: bool,
    /// Run nothing: print what would be run.
    #[arg(long, conflicts_with_all = ["resume", "fresh"])]
    dry_run: bool,
    /// Show every sample, not only those that failed and the worst of the others.
    #[arg(long)]
    list_samples: bool,
    /// Print one JSON object, which holds every sample, instead of tables.
    #[arg(long)]
    json: bool,
    /// Keep the trials in the ledger, under the name of this experiment.
    #[arg(long, value_name = "ID")]
    experiment: Option<String>,
    #[cfg_attr(not(feature = "trials"), allow(dead_code))]
    #[command(flatten)]
    ledger: LedgerArguments,
}

/// What was evaluated on one split.
pub(crate) struct Evaluated {
    split: String,
    record: Utf8PathBuf,
    /// How many samples were found in the record.
    recorded: usize,
    pub(crate) result: EvaluationResult,
    /// The baseline on the same split, if it is known and this is another candidate.
    baseline: Option<Baseline>,
    /// What else is known of a run through Harbor.
    harbor: Option<mode_b::Facts>,
}

/// Runs the command.
#[expect(clippy::too_many_lines, reason = "one step after the other")]
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    // A ledger takes a database, which most evaluations need not wait for.
    #[cfg(not(feature = "trials"))]
    if arguments.experiment.is_some() {
        return crate::hand_over::hand_over(crate::hand_over::Needs::Trials);
    }
    let stop = interrupt::flag()?;
    let workspace = workspace::this()?;
    let mut task = match task::build(&workspace, &arguments.task, &arguments.set, &stop)? {
        Ok(task) => task,
        Err(status) => return Ok(status),
    };
    refuse_foreign(arguments, &task)?;
    task.change(arguments.environment.as_deref(), arguments.n_concurrent);
    let splits = task.samples(arguments.split.as_deref(), arguments.samples.as_deref())?;
    let paths = Paths::new(&workspace, &task.name)?;
    let files = candidate::find(&workspace, &task, &arguments.candidate)?;
    let cancel = Cancel::from(stop);
    let mut evaluated = Vec::new();
    let mut status = exit::SUCCESS;
    let gaps: Vec<IsolationGap>;
    let imported: import::Imported;
    let used: Option<Usage>;
    match task.serve.mode {
        Mode::A => {
            let runner = mode_a::Runner::open(&task, arguments.dry_run)?;
            (gaps, imported) = (runner.gaps().to_vec(), runner.import(&files, &paths)?);
            if arguments.dry_run {
                return show::dry_run_a(arguments.json, &task, &imported.candidate, &splits);
            }
            show::gaps(&gaps);
            for (split, samples) in &splits {
                let settings = runner.settings();
                let record = paths.record(split, &imported.candidate, &settings, occasion(arguments))?;
                let Some(mut done) = runner.evaluate(&imported, split, samples, record, &cancel)? else {
                    return Ok(exit::INCOMPLETE);
                };
                beside(&mut done, &paths, &task, &imported, &settings)?;
                status = worse(status, of(&done.result));
                evaluated.push(done);
                if cancel.is_cancelled() {
                    break;
                }
            }
            used = runner.usage()?;
        }
        Mode::B => {
            let registry = arguments.registry_path.as_deref().map(workspace::from_here).transpose()?;
            let runner = mode_b::Runner::open(&task, &paths, registry, arguments.dry_run)?;
            (gaps, imported) = (mode_b::gaps(), runner.import(&files, &paths)?);
            if !arguments.dry_run {
                show::gaps(&gaps);
            }
            for (split, samples) in &splits {
                let settings = runner.settings(split);
                let record = paths.record(split, &imported.candidate, &settings, occasion(arguments))?;
                if arguments.dry_run {
                    runner.dry_run(&imported, split, samples, &record, arguments.json)?;
                    continue;
                }
                let Some(mut done) = runner.evaluate(&imported, split, samples, record, &cancel)? else {
                    return Ok(exit::INCOMPLETE);
                };
                beside(&mut done, &paths, &task, &imported, &settings)?;
                status = worse(status, of(&done.result));
                evaluated.push(done);
                if cancel.is_cancelled() {
                    break;
                }
            }
            used = runner.usage()?;
        }
    }
    if let Some(usage) = used {
        say(&format!("models: {usage}"));
    }
    if arguments.dry_run {
        return Ok(status);
    }
    show::results(form(arguments), &task, &files, &imported.candidate, &gaps, &evaluated)
        .context("printing the results")?;
    #[cfg(feature = "trials")]
    if let Some(experiment) = &arguments.experiment {
        keep::keep(experiment, &arguments.ledger, &task, &files, &imported.candidate, &evaluated)?;
    }
    if status != exit::SUCCESS && status != exit::FAILURE {
        say("the same command goes on from here: what is finished is kept");
    }
    Ok(status)
}

/// Keeps what came out for later comparisons, and puts the baseline beside it, as far as it is known.
fn beside(
    done: &mut Evaluated,
    paths: &Paths,
    task: &Task,
    imported: &import::Imported,
    settings: &serde_json::Value,
) -> anyhow::Result<()> {
    baseline::keep(&done.record, &done.result)?;
    let tree = &task.serve.baseline.tree;
    if imported.candidate.tree.as_str() != tree
        && let Some(record) = paths.last_record(&done.split, tree, settings)?
    {
        done.baseline = Baseline::read(record)?;
    }
    Ok(())
}

fn form(arguments: &Arguments) -> Form {
    match (arguments.json, arguments.list_samples) {
        (true, _) => Form::Json,
        (false, true) => Form::Text(Listed::All),
        (false, false) => Form::Text(Listed::Notable),
    }
}

/// Whether there must be a record, or must not.
fn occasion(arguments: &Arguments) -> paths::Occasion {
    if arguments.dry_run {
        paths::Occasion::Look
    } else if arguments.fresh {
        paths::Occasion::Fresh
    } else if arguments.resume {
        paths::Occasion::Resume
    } else {
        paths::Occasion::Any
    }
}

/// Options that mean nothing for the task's mode are mistakes.
fn refuse_foreign(arguments: &Arguments, task: &Task) -> anyhow::Result<()> {
    let foreign = match task.serve.mode {
        Mode::A if arguments.environment.is_some() => Some("--environment"),
        Mode::A if arguments.registry_path.is_some() => Some("--registry-path"),
        Mode::A | Mode::B => None,
    };
    match foreign {
        None => Ok(()),
        Some(option) => {
            Err(Error::new(format!("`{option}` is for tasks of mode b; `{}` is of mode a", task.name))
                .hint("leave it out")
                .usage()
                .into())
        }
    }
}

/// The exit status of an evaluation.
fn of(result: &EvaluationResult) -> Status {
    match result.end {
        End::Failed => exit::FAILURE,
        End::Cancelled => exit::INTERRUPTED,
        End::Completed if result.aggregate.is_complete() => exit::SUCCESS,
        End::Completed | End::TimedOut => exit::INCOMPLETE,
    }
}

/// The worse of two exit statuses.
fn worse(one: Status, other: Status) -> Status {
    let rank = [exit::SUCCESS, exit::INCOMPLETE, exit::FAILURE, exit::INTERRUPTED];
    let of = |status: &Status| rank.iter().position(|known| known == status);
    if of(&other) > of(&one) { other } else { one }
}
