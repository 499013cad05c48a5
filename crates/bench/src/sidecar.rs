//! `cargo xtask bench sidecar`: what the eval sidecar adds to a scorer that does nothing.

mod container;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use camino::Utf8Path;
use serde_json::Value;
use taskwright::exit::Status;
use taskwright::workspace;

use self::container::{Container, Image, SAMPLES};
use crate::frame::{Clock, Common, Folder};
use crate::http::{Connection, request};
use crate::rows::{Aim, Row, Sample, Section, Unit, number};

/// How many clients ask for the status at once.
const CLIENTS: usize = 64;

/// Measure the eval sidecar, with a scorer that does nothing, in a container of a built task.
#[derive(clap::Args)]
pub struct Arguments {
    /// Whose sidecar to measure.
    #[arg(long, default_value = "circle-packing")]
    task: String,
    /// How many evaluations are made in each series.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(20..100_000))]
    evaluations: u32,
    /// How often it is built and started.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..100))]
    runs: u8,
    #[command(flatten)]
    common: Common,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let workspace = workspace::this()?;
    let environment = workspace.out.join(&arguments.task).join("environment");
    ensure!(
        environment.join("sidecar/serve.json").exists(),
        "there is no built task `{}` of Mode A: `cargo xtask build-tasks` builds it",
        arguments.task
    );
    let folder = Folder::new_in(&workspace.root.join("target"))?;
    arguments.common.run(|clock| measure(arguments, &environment, &folder, clock))
}

fn measure(
    arguments: &Arguments,
    environment: &Utf8Path,
    folder: &Utf8Path,
    clock: &Clock,
) -> anyhow::Result<Vec<Section>> {
    let stop = &*clock.stop;
    let image = Image { name: format!("taskwright-bench-{}", std::process::id()) };
    let (builds, busy) = clock.series("the building of the image", || {
        (0..arguments.runs).map(|_| image.build(environment, stop)).collect::<anyhow::Result<Vec<_>>>()
    })?;
    let added = image.added(environment, stop)?;
    let scores = Container::create(&image, environment, folder, false, stop)?;
    let mut starts = Vec::new();
    for _ in 1..arguments.runs {
        starts.push(scores.start()?.0);
        scores.kill()?;
    }
    let (last, address) = scores.start()?;
    starts.push(last);
    let row = |name: &str, what: &str, unit, values: &[f64], busy| {
        Row::new(format!("sidecar/{name}"), what, unit, values, busy)
    };
    let what = "building the image, without cache and network";
    let container = vec![
        row("image/build", what, Unit::Seconds, &builds, busy)?.within(5.0),
        row("image/size", "the image over its base", Unit::Megabytes, &[added], busy)?.within(20e6),
        row("start", "from the container's start to healthy", Unit::Milliseconds, &starts, busy)?.within(0.5),
    ];
    let count = arguments.evaluations;
    let (single, busy) =
        clock.series("evaluations of one sample", || series(address, &scores.commit, 1, count, stop))?;
    let mut evaluations = latency("one", "an evaluation of one sample, with a scorer only", &single, busy)?;
    let runs = Container::create(&image, environment, folder, true, stop)?;
    let with_run = runs.start()?.1;
    let (with_run, busy) = clock
        .series("evaluations with a candidate", || series(with_run, &runs.commit, 1, count.min(200), stop))?;
    let what = "an evaluation of one sample, with a candidate in the sandbox too";
    evaluations.extend(latency("run", what, &with_run, busy)?);
    runs.kill()?;
    let (many, busy) = clock.series("evaluations of a hundred samples", || {
        series(address, &scores.commit, SAMPLES, count, stop)
    })?;
    let tenth = many.len().div_ceil(10);
    let (first, last) = (Sample::median(&many[..tenth])?, &many[many.len() - tenth..]);
    let (now, most) = scores.memory()?;
    let growth = format!("an evaluation of {SAMPLES} samples, the last {tenth} of {count}");
    let memory = format!("memory after {} of them", 2 * count);
    evaluations.extend([
        row("growth", &growth, Unit::Milliseconds, last, busy)?
            .beside(format!("the first {tenth}"), first)
            .aim(Aim::Times(1.1)),
        row("memory", &memory, Unit::Megabytes, &[now], busy)?.within(64e6),
        row("memory/most", "the most it ever had", Unit::Megabytes, &[most], busy)?.within(64e6),
    ]);
    let (rates, busy) = clock.series("answers about the status", || {
        (0..3).map(|_| status(address, stop)).collect::<anyhow::Result<Vec<_>>>()
    })?;
    let rate = row("status", &format!("status, {CLIENTS} clients"), Unit::PerSecond, &rates, busy)?;
    Ok(vec![
        Section { title: "The sidecar's container".to_owned(), rows: container },
        Section { title: "Evaluations, and a scorer that does nothing".to_owned(), rows: evaluations },
        Section { title: "Requests".to_owned(), rows: vec![rate] },
    ])
}

