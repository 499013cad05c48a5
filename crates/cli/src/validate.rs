//! `cargo xtask validate`.

mod candidates;
mod inner;
mod show;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use taskwright_base::Error;
use taskwright_builder::controls;
use taskwright_builder::evidence::Outcome;
use taskwright_builder::lock::Lock;
use taskwright_builder::{Intent, Options, Silent, Workspace};
use taskwright_eval::controls::judge::Judged;
use taskwright_eval::controls::{Rows, Scores, Subject, Tried, Tries, expectation, try_out};
use taskwright_eval::{Cancel, ImportLimits, Store};
use taskwright_language::model::{Control, Mode, Verdict};

use crate::eval::mode_a;
use crate::eval::show::gaps;
use crate::eval::task::{self, Task};
use crate::exit::{self, Status};
use crate::output::say;
use crate::{interrupt, tasks, workspace};

use self::candidates::Candidates;
use self::inner::Inner;

/// Try tasks out by controls: candidates whose score is known before.
///
/// A task that gives a good score for nothing, or for less than was meant, is worth nothing. Each control is scored like any
/// candidate, through the task's own scorer and in the sandbox, on the samples of the first target, and must come out as the
/// table says: the solution better than the baseline, an empty candidate as a failure, one that cheats no better than the baseline.
/// What they scored, and against what, is kept in taskwright.lock, where `controls = true` in taskwright.toml has
/// `build-tasks --locked` ask for it.
#[derive(clap::Args)]
#[command(
    after_help = "Exit status of this command: 0 every control came out as it must or means nothing for its task, 1 one did not, \
                        3 one could not be measured here, 130 interrupted.\n\n\
                        Examples:\n  cargo xtask validate\n  cargo xtask validate digits\n  cargo xtask validate digits --json --no-lock"
)]
pub struct Arguments {
    /// Tasks, or folders of specs, by name or by path; all if none is named.
    names: Vec<String>,
    /// Leave taskwright.lock as it is.
    #[arg(long)]
    no_lock: bool,
    /// Print one JSON object with every task instead of tables.
    #[arg(long)]
    json: bool,
}

/// What came of a task.
pub struct Validated {
    /// Its name.
    pub task: String,
    /// Its controls; none if somebody wrote it by hand.
    pub tries: Option<Tries>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let stop = interrupt::flag()?;
    let workspace = workspace::this()?;
    let options = Options {
        names: arguments.names.iter().map(|name| workspace::task_name(&workspace, name)).collect(),
        intent: Intent::Build,
        ..Options::default()
    };
    let report = match tasks::build(&workspace, &options, |_| false, &stop)? {
        Ok(report) => report,
        Err(status) => return Ok(status),
    };
    let mut all = Vec::new();
    for name in &tasks::standing(&report) {
        let validated = validate(&workspace, name, arguments, &stop).with_context(|| name.clone());
        match validated {
            Ok(validated) => all.push(validated),
            Err(error) if error.downcast_ref::<Error>().is_some_and(Error::is_interrupt) => {
                show::results(arguments.json, &all)?;
                return Ok(exit::INTERRUPTED);
            }
            Err(error) => return Err(error),
        }
    }
    show::results(arguments.json, &all)?;
    Ok(status(&all))
}

/// The exit status: that a control failed weighs more than that another could not be measured.
fn status(all: &[Validated]) -> Status {
    let verdicts = || all.iter().flat_map(|task| &task.tries).flat_map(|tries| &tries.tried);
    let any = |verdict| verdicts().any(|tried| tried.judged.verdict == verdict);
    if any(Verdict::Fail) {
        exit::FAILURE
    } else if any(Verdict::NotMeasured) {
        exit::INCOMPLETE
    } else {
        exit::SUCCESS
    }
}

