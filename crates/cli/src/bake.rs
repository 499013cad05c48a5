//! `cargo xtask bake`.

use std::time::Instant;

use clap::ValueEnum;
use serde_json::json;
use taskwright_bake::{Intent, Options, Output, Report, bake};
use taskwright_builder as builder;
use taskwright_language::workspace::Platform;

use crate::exit::{self, Status};
use crate::interrupt;
use crate::output::{self, GREEN, YELLOW, paint_answer, say};
use crate::tasks;
use crate::workspace::{self, Places};

/// Bake the images of tasks, the same bytes everywhere, and make the tasks that name them by digest.
///
/// Builds the tasks first. The baked ones go to target/baked-tasks (`[bake] output` in taskwright.toml): a trial of them builds no
/// image. Digests of images and of their bases stand in taskwright.lock.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  cargo xtask bake\n  cargo xtask bake digits --output oci\n  \
                        cargo xtask bake --locked --output registry\n  cargo xtask bake --update-bases")]
pub struct Arguments {
    /// Tasks, or folders of specs, by name or by path; all if none is named.
    names: Vec<String>,
    /// Of these tasks only the I-th of N equal parts, for machines that divide them: 1/3 on one, 2/3 and 3/3 on others.
    #[arg(long, value_name = "I/N")]
    shard: Option<builder::Shard>,
    /// Where the images go.
    #[arg(long, value_enum, value_name = "WHERE", default_value_t = Where::Docker)]
    output: Where,
    /// For which platform, instead of those of taskwright.toml, or this machine's own. May be repeated.
    #[arg(long, value_name = "PLATFORM")]
    platform: Vec<Platform>,
    /// Refuse images that are not those of taskwright.lock, and say which layer and which file differ.
    #[arg(long, conflicts_with_all = ["check", "update_bases"])]
    locked: bool,
    /// Bake nothing; fail if there is something to bake.
    #[arg(long, conflicts_with = "update_bases")]
    check: bool,
    /// Look up anew which images the names of bases stand for, and say which moved.
    #[arg(long)]
    update_bases: bool,
    /// Make every image again, without anything that was made before.
    #[arg(long, conflicts_with = "check")]
    force: bool,
    #[command(flatten)]
    places: Places,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Where {
    /// They stay in the folder of images, an OCI layout.
    Oci,
    /// Into this machine's Docker engine.
    Docker,
    /// Into the engine, and from there to the registry that taskwright.toml names.
    Registry,
}

struct Talk;

impl builder::Observer for Talk {
    fn waiting(&self, holder: &str) {
        say(&output::waiting(holder, "at work"));
    }

    fn working(&self, what: &str) {
        say(what);
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let stop = interrupt::flag()?;
    let start = Instant::now();
    let workspace = arguments.places.workspace()?;
    let options = builder::Options {
        names: arguments.names.iter().map(|name| workspace::task_name(&workspace, name)).collect(),
        shard: arguments.shard,
        intent: if arguments.locked { builder::Intent::Locked } else { builder::Intent::Build },
        ..builder::Options::default()
    };
    let built = match tasks::build(&workspace, &options, |_| true, &stop)? {
        Ok(report) => report,
        Err(status) => return Ok(status),
    };
    let names = tasks::standing(&built);
    let options = Options {
        intent: match (arguments.locked, arguments.check) {
            (true, _) => Intent::Locked,
            (_, true) => Intent::Check,
            _ => Intent::Bake,
        },
        output: match arguments.output {
            Where::Oci => Output::Oci,
            Where::Docker => Output::Docker,
            Where::Registry => Output::Registry,
        },
        platforms: arguments.platform.clone(),
        update_bases: arguments.update_bases,
        force: arguments.force,
    };
    let report = bake(&workspace, &names, &options, &Talk, &stop)?;
    let changed = report.tasks.iter().filter(|task| task.changed).count();
    if arguments.json {
        let mut said = serde_json::to_value(&report)?;
        said["seconds"] = json!(start.elapsed().as_secs_f64());
        output::print(&format!("{said}\n"))?;
    } else {
        output::print(&text(arguments, &report))?;
        let seconds = start.elapsed().as_secs_f64();
        let word = if arguments.check { "to bake" } else { "baked" };
        output::print(&format!(
            "{changed} {word}, {} up to date in {seconds:.1} s\n",
            report.tasks.len() - changed
        ))?;
    }
    Ok(if arguments.check && changed > 0 { exit::FAILURE } else { exit::SUCCESS })
}

fn text(arguments: &Arguments, report: &Report) -> String {
    let mut text = String::new();
    for base in &report.bases {
        let before =
            base.before.as_deref().map_or_else(|| "new".to_owned(), |before| format!("was {before}"));
        text.push_str(&format!(
            "{} {} is {} ({before})\n",
            paint_answer("      base", YELLOW),
            base.name,
            base.now
        ));
    }
    for task in &report.tasks {
        let (word, color) = match (task.changed, arguments.check) {
            (true, true) => ("     stale", YELLOW),
            (true, false) => ("     baked", GREEN),
            (false, _) => ("up to date", GREEN),
        };
        text.push_str(&format!("{} {}\n", paint_answer(word, color), task.name));
        for image in task.images.values().filter(|_| task.changed) {
            text.push_str(&format!("{:>10}   {image}\n", ""));
        }
        if let Some(aside) = &task.aside {
            text.push_str(&format!("{:>10}   what no bake wrote is now in {aside}\n", ""));
        }
    }
    text
}
