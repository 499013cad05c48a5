//! `cargo xtask bench build`: generates workspaces, measures builds of them and prints tables.

pub mod child;
mod clone;
mod cold;
mod context;
mod dataset;
mod generate;
mod large;
mod ninja;
mod peers;
mod repository;
mod vero;
mod warm;

use anyhow::ensure;
use clap::ValueEnum;

use self::context::Context;
use self::generate::Shape;
use crate::frame::{Common, Place};
use crate::process;
use crate::rows::Section;
use taskwright::exit::Status;
use taskwright::output::say;
use taskwright::workspace;

/// Measure builds of a generated workspace, beside plain file operations and other build systems.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  cargo xtask bench build\n  cargo xtask bench build --specs 100 --runs 3\n  \
                        cargo xtask bench build --large --fresh-clone --markdown\n  \
                        cargo xtask bench build --only thirty,dataset --json"
)]
pub struct Arguments {
    /// How many specs are generated.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u16).range(10..10_000))]
    specs: u16,
    /// How often each thing is measured.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u8).range(1..100))]
    runs: u8,
    #[command(flatten)]
    place: Place,
    /// Measure ten times as many specs too.
    #[arg(long)]
    large: bool,
    /// Measure the first build in a fresh clone of this repository too; it compiles everything.
    #[arg(long)]
    fresh_clone: bool,
    /// Measure these alone.
    #[arg(long, value_enum, value_delimiter = ',', conflicts_with_all = ["large", "fresh_clone"])]
    only: Vec<Part>,
    #[command(flatten)]
    common: Common,
}

/// A part of the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// This repository, with nothing to do.
    Repository,
    /// About thirty files a task.
    Thirty,
    /// Baselines of 200 files, datasets of 20.
    Whole,
    /// A dataset file of 2 GiB.
    Dataset,
    /// Ten times as many specs.
    Large,
    /// The first build in a fresh clone.
    FreshClone,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    let repository = workspace::this()?.root;
    let folder = arguments.place.folder()?;
    arguments.common.run(|clock| {
        let context = Context {
            folder,
            program: repository.join("target/release/xtask"),
            bench: repository.join("target/release/taskwright-bench"),
            repository,
            specs: usize::from(arguments.specs),
            runs: usize::from(arguments.runs),
            clock: clock.clone(),
        };
        measure(&context, &parts(arguments))
    })
}

/// Those asked for, in the order in which they disturb each other least: what fails early or is short comes first,
/// and the compilation that leaves the disk full of fresh files comes last.
fn parts(arguments: &Arguments) -> Vec<Part> {
    let wanted = |part: &Part| match part {
        _ if !arguments.only.is_empty() => arguments.only.contains(part),
        Part::Large => arguments.large,
        Part::FreshClone => arguments.fresh_clone,
        _ => true,
    };
    Part::value_variants().iter().copied().filter(wanted).collect()
}

fn measure(context: &Context, parts: &[Part]) -> anyhow::Result<Vec<Section>> {
    say("building the program that is measured");
    let mut build = process::cargo();
    build.args(["build", "--release", "--package", "xtask", "--package", "taskwright-bench", "--target-dir"]);
    context.run(build.arg(context.repository.join("target")).current_dir(&context.repository))?;
    ensure!(context.program.is_file(), "{} was not built", context.program);
    parts
        .iter()
        .map(|part| match part {
            Part::Repository => repository::measure(context),
            Part::Thirty => shape(context, Shape::Thirty),
            Part::Whole => shape(context, Shape::Whole),
            Part::Dataset => dataset::measure(context),
            Part::Large => large::measure(context),
            Part::FreshClone => clone::measure(context),
        })
        .collect()
}

fn shape(context: &Context, shape: Shape) -> anyhow::Result<Section> {
    let workspace = context.generate(shape, context.specs)?;
    let vero = vero::measure(context, &workspace)?;
    let mut rows = cold::measure(context, &workspace, shape.word(), &vero)?;
    let (warm, files) = warm::measure(context, &workspace, shape.word(), &vero)?;
    rows.extend(warm);
    let (baseline, dataset) = shape.files();
    let title = format!(
        "{} tasks of {} files (baselines of {baseline} files, datasets of {dataset})",
        context.specs,
        files / context.specs,
    );
    Ok(Section { title, rows })
}
