//! The first `cargo xtask build-tasks` in a fresh clone: everything is compiled, nothing is fetched.

use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use camino::Utf8Path;

use super::context::Context;
use crate::frame::Folder;
use crate::process;
use crate::rows::{Row, Section, Unit};

/// What the first task may take, in seconds.
const LIMIT: f64 = 75.0;
/// How often it is looked for.
const TICK: Duration = Duration::from_millis(20);

/// Measures, once: on the disk where this repository is, as users would.
pub fn measure(context: &Context) -> anyhow::Result<Section> {
    let folder = Folder::new_in(&context.repository.join("target"))?;
    let clone = folder.join("clone");
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--no-hardlinks", context.repository.as_str(), clone.as_str()]);
    context.run(&mut git)?;
    context.run(cargo(&clone).args(["fetch", "--quiet", "--locked"]))?;
    let ((first, all), busy) = context.clock.series("a fresh clone", || build(context, &clone))?;
    let row = |name: &str, what: &str, seconds| Row::new(name, what, Unit::Seconds, &[seconds], busy);
    Ok(Section {
        title: "A fresh clone, crates already fetched".to_owned(),
        rows: vec![
            row("clone/first", "cargo xtask build-tasks to the first built task", first)?.within(LIMIT),
            row("clone/all", "the same to its end", all)?,
        ],
    })
}

/// The seconds to the first task, and to the end.
fn build(context: &Context, clone: &Utf8Path) -> anyhow::Result<(f64, f64)> {
    let tasks = clone.join("target/harbor-tasks");
    let started = Instant::now();
    let (ended, watched) = mpsc::channel::<()>();
    let (first, ran) = thread::scope(|scope| {
        let watch = scope.spawn(move || {
            while watched.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if has_task(&tasks) {
                    break;
                }
            }
            started.elapsed().as_secs_f64()
        });
        let ran = context.run(cargo(clone).env("CARGO_NET_OFFLINE", "true").args(["xtask", "build-tasks"]));
        drop(ended);
        (watch.join(), ran)
    });
    let first = first.ok().context("watching for the first task failed")?;
    Ok((first, ran?.seconds))
}

/// Whether a task stands in its place, where it comes by a rename.
fn has_task(tasks: &Utf8Path) -> bool {
    let Ok(mut entries) = tasks.read_dir_utf8() else { return false };
    entries.any(|entry| {
        entry.is_ok_and(|entry| {
            !entry.file_name().starts_with('.') && entry.path().join("task.toml").is_file()
        })
    })
}

fn cargo(clone: &Utf8Path) -> Command {
    let mut cargo = process::cargo();
    cargo.current_dir(clone).env_remove("CARGO_TARGET_DIR");
    cargo
}
