//! `cargo xtask build-tasks`.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use taskwright_base::Error;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use serde_json::{Value, json};
use taskwright_builder::{Failure, Intent, Observer, Options, Report, Shard, Status, TaskReport, build};

use crate::diff;
use crate::exit::{self, Status as Exit};
use crate::hand_over::{Needs, hand_over};
use crate::interrupt;
use crate::output::{self, GREEN, RED, YELLOW, paint_answer, say};
use crate::set::parameters;
use crate::workspace::{self, Places};

/// How long `--watch` waits at least between two builds.
const WATCH_PAUSE: Duration = Duration::from_millis(300);

/// Build the task directories that the specs in harbor-tasks/ describe.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask build-tasks\n  cargo xtask build-tasks digits --explain\n  \
                        cargo xtask build-tasks --locked\n  cargo xtask build-tasks --diff main\n  cargo xtask build-tasks arithmetic --set inner_docker=host-socket --out /tmp/tasks"
)]
pub struct Arguments {
    /// Tasks, or folders of specs, to build, by name or by path; all if none is named.
    names: Vec<String>,
    /// Of these tasks only the I-th of N equal parts, for machines that divide them: 1/3 on one, 2/3 and 3/3 on others.
    #[arg(long, value_name = "I/N", conflicts_with = "diff")]
    shard: Option<Shard>,
    /// Refuse a task that is not what taskwright.lock says.
    #[arg(long, conflicts_with_all = ["check", "dry_run"])]
    locked: bool,
    /// Build nothing; fail if an output is stale or was edited by hand.
    #[arg(long, conflicts_with = "dry_run")]
    check: bool,
    /// Build tasks that are up to date too.
    #[arg(long, conflicts_with_all = ["check", "dry_run"])]
    force: bool,
    /// Say which inputs changed: the file or the field, its old and its new value.
    #[arg(long)]
    explain: bool,
    /// Build nothing; say what would be built.
    #[arg(long)]
    dry_run: bool,
    /// Build again whenever something changes that a task is made from, until Ctrl-C.
    #[arg(long, conflicts_with_all = ["locked", "check", "dry_run", "force"])]
    watch: bool,
    /// Build nothing; say what changed since a revision, or since another lock, and what that means to earlier trials.
    #[arg(long, value_name = "REF", conflicts_with_all = ["locked", "check", "dry_run", "force", "watch", "explain", "verify", "set"])]
    diff: Option<String>,
    /// Read every byte of the outputs instead of looking at sizes and times.
    #[arg(long)]
    verify: bool,
    /// How many threads work; as many as there are processors if not given.
    #[arg(long, short, value_parser = clap::value_parser!(u64).range(1..=1024))]
    jobs: Option<u64>,
    #[command(flatten)]
    places: Places,
    /// Give a parameter of the specs another value.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Print nothing but the last line.
    #[arg(long, short)]
    quiet: bool,
    /// How to say what was done.
    #[arg(long, value_enum, default_value_t = Format::Human)]
    message_format: Format,
    /// The same as `--message-format json`.
    #[arg(long, conflicts_with = "message_format")]
    json: bool,
}

