//! `cargo xtask bench`: commands that measure what has to do with trials.

mod collate;
mod ledger;
mod sidecar;

use clap::Subcommand;
use xtask::exit::Status;

/// Measure how fast this is, beside what it is held against.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure how trials are collated into sample results.
    Collate(collate::Arguments),
    /// Measure imports into the ledger and what is read from it.
    Ledger(ledger::Arguments),
    /// Measure the eval sidecar.
    Sidecar(sidecar::Arguments),
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Status> {
    match &arguments.command {
        Command::Collate(arguments) => collate::run(arguments),
        Command::Ledger(arguments) => ledger::run(arguments),
        Command::Sidecar(arguments) => sidecar::run(arguments),
    }
}
