//! `cargo xtask bench`: commands that measure.

mod build;
mod child;
mod clone;
mod cold;
mod context;
mod dataset;
pub mod folder;
mod generate;
mod large;
mod ninja;
mod peers;
pub mod process;
pub mod quiet;
mod repository;
pub mod rows;
pub mod table;
mod vero;
mod warm;

use std::ffi::OsString;

use clap::Subcommand;

use crate::exit::{self, Status};
use crate::trials;

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
    /// Measure how trials are collated into sample results.
    #[command(disable_help_flag = true)]
    Collate(trials::Rest),
    /// Measure imports into the ledger and what is read from it.
    #[command(disable_help_flag = true)]
    Ledger(trials::Rest),
    /// Measure the eval sidecar.
    #[command(disable_help_flag = true)]
    Sidecar(trials::Rest),
    /// Measure one thing.
    #[command(hide = true)]
    Child(child::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    match &arguments.command {
        Command::Build(arguments) => build::run(arguments),
        Command::Collate(rest) => delegate("collate", rest),
        Command::Ledger(rest) => delegate("ledger", rest),
        Command::Sidecar(rest) => delegate("sidecar", rest),
        Command::Child(arguments) => child::run(arguments).map(|()| exit::SUCCESS),
    }
}

fn delegate(name: &str, rest: &trials::Rest) -> anyhow::Result<Status> {
    trials::hand_over(&[OsString::from("bench"), OsString::from(name)], rest.words())
}
