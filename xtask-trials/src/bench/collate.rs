//! `cargo xtask bench collate`: generates trials of real shape, collates them, and puts that beside reading their files.

mod generate;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use taskwright_eval::mode_b::collate::{PlannedSample, Rules, collate};
use taskwright_language::model::{Aggregate, Direction};
use xtask::bench::folder::Folder;
use xtask::bench::rows::{Aim, Row, Section, Unit};
use xtask::bench::{process, quiet, table};
use xtask::exit::{self, Status};
use xtask::output::{self, say};
use xtask::{interrupt, workspace};

/// Where a fresh folder costs what memory costs, and not what the disk has lived through.
const MEMORY: &str = "/dev/shm";
/// How many attempts each generated sample has.
const ATTEMPTS: usize = 10;
/// The most memory that collating may take, however many trials there are.
const MOST_MEMORY: f64 = 256e6;

/// Measure how trials are collated into sample results.
#[derive(clap::Args)]
pub struct Arguments {
    /// How many trials are generated.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(10..1_000_000))]
    trials: u32,
    /// How often each thing is measured.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u8).range(1..100))]
    runs: u8,
    /// Measure ten times as many trials too.
    #[arg(long)]
    large: bool,
    /// Where the folder of generated trials is made; in memory, where there is such a place, if not given.
    #[arg(long)]
    dir: Option<Utf8PathBuf>,
    /// How many seconds to wait for a quiet machine before each series.
    #[arg(long, default_value_t = 60)]
    wait: u64,
    /// Print a list of {name, value, unit, limit, ratio}.
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print tables for docs/performance.md.
    #[arg(long)]
    markdown: bool,
    /// Collate one job, and print what was found as JSON.
    #[arg(long, hide = true)]
    child: Option<Utf8PathBuf>,
}

/// What one collation found.
#[derive(Debug, Serialize, Deserialize)]
struct Found {
    seconds: f64,
    /// The largest memory that the process has had, in bytes.
    peak: f64,
    /// How many attempts were graded.
    graded: u64,
    /// The mean over the samples that have one.
    sum: f64,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let trials = usize::try_from(arguments.trials)?;
    if let Some(job) = &arguments.child {
        output::print(&serde_json::to_string(&collated(job, trials)?)?)?;
        return Ok(exit::SUCCESS);
    }
    let stop = interrupt::flag()?;
    let mut sections = vec![measure(arguments, trials, &stop)];
    if arguments.large && sections[0].is_ok() {
        sections.push(measure(arguments, trials * 10, &stop));
    }
    if stop.load(Ordering::Relaxed) {
        say("interrupted: removing what was generated");
        return Ok(exit::INTERRUPTED);
    }
    let mut sections = sections.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    if let [small, large] = sections.as_mut_slice() {
        large.rows.push(linear(&small.rows[0], &large.rows[0])?);
    }
    table::print(&sections, arguments.json, arguments.markdown)?;
    Ok(exit::SUCCESS)
}

/// Generates a job and measures it.
fn measure(arguments: &Arguments, trials: usize, stop: &AtomicBool) -> anyhow::Result<Section> {
    let folder = Folder::new_in(&parent(arguments)?)?;
    let job = folder.join("job");
    say(&format!("generating {trials} trials"));
    let bytes = generate::job(&job, trials, ATTEMPTS, stop)?;
    let read = list(&folder.join("read"), &generate::paths(&job, trials, &generate::READ))?;
    let all = list(&folder.join("all"), &generate::paths(&job, trials, &generate::ALL))?;
    let before = quiet::wait(Duration::from_secs(arguments.wait), stop)?;
    say(&format!("measuring {trials} trials"));
    let (mut collating, mut peaks, mut cats, mut alls, mut plain) = (vec![], vec![], vec![], vec![], vec![]);
    for _ in 0..arguments.runs {
        cats.push(cat(&read, stop)?);
        plain.push(read_all(&job, trials)?);
        let found = child(&job, trials, stop)?;
        collating.push(found.seconds);
        peaks.push(found.peak);
        alls.push(cat(&all, stop)?);
    }
    let busy = before.max(quiet::busy()?);
    let name = |what: &str| format!("collate/{trials}/{what}");
    let row = |what: &str, words: &str, unit, values: &[f64]| Row::new(name(what), words, unit, values, busy);
    let median = |values: &[f64]| xtask::bench::rows::Sample::of(values).map(|sample| sample.median);
    let rows = vec![
        row("time", "collate", Unit::Milliseconds, &collating)?
            .beside("cat of the files it reads", median(&cats)?)
            .aim(Aim::Times(2.0)),
        row("time-all", "collate", Unit::Milliseconds, &collating)?
            .beside("cat of all files", median(&alls)?),
        row("time-read", "collate", Unit::Milliseconds, &collating)?
            .beside("the same files read in one process", median(&plain)?),
        row("memory", "its peak memory", Unit::Megabytes, &peaks)?
            .beside("limit", MOST_MEMORY)
            .aim(Aim::Times(1.0)),
    ];
    Ok(Section { title: format!("{trials} trials, {} MB", bytes / 1_000_000), rows })
}

