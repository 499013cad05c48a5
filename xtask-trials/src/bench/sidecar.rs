//! `cargo xtask bench sidecar`: what the eval sidecar adds to a scorer that does nothing.

mod container;
mod http;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use camino::Utf8Path;
use xtask::bench::folder::Folder;
use xtask::bench::rows::{Aim, Row, Sample, Section, Unit};
use xtask::bench::{quiet, table};
use xtask::exit::{self, Status};
use xtask::output::say;
use xtask::{interrupt, workspace};

use container::{Container, Image, SAMPLES};
use http::Connection;

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
    /// How many seconds to wait for a quiet machine before each series.
    #[arg(long, default_value_t = 60)]
    wait: u64,
    /// Print a list of {name, value, unit, limit, ratio}.
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print tables for docs/performance.md.
    #[arg(long)]
    markdown: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let stop = interrupt::flag()?;
    let workspace = workspace::this()?;
    let environment = workspace.out.join(&arguments.task).join("environment");
    ensure!(
        environment.join("sidecar/serve.json").exists(),
        "there is no built task `{}` of Mode A: `cargo xtask build-tasks` builds it",
        arguments.task
    );
    let folder = Folder::new_in(&workspace.root.join("target"))?;
    let measured = measure(arguments, &environment, &folder, &stop);
    if stop.load(Ordering::Relaxed) {
        say("interrupted: removing what was made");
        return Ok(exit::INTERRUPTED);
    }
    let sections = measured?;
    table::print(&sections, arguments.json, arguments.markdown)?;
    Ok(exit::SUCCESS)
}

fn measure(
    arguments: &Arguments,
    environment: &Utf8Path,
    folder: &Utf8Path,
    stop: &AtomicBool,
) -> anyhow::Result<Vec<Section>> {
    let image = Image { name: format!("taskwright-bench-{}", std::process::id()) };
    let quiet = || quiet::wait(Duration::from_secs(arguments.wait), stop);
    let busy = quiet()?;
    say("building the image");
    let builds =
        (0..arguments.runs).map(|_| image.build(environment, stop)).collect::<anyhow::Result<Vec<_>>>()?;
    let added = image.added(environment, stop)?;
    let scores = Container::create(&image, environment, folder, false, stop)?;
    let mut starts = Vec::new();
    for _ in 1..arguments.runs {
        starts.push(scores.start()?.0);
        scores.kill()?;
    }
    let (last, address) = scores.start()?;
    starts.push(last);
    let container = vec![
        Row::new(
            "sidecar/image/build",
            "building the image, without cache and network",
            Unit::Seconds,
            &builds,
            busy,
        )?
        .beside("limit", 5.0)
        .aim(Aim::Times(1.0)),
        Row::new("sidecar/image/size", "the image over its base", Unit::Megabytes, &[added], busy)?
            .beside("limit", 20e6)
            .aim(Aim::Times(1.0)),
        Row::new(
            "sidecar/start",
            "from the container's start to healthy",
            Unit::Milliseconds,
            &starts,
            busy,
        )?
        .beside("limit", 0.5)
        .aim(Aim::Times(1.0)),
    ];
    let busy = quiet()?;
    say("evaluating one sample at a time");
    let single = series(address, &scores.commit, 1, arguments.evaluations, stop)?;
    let mut evaluations = latency("one", "an evaluation of one sample, with a scorer only", &single, busy)?;
    let runs = Container::create(&image, environment, folder, true, stop)?;
    let (_, with_run) = runs.start()?;
    let busy = quiet()?;
    let with_run = series(with_run, &runs.commit, 1, arguments.evaluations.min(200), stop)?;
    let what = "an evaluation of one sample, with a candidate in the sandbox too";
    evaluations.extend(latency("run", what, &with_run, busy)?);
    runs.kill()?;
    say("evaluating a hundred samples at a time");
    let busy = quiet()?;
    let many = series(address, &scores.commit, SAMPLES, arguments.evaluations, stop)?;
    let tenth = many.len().div_ceil(10);
    let (first, last) = (Sample::of(&many[..tenth])?, &many[many.len() - tenth..]);
    let (now, most) = scores.memory()?;
    let count = arguments.evaluations;
    evaluations.extend([
        Row::new(
            "sidecar/growth",
            format!("an evaluation of {SAMPLES} samples, the last {tenth} of {count}"),
            Unit::Milliseconds,
            last,
            busy,
        )?
        .beside(format!("the first {tenth}"), first.median)
        .aim(Aim::Times(1.1)),
        Row::new(
            "sidecar/memory",
            format!("memory after {} of them", 2 * count),
            Unit::Megabytes,
            &[now],
            busy,
        )?
        .beside("limit", 64e6)
        .aim(Aim::Times(1.0)),
        Row::new("sidecar/memory/most", "the most it ever had", Unit::Megabytes, &[most], busy)?
            .beside("limit", 64e6)
            .aim(Aim::Times(1.0)),
    ]);
    say("asking for the status");
    let busy = quiet()?;
    let rates = (0..3).map(|_| status(address, stop)).collect::<anyhow::Result<Vec<_>>>()?;
    let rate =
        Row::new("sidecar/status", format!("status, {CLIENTS} clients"), Unit::PerSecond, &rates, busy)?;
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
        connection.evaluate(commit, samples)?;
        seconds.push(started.elapsed().as_secs_f64());
    }
    Ok(seconds)
}

/// The median and the 99th percentile beside the limit.
fn latency(name: &str, what: &str, seconds: &[f64], busy: f64) -> anyhow::Result<Vec<Row>> {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let late = sorted.get(sorted.len() * 99 / 100).or(sorted.last()).context("nothing was measured")?;
    let row = |suffix: &str, what: String, values: &[f64]| {
        let row =
            Row::new(format!("sidecar/latency/{name}{suffix}"), what, Unit::Milliseconds, values, busy)?;
        anyhow::Ok(row.beside("limit", 0.02).aim(Aim::Times(1.0)))
    };
    Ok(vec![
        row("", what.to_owned(), seconds)?,
        row("/p99", format!("the 99th percentile of {}", seconds.len()), &[*late])?,
    ])
}

/// Answers a second, with many clients that ask as fast as they can.
fn status(address: SocketAddr, stop: &AtomicBool) -> anyhow::Result<f64> {
    let answers = AtomicU64::new(0);
    let started = Instant::now();
    let end = started + Duration::from_secs(3);
    thread::scope(|scope| {
        let ask = |_| {
            scope.spawn(|| -> anyhow::Result<()> {
                let mut connection = Connection::open(address)?;
                while Instant::now() < end && !stop.load(Ordering::Relaxed) {
                    connection.ask("GET", "/status", "")?;
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
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 answers")]
    let answers = answers.into_inner() as f64;
    Ok(answers / started.elapsed().as_secs_f64())
}
