//! `cargo xtask bench bake`: bakes generated tasks that share a baseline's image, beside `docker compose build` of the same.

use std::fs;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::ensure;
use camino::Utf8Path;
use taskwright::exit::Status;
use taskwright::output::say;
use taskwright_bake::{Intent, Options, Output, Report, bake};
use taskwright_builder::{self as builder, Silent, Workspace};

use crate::frame::{Clock, Common, Place};
use crate::process;
use crate::rows::{Aim, Row, Section, Unit};

/// What the images are based on: no image may be fetched while it is measured.
const BASE: &str = "debian:trixie-slim";
/// How many files the shared baseline has.
const FILES: usize = 200;

/// Measure how images are baked, beside `docker compose build` of the same.
#[derive(clap::Args)]
pub struct Arguments {
    /// How many tasks share the image of a baseline.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(2..1000))]
    tasks: u16,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    common: Common,
}

/// Which images the tasks of a workspace have.
#[derive(Clone, Copy)]
enum Kind {
    /// That of the baseline, and one of their own.
    Both,
    /// Their own alone.
    Own,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    arguments.common.run(|clock| Ok(vec![measure(arguments, clock)?]))
}

fn measure(arguments: &Arguments, clock: &Clock) -> anyhow::Result<Section> {
    let folder = arguments.place.folder()?;
    let tasks = usize::from(arguments.tasks);
    let ((one, differs, all, nothing, composed), busy) = clock.series(&format!("{tasks} tasks"), || {
        // Each from words that no build before has seen: nothing is taken from a cache.
        let (one, _) = timed(&folder.join("one"), 1, Kind::Both, &clock.stop)?;
        let (differs, _) = timed(&folder.join("own"), tasks, Kind::Own, &clock.stop)?;
        let (all, workspace) = timed(&folder.join("all"), tasks, Kind::Both, &clock.stop)?;
        let start = Instant::now();
        let report = baked(&workspace, &clock.stop)?;
        let nothing = start.elapsed().as_secs_f64();
        ensure!(report.made == 0, "a bake with nothing to do made {} images", report.made);
        let mut composed = 0.0;
        let fresh = generate(&folder.join("composed"), tasks, Kind::Both)?;
        say("docker compose build, one task after the other");
        for number in 0..tasks {
            let file =
                fresh.root.join(format!("harbor-tasks/{}/environment/docker-compose.yaml", name(number)));
            let mut command = Command::new("docker");
            command.args([
                "compose",
                "--project-name",
                &format!("taskwright-bench-{number}"),
                "--file",
                file.as_str(),
                "build",
                "--quiet",
            ]);
            composed += process::run(&mut command, &clock.stop)?.seconds;
        }
        remove_composed(tasks);
        Ok((one, differs, all, nothing, composed))
    })?;
    let row = |name: &str, words: &str, unit, value: f64| {
        Row::new(format!("bake/{tasks}/{name}"), words, unit, &[value], busy)
    };
    let limit = 1.3 * one + differs;
    let rows = vec![
        row("one", "bake one task", Unit::Seconds, one)?,
        row("all", &format!("bake {tasks} tasks with one baseline"), Unit::Seconds, all)?
            .beside("1.3 times one, and what differs", limit)
            .aim(Aim::Times(1.0)),
        row("compose", &format!("bake {tasks} tasks with one baseline"), Unit::Seconds, all)?
            .beside("docker compose build, one by one", composed),
        row("no-op", &format!("bake {tasks} tasks, nothing to do"), Unit::Milliseconds, nothing)?
            .beside("limit", 2.0)
            .aim(Aim::Times(1.0)),
    ];
    Ok(Section {
        title: format!("{tasks} tasks with the image of one baseline, each with one image of its own"),
        rows,
    })
}

/// Generates a workspace, builds it and takes the time of its first bake.
fn timed(root: &Utf8Path, tasks: usize, kind: Kind, stop: &AtomicBool) -> anyhow::Result<(f64, Workspace)> {
    let workspace = generate(root, tasks, kind)?;
    let report = builder::build(&workspace, &builder::Options::default(), &Silent, stop)?;
    ensure!(report.is_success(), "the generated tasks do not build: {:?}", report.errors.first());
    let start = Instant::now();
    baked(&workspace, stop)?;
    Ok((start.elapsed().as_secs_f64(), workspace))
}

fn baked(workspace: &Workspace, stop: &AtomicBool) -> anyhow::Result<Report> {
    let report = builder::build(workspace, &builder::Options::default(), &Silent, stop)?;
    let names: Vec<String> = report.tasks.into_iter().map(|task| task.name).collect();
    let options = Options {
        intent: Intent::Bake,
        output: Output::Oci,
        platforms: Vec::new(),
        update_bases: false,
        force: false,
    };
    Ok(bake(workspace, &names, &options, &Silent, stop)?)
}

fn name(number: usize) -> String {
    format!("bench-{number:04}")
}

fn generate(root: &Utf8Path, tasks: usize, kind: Kind) -> anyhow::Result<Workspace> {
    // What no cache has seen: the place and the process.
    let word = format!("{root} {}", std::process::id());
    for number in 0..tasks {
        let task = root.join("harbor-tasks").join(name(number));
        let environment = task.join("environment");
        fs::create_dir_all(environment.join("sidecar"))?;
        fs::create_dir_all(environment.join("baseline"))?;
        fs::write(
            task.join("task.toml"),
            format!("schema_version = \"1.4\"\n[task]\nname = \"bench/{}\"\n", name(number)),
        )?;
        fs::write(task.join("instruction.md"), "Nothing is to be done.\n")?;
        for file in 0..FILES {
            fs::write(environment.join(format!("baseline/{file}.txt")), format!("{word} {file}\n"))?;
        }
        let dockerfile =
            format!("FROM {BASE}\nCOPY baseline/ /workspace/\nRUN cat /workspace/*.txt | sha256sum > /sum\n");
        fs::write(environment.join("Dockerfile"), dockerfile)?;
        fs::write(environment.join("sidecar/data.txt"), format!("{word} {number}\n"))?;
        fs::write(
            environment.join("sidecar/Dockerfile"),
            format!("FROM {BASE}\nCOPY sidecar/data.txt /data.txt\n"),
        )?;
        let main = match kind {
            Kind::Both => "build: .",
            Kind::Own => "image: debian:trixie-slim",
        };
        let compose = format!(
            "services:\n  main:\n    {main}\n  side:\n    build: {{context: ., dockerfile: sidecar/Dockerfile}}\n"
        );
        fs::write(environment.join("docker-compose.yaml"), compose)?;
    }
    fs::write(root.join("taskwright.toml"), "")?;
    Workspace::open(root).map_err(|mistakes| anyhow::anyhow!("{mistakes}"))
}

/// What Compose made stays in the engine unless it is taken away.
fn remove_composed(tasks: usize) {
    let images = (0..tasks)
        .flat_map(|number| ["main", "side"].map(|service| format!("taskwright-bench-{number}-{service}")));
    let _ = Command::new("docker").args(["image", "rm", "--force"]).args(images).output();
}