impl Arguments {
    /// How to say what was done.
    fn format(&self) -> Format {
        if self.json { Format::Json } else { self.message_format }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines to read.
    Human,
    /// One JSON object a line, on standard output.
    Json,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    // What asks other machines is not compiled where nobody has any. A workspace that cannot be read is told as every build tells it.
    let is_shared = || arguments.places.workspace().is_ok_and(|workspace| workspace.fleet.store.is_some());
    if !cfg!(feature = "trials") && is_shared() {
        return hand_over(Needs::Trials);
    }
    if let Some(past) = &arguments.diff {
        let workspace = arguments.places.workspace()?;
        return diff::run(&workspace, &arguments.names, past, arguments.format() == Format::Json);
    }
    let stop = interrupt::flag()?;
    if arguments.watch {
        return watch(arguments, &stop);
    }
    match report(arguments, &stop) {
        Err(error) if arguments.format() == Format::Json => {
            let Some(wrong) = error.downcast_ref::<Error>() else { return Err(error) };
            let object = json!({"reason": "error", "message": wrong.to_string(), "hint": wrong.hint_text()});
            output::print(&format!("{object}\n"))?;
            Ok(exit::of(wrong))
        }
        report => tell(arguments, &report?),
    }
}

/// Builds again and again: a build that has nothing to do takes milliseconds, and knows what it depends on better than any
/// watcher of files. Says what a build did where it did something, or failed otherwise than the one before.
fn watch(arguments: &Arguments, stop: &AtomicBool) -> anyhow::Result<Exit> {
    let mut wrong_before = None;
    loop {
        let report = report(arguments, stop)?;
        let wrong = wrong(&report);
        if report.is_interrupted() {
            return tell(arguments, &report);
        }
        let did = report.count(|status| matches!(status, Status::Built | Status::Removed)) > 0;
        if did || wrong_before.as_ref() != Some(&wrong) {
            tell(arguments, &report)?;
        }
        wrong_before = Some(wrong);
        // At most a tenth of a processor.
        if is_over(WATCH_PAUSE.max(report.elapsed * 9), stop) {
            return Ok(exit::INTERRUPTED);
        }
    }
}

/// Waits for a time; whether it was asked to stop meanwhile.
fn is_over(time: Duration, stop: &AtomicBool) -> bool {
    let end = Instant::now() + time;
    while !stop.load(Ordering::Relaxed) && Instant::now() < end {
        thread::sleep(Duration::from_millis(50).min(time));
    }
    stop.load(Ordering::Relaxed)
}

/// What failed in a build, as text.
fn wrong(report: &Report) -> String {
    let tasks = report.tasks.iter().filter_map(|task| match &task.status {
        Status::Failed(Failure::Spec(diagnostics)) => Some(diagnostics.render(false)),
        Status::Failed(Failure::Error(error)) => Some(format!("{}: {error}\n", task.name)),
        _ => None,
    });
    tasks.chain(report.errors.iter().map(ToString::to_string)).collect()
}

/// Builds, and says what became of it.
fn report(arguments: &Arguments, stop: &AtomicBool) -> anyhow::Result<Report> {
    let workspace = arguments.places.workspace()?;
    let options = Options {
        names: arguments.names.iter().map(|name| workspace::task_name(&workspace, name)).collect(),
        shard: arguments.shard,
        intent: if arguments.locked {
            Intent::Locked
        } else if arguments.check || arguments.dry_run {
            Intent::Look
        } else {
            Intent::Build
        },
        force: arguments.force,
        verify: arguments.verify,
        set: parameters(&arguments.set)?,
        jobs: arguments.jobs.and_then(|jobs| usize::try_from(jobs).ok()),
    };
    let progress = Progress::new(arguments);
    let report = build(&workspace, &options, &progress, stop);
    progress.bar.finish_and_clear();
    Ok(report?)
}

fn tell(arguments: &Arguments, report: &Report) -> anyhow::Result<Exit> {
    match arguments.format() {
        Format::Human => human(arguments, report)?,
        Format::Json => json_lines(arguments, report)?,
    }
    Ok(if report.is_interrupted() {
        exit::INTERRUPTED
    } else if arguments.check && counts(report).orphaned > 0 {
        exit::FAILURE
    } else if report.is_success() || (arguments.dry_run && only_stale(report)) {
        exit::SUCCESS
    } else {
        exit::FAILURE
    })
}

fn only_stale(report: &Report) -> bool {
    report.errors.is_empty() && report.count(|status| matches!(status, Status::Failed(_))) == 0
}

/// A progress bar on a terminal; in a pipe the lines of the report are enough.
struct Progress {
    bar: ProgressBar,
    json: bool,
    quiet: bool,
}

impl Progress {
    fn new(arguments: &Arguments) -> Self {
        let json = arguments.format() == Format::Json;
        let shown = io::stderr().is_terminal() && !arguments.quiet && !json;
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{bar:30.cyan} {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        Self { bar, json, quiet: arguments.quiet }
    }
}

impl Observer for Progress {
    fn waiting(&self, holder: &str) {
        let words = output::waiting(holder, "building");
        if self.json {
            let _ = output::print(&format!("{}\n", json!({"reason": "waiting", "holder": holder})));
        } else {
            self.bar.suspend(|| say(&words));
        }
    }

