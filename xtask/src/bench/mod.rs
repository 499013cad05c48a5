//! `cargo xtask bench`: commands that measure.

mod build;
mod child;
mod clone;
mod cold;
mod context;
mod dataset;
mod folder;
mod generate;
mod large;
mod ninja;
mod peers;
mod process;
mod quiet;
mod repository;
mod rows;
mod table;
mod vero;
mod warm;

use clap::Subcommand;

use crate::exit::{self, Status};

/// Measure how fast this is, beside what it is held against.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure builds of a generated workspace, beside plain file operations and other build systems.
    Build(build::Arguments),
    /// Measure one thing.
    #[command(hide = true)]
    Child(child::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    match &arguments.command {
        Command::Build(arguments) => build::run(arguments),
        Command::Child(arguments) => child::run(arguments).map(|()| exit::SUCCESS),
    }
}
