//! What is measured in a process of its own, so that no measurement finds the memory or the threads of another.

use std::fs;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use taskwright_builder::{Options, Report, Silent, Status, Workspace, build};

use super::generate::{self, Shape};
use super::ninja::Ninja;
use super::peers;
use crate::frame::{Folder, peak};

/// Longer than the age below which a file's times are not trusted.
const SETTLE: Duration = Duration::from_millis(60);

/// Measure one thing in a generated workspace, and print what was found as JSON.
#[derive(clap::Args)]
pub struct Arguments {
    /// What to measure.
    #[arg(value_enum)]
    what: What,
    /// The workspace.
    root: Utf8PathBuf,
    /// How often.
    #[arg(long, default_value_t = 1)]
    runs: usize,
    /// To generate: of which shape.
    #[arg(long, value_enum, default_value_t = Shape::Thirty)]
    shape: Shape,
    /// To generate: how many specs.
    #[arg(long, default_value_t = 1000)]
    specs: usize,
}

/// What a child process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Fill the workspace's folder.
    Generate,
    /// Builds of what is up to date, each after an `lstat` of the same outputs.
    NoOp,
    /// The same, each also after a run of `ninja`.
    NoOpAndNinja,
    /// Builds after an edit of one spec, each after a build of what is up to date.
    Edit,
    /// Builds of everything from nothing.
    Cold,
    /// Plain writes of what was built.
    Write,
    /// The same, with hard links where the build made some.
    WriteAndLink,
}

impl What {
    /// Its word on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Generate => "generate",
            Self::NoOp => "no-op",
            Self::NoOpAndNinja => "no-op-and-ninja",
            Self::Edit => "edit",
            Self::Cold => "cold",
            Self::Write => "write",
            Self::WriteAndLink => "write-and-link",
        }
    }
}

/// What a child process found.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Found {
    /// Seconds of each run.
    pub seconds: Vec<f64>,
    /// Seconds of what stands beside each run: `lstat`, or a build of what is up to date.
    pub beside: Vec<f64>,
    /// Seconds of ninja; empty if it was not asked for or is not installed.
    pub ninja: Vec<f64>,
    /// How many files all tasks have.
    pub files: usize,
    /// The largest memory that the process has had, in bytes.
    pub peak: f64,
}

/// Runs the hidden command.
pub fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let workspace = generate::open(&arguments.root);
    let runs = arguments.runs;
    let mut found = match arguments.what {
        What::Generate => {
            generate::fill(&arguments.root, arguments.shape, arguments.specs)?;
            Found::default()
        }
        What::NoOp => no_op(&workspace, runs, false)?,
        What::NoOpAndNinja => no_op(&workspace, runs, true)?,
        What::Edit => edit(&workspace, runs)?,
        What::Cold => cold(&workspace, runs)?,
        What::Write => write(&workspace, runs, false)?,
        What::WriteAndLink => write(&workspace, runs, true)?,
    };
    found.peak = peak()?;
    taskwright::output::print(&serde_json::to_string(&found)?)?;
    Ok(())
}

fn no_op(workspace: &Workspace, runs: usize, ninja: bool) -> anyhow::Result<Found> {
    settle(workspace)?;
    let files = peers::files(&workspace.out)?;
    let ninja = if ninja { Ninja::new(beside(workspace)?, &workspace.out, &files)? } else { None };
    let mut found = Found { files: files.len(), ..Found::default() };
    for _ in 0..runs {
        if let Some(ninja) = &ninja {
            found.ninja.push(ninja.seconds()?);
        }
        found.beside.push(peers::lstat(&files)?);
        found.seconds.push(timed(workspace, 0)?);
    }
    Ok(found)
}

fn edit(workspace: &Workspace, runs: usize) -> anyhow::Result<Found> {
    let mut found = Found::default();
    let path = generate::spec_path(&workspace.root, 7);
    let original = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    for revision in 1..=runs {
        settle(workspace)?;
        found.beside.push(timed(workspace, 0)?);
        let edited = original.replace(generate::REVISION, &format!("(revision {revision})"));
        fs::write(&path, edited).with_context(|| format!("editing {path}"))?;
        sleep(SETTLE);
        found.seconds.push(timed(workspace, 1)?);
    }
    fs::write(&path, original).with_context(|| format!("writing {path}"))?;
    settle(workspace)?;
    Ok(found)
}

fn cold(workspace: &Workspace, runs: usize) -> anyhow::Result<Found> {
    let mut found = Found::default();
    for _ in 0..runs {
        clear(workspace)?;
        let started = Instant::now();
        let report = outcome(workspace)?;
        found.seconds.push(started.elapsed().as_secs_f64());
        ensure!(
            report.tasks.iter().all(|task| matches!(task.status, Status::Built)),
            "a build from nothing found something to be up to date"
        );
    }
    Ok(found)
}

fn write(workspace: &Workspace, runs: usize, links: bool) -> anyhow::Result<Found> {
    let tasks = peers::Tasks::read(&workspace.out)?;
    let mut found = Found::default();
    for _ in 0..runs {
        let fresh = Folder::new_in(beside(workspace)?)?;
        found.seconds.push(tasks.write(&fresh, links)?);
    }
    Ok(found)
}

/// Where there is room on the same file system.
fn beside(workspace: &Workspace) -> anyhow::Result<&Utf8Path> {
    workspace.root.parent().context("the workspace is the root of the file system")
}

/// Takes away everything that a build made.
fn clear(workspace: &Workspace) -> anyhow::Result<()> {
    let target = workspace.root.join("target");
    match fs::remove_dir_all(&target) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {target}"))
        }
        _ => Ok(()),
    }
}

/// Builds until nothing is left to do or to remember.
fn settle(workspace: &Workspace) -> anyhow::Result<()> {
    for _ in 0..5 {
        sleep(SETTLE);
        let before = modified(&workspace.state_file());
        outcome(workspace)?;
        if before.is_some() && before == modified(&workspace.state_file()) {
            return Ok(());
        }
    }
    bail!("the state of the generated workspace does not come to rest")
}

fn modified(path: &Utf8Path) -> Option<std::time::SystemTime> {
    fs::symlink_metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// The seconds of a build that builds exactly so many tasks.
fn timed(workspace: &Workspace, expected: usize) -> anyhow::Result<f64> {
    let started = Instant::now();
    let report = outcome(workspace)?;
    let seconds = started.elapsed().as_secs_f64();
    let built = report.count(|status| matches!(status, Status::Built));
    ensure!(built == expected, "the build made {built} tasks instead of {expected}");
    Ok(seconds)
}

fn outcome(workspace: &Workspace) -> anyhow::Result<Report> {
    let report = build(workspace, &Options::default(), &Silent, &AtomicBool::new(false))?;
    if !report.is_success() {
        let failed = report.tasks.iter().find(|task| matches!(task.status, Status::Failed(_)));
        bail!("the generated workspace does not build: {failed:?} {:?}", report.errors);
    }
    Ok(report)
}
