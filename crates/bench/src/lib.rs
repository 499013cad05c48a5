//! `cargo xtask bench`: every measurement, in one frame.
//!
//! A measurement is a list of sections of rows. A row has a name that stays, the values found, what stands beside them (a limit,
//! or a peer in the same run) and what is aimed at; [`table`] prints all of them alike.

mod bake;
pub mod build;
mod collate;
mod coverage;
mod frame;
mod gateway;
mod http;
mod ledger;
mod process;
mod quiet;
mod rows;
mod sidecar;
mod table;
mod trials;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use taskwright::exit::{self, Status};

use crate::build::child;
use crate::gateway::upstream;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, after_help = exit::HELP)]
struct Program {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// Measure how fast this is, beside what it is held against.
    Bench(Arguments),
}

#[derive(clap::Args)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure how images are baked, beside `docker compose build` of the same.
    Bake(bake::Arguments),
    /// Measure builds of a generated workspace, beside plain file operations and other build systems.
    Build(build::Arguments),
    /// Measure how trials are collated into sample results.
    Collate(collate::Arguments),
    /// Simulate ledgers, and count how often a stated 95 % holds.
    Coverage(coverage::Arguments),
    /// Measure the gateway, beside the bare upstream.
    Gateway(gateway::Arguments),
    /// Measure imports into the ledger and what is read from it.
    Ledger(ledger::Arguments),
    /// Measure the eval sidecar.
    Sidecar(sidecar::Arguments),
    /// Measure one thing.
    #[command(hide = true)]
    Child(child::Arguments),
    /// Be the upstream of a gateway.
    #[command(hide = true)]
    Upstream(upstream::Arguments),
}

/// Runs the measurement that the process was called for.
pub fn main() -> ExitCode {
    match Program::try_parse() {
        Ok(Program { bench: Bench::Bench(Arguments { command }) }) => exit::code(run(&command)),
        Err(error) => exit::refuse(&error),
    }
}

fn run(command: &Command) -> anyhow::Result<Status> {
    match command {
        Command::Bake(arguments) => bake::run(arguments),
        Command::Build(arguments) => build::run(arguments),
        Command::Collate(arguments) => collate::run(arguments),
        Command::Coverage(arguments) => coverage::run(arguments),
        Command::Gateway(arguments) => gateway::run(arguments),
        Command::Ledger(arguments) => ledger::run(arguments),
        Command::Sidecar(arguments) => sidecar::run(arguments),
        Command::Child(arguments) => child::run(arguments).map(|()| exit::SUCCESS),
        Command::Upstream(arguments) => upstream::run(arguments).map(|()| exit::SUCCESS),
    }
}