    fn warning(&self, what: &str) {
        if self.quiet {
            return;
        }
        if self.json {
            let _ = output::print(&format!("{}\n", json!({"reason": "warning", "message": what})));
        } else {
            self.bar.suspend(|| output::warning(what));
        }
    }

    fn planned(&self, tasks: usize) {
        self.bar.set_length(tasks as u64);
    }

    fn working(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    fn task(&self, _: &TaskReport) {
        self.bar.inc(1);
    }
}

fn human(arguments: &Arguments, report: &Report) -> io::Result<()> {
    let color = output::is_colored();
    if !arguments.quiet {
        for warning in &report.warnings {
            say(warning.render(color).trim_end());
        }
    }
    for task in &report.tasks {
        if let Status::Failed(failure) = &task.status {
            match failure {
                Failure::Error(error) if error.is_interrupt() => {}
                Failure::Spec(diagnostics) => say(diagnostics.render(color).trim_end()),
                Failure::Error(error) => output::error(&format!("{}: {error}", task.name), error.hint_text()),
            }
        }
        if !arguments.quiet {
            output::print(&lines(arguments, task))?;
        }
    }
    for error in &report.errors {
        output::error(&error.to_string(), error.hint_text());
    }
    output::print(&format!("{}\n", summary(arguments, report)))
}

/// The lines about one task.
fn lines(arguments: &Arguments, task: &TaskReport) -> String {
    let color = match task.status {
        Status::Built | Status::UpToDate => GREEN,
        Status::Stale | Status::Abandoned | Status::Removed | Status::Orphaned => YELLOW,
        Status::Failed(_) if task.status.is_stopped() => YELLOW,
        Status::Failed(_) => RED,
    };
    let word = match task.status {
        Status::Stale if arguments.dry_run => "would be built",
        Status::Abandoned if arguments.dry_run => "would be removed",
        ref status => status.word(),
    };
    let mut text = format!("{} {}\n", paint_answer(&format!("{word:>10}"), color), task.name);
    let said = arguments.explain || matches!(task.status, Status::Stale | Status::Abandoned);
    let what = if matches!(task.status, Status::Abandoned | Status::Orphaned) { "" } else { "output " };
    for damage in &task.damage {
        text.push_str(&format!("{:>10}   {what}{damage}\n", ""));
    }
    if let Some(lost) = &task.lost {
        text.push_str(&format!("{:>10}   what no build wrote is now in {lost}\n", ""));
    }
    if said {
        for change in &task.changes {
            text.push_str(&format!("{:>10}   {change}\n", ""));
        }
        let is_made = matches!(task.status, Status::Built | Status::Stale);
        if is_made && task.changes.is_empty() && task.damage.is_empty() {
            let why =
                if arguments.force { "asked for with --force" } else { "no record of an earlier build" };
            text.push_str(&format!("{:>10}   {why}\n", ""));
        }
    }
    text
}

fn summary(arguments: &Arguments, report: &Report) -> String {
    let counts = counts(report);
    let abandoned = report.count(|status| matches!(status, Status::Abandoned));
    let (would_be_removed, stale) =
        if arguments.dry_run { (abandoned, counts.stale - abandoned) } else { (0, counts.stale) };
    let words = [
        (counts.built, "built"),
        (stale, if arguments.dry_run { "would be built" } else { "stale" }),
        (would_be_removed, "would be removed"),
        (counts.removed, "removed"),
        (counts.orphaned, "of no spec"),
        (counts.up_to_date, "up to date"),
        (counts.failed, "failed"),
        (counts.stopped, "stopped"),
    ];
    let words: Vec<_> =
        words.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    let words = if words.is_empty() { "no task".to_owned() } else { words.join(", ") };
    let ended = if report.is_interrupted() { " (interrupted)" } else { "" };
    format!("{words} in {}{ended}", duration(report.elapsed))
}

fn duration(elapsed: Duration) -> String {
    if elapsed < Duration::from_secs(1) {
        format!("{:.0} ms", elapsed.as_secs_f64() * 1000.0)
    } else {
        format!("{:.1} s", elapsed.as_secs_f64())
    }
}

#[derive(Serialize)]
struct Counts {
    built: usize,
    up_to_date: usize,
    stale: usize,
    removed: usize,
    orphaned: usize,
    failed: usize,
    stopped: usize,
}

fn counts(report: &Report) -> Counts {
    Counts {
        built: report.count(|status| matches!(status, Status::Built)),
        up_to_date: report.count(|status| matches!(status, Status::UpToDate)),
        stale: report.count(|status| matches!(status, Status::Stale | Status::Abandoned)),
        removed: report.count(|status| matches!(status, Status::Removed)),
        orphaned: report.count(|status| matches!(status, Status::Orphaned)),
        failed: report.count(|status| matches!(status, Status::Failed(_)) && !status.is_stopped()),
        stopped: report.count(Status::is_stopped),
    }
}

fn json_lines(arguments: &Arguments, report: &Report) -> io::Result<()> {
    if !arguments.quiet {
        for warning in &report.warnings {
            output::print(&format!("{}\n", json!({"reason": "warning", "diagnostic": warning})))?;
        }
        for task in &report.tasks {
            output::print(&format!("{}\n", task_object(task)))?;
        }
    }
    for error in &report.errors {
        let object = json!({"reason": "error", "message": error.to_string(), "hint": error.hint_text()});
        output::print(&format!("{object}\n"))?;
    }
    let object = json!({
        "reason": "summary",
        "success": report.is_success(),
        "interrupted": report.is_interrupted(),
        "tasks": counts(report),
        "seconds": report.elapsed.as_secs_f64(),
    });
    output::print(&format!("{object}\n"))
}

fn task_object(task: &TaskReport) -> Value {
    let mut object = json!({
        "reason": "task",
        "name": task.name,
        "status": task.status.word().replace(' ', "_"),
        "changes": task.changes,
        "damage": task.damage,
        "lost": task.lost,
    });
    if let Status::Failed(failure) = &task.status {
        object["diagnostics"] = match failure {
            Failure::Spec(diagnostics) => json!(diagnostics),
            Failure::Error(error) => {
                json!([{"severity": "error", "message": error.to_string(), "hint": error.hint_text()}])
            }
        };
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    /// The lines about tasks that ended in these ways, and the last one.
    fn told(options: &[&str], statuses: &[Status]) -> String {
        let Line { arguments } = clap::Parser::parse_from([&["build-tasks"], options].concat());
        let tasks = statuses.iter().map(|status| TaskReport::new("task", status.clone())).collect();
        let report =
            Report { tasks, warnings: Vec::new(), errors: Vec::new(), elapsed: Duration::from_millis(12) };
        let mut text: String = report.tasks.iter().map(|task| lines(&arguments, task)).collect();
        text.push_str(&summary(&arguments, &report));
        text
    }

    #[test]
    fn what_goes_is_not_said_to_be_built() {
        let statuses = [Status::Stale, Status::Abandoned, Status::Abandoned];
        insta::assert_snapshot!(told(&["--dry-run"], &statuses), @r"
        would be built task
                     no record of an earlier build
        would be removed task
        would be removed task
        1 would be built, 2 would be removed in 12 ms
        ");
        assert!(told(&["--check"], &statuses).ends_with("\n3 stale in 12 ms"));
    }

    #[test]
    fn what_a_signal_stopped_did_not_fail() {
        let error = |error| Status::Failed(Failure::Error(error));
        let statuses = [Status::Built, error(Error::interrupted()), error(Error::new("no room"))];
        insta::assert_snapshot!(told(&[], &statuses), @r"
             built task
           stopped task
            failed task
        1 built, 1 failed, 1 stopped in 12 ms (interrupted)
        ");
    }
}