/// Ten times as many trials beside ten times the time of one tenth of them.
fn linear(small: &Row, large: &Row) -> anyhow::Result<Row> {
    let row = Row::new("collate/linear", "collate", large.unit, &[large.found.median], large.busy)?;
    Ok(row.beside("ten times a tenth of it", small.found.median * 10.0).aim(Aim::Times(1.1)))
}

fn parent(arguments: &Arguments) -> anyhow::Result<Utf8PathBuf> {
    match &arguments.dir {
        Some(folder) => workspace::from_here(folder),
        None if Utf8Path::new(MEMORY).is_dir() => Ok(MEMORY.into()),
        None => Ok(Utf8PathBuf::try_from(std::env::temp_dir())?),
    }
}

/// Writes a list for `xargs`.
fn list(path: &Utf8Path, files: &[PathBuf]) -> anyhow::Result<Utf8PathBuf> {
    let mut text = Vec::new();
    for file in files {
        text.extend_from_slice(file.as_os_str().as_encoded_bytes());
        text.push(0);
    }
    fs::write(path, text).with_context(|| format!("writing {path}"))?;
    Ok(path.to_owned())
}

/// The seconds of `cat` over listed files.
fn cat(list: &Utf8Path, stop: &AtomicBool) -> anyhow::Result<f64> {
    let mut command = Command::new("sh");
    command.args(["-c", "xargs -0 cat < \"$1\" > /dev/null", "sh", list.as_str()]);
    Ok(process::run(&mut command, stop)?.seconds)
}

/// The seconds of reading the files that collation reads, one after the other, in this process.
fn read_all(job: &Utf8Path, trials: usize) -> anyhow::Result<f64> {
    let paths = generate::paths(job, trials, &generate::READ);
    let mut buffer = Vec::new();
    let started = Instant::now();
    for path in &paths {
        buffer.clear();
        let mut file = fs::File::open(path).with_context(|| format!("opening {}", path.display()))?;
        std::io::Read::read_to_end(&mut file, &mut buffer)?;
    }
    Ok(started.elapsed().as_secs_f64())
}

/// Collates in a process of its own, so that its memory is its own.
fn child(job: &Utf8Path, trials: usize, stop: &AtomicBool) -> anyhow::Result<Found> {
    let mut command = Command::new(std::env::current_exe().context("finding this program")?);
    command.args(["bench", "collate", "--child", job.as_str(), "--trials", &trials.to_string()]);
    let found: Found = serde_json::from_str(&process::run(&mut command, stop)?.stdout)
        .context("reading what a measuring process found")?;
    ensure!(found.graded == generate::graded(trials), "{} attempts were graded", found.graded);
    Ok(found)
}

fn collated(job: &Utf8Path, trials: usize) -> anyhow::Result<Found> {
    let planned: Vec<PlannedSample> = (0..trials.div_ceil(ATTEMPTS)).map(generate::sample).collect();
    let rules = Rules {
        attempts: ATTEMPTS as u64,
        aggregate: Aggregate::Mean,
        direction: Direction::Maximize,
        failure_value: 0.0,
        reward_key: None,
        metric: "score".to_owned(),
        feedback_bytes: None,
    };
    let started = Instant::now();
    let collated = collate(&planned, &rules, &[Path::new(job)]);
    let seconds = started.elapsed().as_secs_f64();
    ensure!(
        collated.notes.is_empty(),
        "the generated trials are not as they should be: {:?}",
        collated.notes.first()
    );
    let attempts = collated.samples.iter().filter_map(|sample| sample.attempts.as_ref());
    let graded = attempts.map(|attempts| attempts.graded).sum();
    let sum = collated.samples.iter().filter_map(|sample| sample.value).sum();
    Ok(Found { seconds, peak: peak()?, graded, sum })
}

/// The largest resident memory of this process so far.
fn peak() -> anyhow::Result<f64> {
    let status = fs::read_to_string("/proc/self/status").context("reading /proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: Option<u32> = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    Ok(f64::from(kib.context("/proc/self/status does not say VmHWM")?) * 1024.0)
}