/// Seconds of evaluations one after the other.
fn series(
    address: SocketAddr,
    commit: &str,
    samples: usize,
    count: u32,
    stop: &AtomicBool,
) -> anyhow::Result<Vec<f64>> {
    let mut connection = Connection::open(address)?;
    let mut seconds = Vec::new();
    for _ in 0..count {
        ensure!(!stop.load(Ordering::Relaxed), "interrupted");
        let started = Instant::now();
        evaluate(&mut connection, commit, samples)?;
        seconds.push(started.elapsed().as_secs_f64());
    }
    Ok(seconds)
}

/// Evaluates samples of the split and waits for the end, which must be a score.
fn evaluate(connection: &mut Connection, commit: &str, samples: usize) -> anyhow::Result<()> {
    let body = serde_json::json!({ "commit": commit, "split": "all", "samples": { "count": samples } });
    let evaluation = connection.ask(&request("POST", "/v1/evaluations", "", &body.to_string()))?;
    let evaluation: Value = serde_json::from_slice(&evaluation)?;
    let id = evaluation["id"].as_str().context("an evaluation has no name")?;
    let events = connection.ask(&request("GET", &format!("/v1/evaluations/{id}/events"), "", ""))?;
    let last = events.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let end: Value = serde_json::from_slice(last)?;
    ensure!(end["end"]["score"] == 1.0, "an evaluation ended with {end}");
    Ok(())
}

/// The median and the 99th percentile beside the limit.
fn latency(name: &str, what: &str, seconds: &[f64], busy: f64) -> anyhow::Result<Vec<Row>> {
    let row = |suffix: &str, what: String, values: &[f64]| {
        let row =
            Row::new(format!("sidecar/latency/{name}{suffix}"), what, Unit::Milliseconds, values, busy)?;
        anyhow::Ok(row.within(0.02))
    };
    Ok(vec![
        row("", what.to_owned(), seconds)?,
        row("/p99", format!("the 99th percentile of {}", seconds.len()), &[Sample::late(seconds)?])?,
    ])
}

/// Answers a second, with many clients that ask as fast as they can.
fn status(address: SocketAddr, stop: &AtomicBool) -> anyhow::Result<f64> {
    let (answers, asked) = (AtomicU64::new(0), request("GET", "/v1/status", "", ""));
    let started = Instant::now();
    let end = started + Duration::from_secs(3);
    thread::scope(|scope| {
        let ask = |_| {
            scope.spawn(|| -> anyhow::Result<()> {
                let mut connection = Connection::open(address)?;
                while Instant::now() < end && !stop.load(Ordering::Relaxed) {
                    connection.ask(&asked)?;
                    answers.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(ask).collect();
        clients
            .into_iter()
            .try_for_each(|client| client.join().unwrap_or_else(|_| anyhow::bail!("a client panicked")))
    })?;
    Ok(number(answers.into_inner()) / started.elapsed().as_secs_f64())
}