fn validate(
    workspace: &Workspace,
    name: &str,
    arguments: &Arguments,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Validated> {
    let Some(task) = task::built(workspace, name, BTreeMap::new())? else {
        return Ok(Validated { task: name.to_owned(), tries: None });
    };
    // Before they are run: should the task be built again meanwhile, they were run against what stood there before.
    let entry = Lock::read(&workspace.lock_file())?.unwrap_or_default().tasks.remove(name);
    let candidates = Candidates::of(workspace, &task)?;
    let cancel = Cancel::from(Arc::clone(stop));
    let tries = match task.serve.mode {
        Mode::A => rows(&task, &candidates, &cancel)?,
        Mode::B => match (inner::lacking(&task), task.serve.targets.first()) {
            (None, Some(target)) => {
                tried(&task, &candidates, &Inner::open(workspace, &task, target, &cancel)?)?
            }
            (Some(why), _) => unmeasured(&why),
            (None, None) => unmeasured("the task has no target"),
        },
    };
    let is_measured = tries.tried.iter().all(|tried| tried.judged.verdict != Verdict::NotMeasured);
    if let Some(entry) = entry.filter(|_| is_measured && !arguments.no_lock) {
        let kept = controls::against(&entry, outcomes(&task, &candidates, &tries));
        controls::keep(workspace, name, kept, &Silent, stop)?;
    }
    Ok(Validated { task: name.to_owned(), tries: Some(tries) })
}

/// Mode A: through the task's own `run` and scorer.
fn rows(task: &Task, candidates: &Candidates, cancel: &Cancel) -> anyhow::Result<Tries> {
    let runner = mode_a::Runner::open(task, false)?;
    gaps(runner.gaps());
    let room = tempfile::Builder::new().prefix("taskwright-validate-").tempdir();
    let room = room.context("making a temporary folder")?;
    let mode = runner.mode();
    let store = Store::open(
        &room.path().join("store"),
        &task.serve.baseline,
        task.dir.join("environment/baseline").as_std_path(),
        mode.sandbox().clone(),
    )?;
    let rows = Rows {
        mode,
        models: runner.models(),
        store: &store,
        limits: ImportLimits::from(&task.serve.limits),
        samples: samples(task),
        run: task.serve.scorer.as_ref().map_or(&[], |scorer| &scorer.run),
        cancel,
    };
    let tries = tried(task, candidates, &rows)?;
    match runner.usage()? {
        Some(usage) if usage.is_cut_off() => Err(Error::new(format!(
            "of the controls' requests to language models {} had nothing left of `[gateway.evaluation]`, and {} did not reach the \
             upstream",
            usage.spent, usage.unreachable
        ))
        .hint("raise the limits, or see to the upstream, and try again")
        .into()),
        _ => Ok(tries),
    }
}

/// What a task is scored on in the end: the samples of its first target, whose score is the reward.
fn samples(task: &Task) -> &[String] {
    task.serve.targets.first().map_or(&[], |target| &target.samples)
}

fn tried(task: &Task, candidates: &Candidates, scores: &dyn Scores) -> anyhow::Result<Tries> {
    let baseline = task.dir.join("environment/baseline");
    let subject = Subject {
        serve: &task.serve,
        samples: samples(task),
        baseline: baseline.as_std_path(),
        solution: candidates.solution(),
        cheats: &candidates.cheats,
        waived: &candidates.waived,
        split_fields: &candidates.split_fields,
    };
    let begin = |control: &str| say(&format!("{}: {control}", task.name));
    Ok(try_out(&subject, scores, &begin, &|_| {})?)
}

/// The controls where candidates cannot be scored at all.
fn unmeasured(why: &str) -> Tries {
    let tried = |control: Control| Tried {
        name: control.name().to_owned(),
        expectation: expectation(control),
        score: None,
        judged: Judged::not_measured(why),
    };
    Tries { tried: Control::ALL.map(tried).into(), notes: Vec::new() }
}

/// What the lock keeps. What varies from run to run is not in it, or each run would change the lock.
fn outcomes(task: &Task, candidates: &Candidates, tries: &Tries) -> BTreeMap<String, Outcome> {
    let is_steady = task.serve.scorer.as_ref().is_some_and(|scorer| scorer.deterministic);
    let waived: BTreeMap<&str, &String> =
        candidates.waived.iter().map(|(control, reason)| (control.name(), reason)).collect();
    let outcome = |tried: &Tried| Outcome {
        verdict: tried.judged.verdict,
        score: tried.score.filter(|_| is_steady).map(rounded),
        reason: waived.get(tried.name.as_str()).map(|reason| (*reason).clone()),
    };
    tries.tried.iter().map(|tried| (tried.name.clone(), outcome(tried))).collect()
}

/// A number to six digits: what another machine's mathematics adds behind them is not worth a change.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_in_the_lock_have_six_digits() {
        let shown = [2.629_866_371_438, 0.0, -1_234_567.0].map(|value| rounded(value).to_string());
        assert_eq!(shown, ["2.62987", "0", "-1234570"]);
    }
}
