//! `cargo xtask bench collate`: generates trials of real shape, collates them, and puts that beside reading their files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, ensure};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use taskwright::exit::{self, Status};
use taskwright::output::{self, say};
use taskwright_eval::mode_b::collate::{PlannedSample, Rules, collate};
use taskwright_language::model::{Aggregate, Direction};

use crate::frame::{Clock, Common, Place, peak};
use crate::process;
use crate::rows::{Aim, Row, Sample, Section, Unit};
use crate::trials::{self, FILES, Shape};

/// The files of a trial that collation reads.
const READ: [&str; 2] = ["result.json", "lock.json"];
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
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    common: Common,
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
        output::print(&serde_json::to_string(&collated(job, shape(trials))?)?)?;
        return Ok(exit::SUCCESS);
    }
    arguments.common.run(|clock| {
        let small = measure(arguments, shape(trials), clock)?;
        if !arguments.large {
            return Ok(vec![small]);
        }
        let mut large = measure(arguments, shape(trials * 10), clock)?;
        large.rows.push(linear(&small.rows[0], &large.rows[0])?);
        Ok(vec![small, large])
    })
}

fn shape(trials: usize) -> Shape {
    Shape { trials, tasks: trials.div_ceil(ATTEMPTS), some_fail: true }
}

/// Generates a job and measures it.
fn measure(arguments: &Arguments, shape: Shape, clock: &Clock) -> anyhow::Result<Section> {
    let folder = arguments.place.folder()?;
    let job = folder.join("job");
    let trials = shape.trials;
    say(&format!("generating {trials} trials"));
    let bytes = shape.write(&job, &clock.stop)?;
    let read = list(&folder.join("read"), &shape.paths(&job, &READ))?;
    let all = list(&folder.join("all"), &shape.paths(&job, &FILES))?;
    let (mut collating, mut peaks, mut cats, mut alls, mut plain) = (vec![], vec![], vec![], vec![], vec![]);
    let ((), busy) = clock.series(&format!("{trials} trials"), || {
        for _ in 0..arguments.runs {
            cats.push(cat(&read, &clock.stop)?);
            plain.push(read_all(&job, shape)?);
            let found = child(&job, shape, &clock.stop)?;
            collating.push(found.seconds);
            peaks.push(found.peak);
            alls.push(cat(&all, &clock.stop)?);
        }
        Ok(())
    })?;
    let row = |name: &str, words: &str, unit, values: &[f64]| {
        Row::new(format!("collate/{trials}/{name}"), words, unit, values, busy)
    };
    let time = |name: &str, peer: &str, beside: &[f64]| {
        anyhow::Ok(
            row(name, "collate", Unit::Milliseconds, &collating)?.beside(peer, Sample::median(beside)?),
        )
    };
    let rows = vec![
        time("time", "cat of the files it reads", &cats)?.aim(Aim::Times(2.0)),
        time("time-all", "cat of all files", &alls)?,
        time("time-read", "the same files read in one process", &plain)?,
        row("memory", "its peak memory", Unit::Megabytes, &peaks)?.within(MOST_MEMORY),
    ];
    Ok(Section { title: format!("{trials} trials, {} MB", bytes / 1_000_000), rows })
}

/// Ten times as many trials beside ten times the time of one tenth of them.
fn linear(small: &Row, large: &Row) -> anyhow::Result<Row> {
    let row = Row::new("collate/linear", "collate", large.unit, &[large.found.median], large.busy)?;
    Ok(row.beside("ten times a tenth of it", small.found.median * 10.0).aim(Aim::Times(1.1)))
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
fn read_all(job: &Utf8Path, shape: Shape) -> anyhow::Result<f64> {
    let paths = shape.paths(job, &READ);
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
fn child(job: &Utf8Path, shape: Shape, stop: &AtomicBool) -> anyhow::Result<Found> {
    let mut command = Command::new(std::env::current_exe().context("finding this program")?);
    command.args(["bench", "collate", "--child", job.as_str(), "--trials", &shape.trials.to_string()]);
    let found: Found = serde_json::from_str(&process::run(&mut command, stop)?.stdout)
        .context("reading what a measuring process found")?;
    ensure!(found.graded == shape.graded(), "{} attempts were graded", found.graded);
    Ok(found)
}

fn collated(job: &Utf8Path, shape: Shape) -> anyhow::Result<Found> {
    let planned: Vec<PlannedSample> = (0..shape.tasks).map(sample).collect();
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

/// A sample by the number of its task.
fn sample(number: usize) -> PlannedSample {
    let task = trials::task(number);
    PlannedSample {
        id: task.clone(),
        name: Some(format!("bench/{task}")),
        directory: task,
        digest: Some(trials::digest(number)),
    }
}
