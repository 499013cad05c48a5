//! `cargo xtask`: the command line of Taskwright. It parses arguments and prints; what it does is in the crates.
//!
//! Only what a first build needs is compiled into it. The commands that make and read trials are in the package
//! `xtask-trials`, which is compiled when one of them is first called ([`trials`]).

pub mod bench;
mod build_tasks;
mod clean;
mod completions;
mod doctor;
pub mod exit;
pub mod interrupt;
mod new;
pub mod output;
mod schema;
mod trials;
pub mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The declarative build system for Harbor tasks.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, after_help = exit::HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build the task directories that the specs in harbor-tasks/ describe.
    BuildTasks(build_tasks::Arguments),
    /// Make the folder of a new spec, with an example that builds at once.
    New(new::Arguments),
    /// Say what this machine lacks for building, baking and running tasks, and how to get it.
    Doctor(doctor::Arguments),
    /// Remove the built tasks, the store, or what the store holds without need.
    Clean(clean::Arguments),
    /// Print the JSON Schema of spec.toml, which editors complete and check specs with.
    Schema(schema::SchemaArguments),
    /// Write the generated pages of docs/, or check that they are current.
    Reference(schema::ReferenceArguments),
    #[command(flatten)]
    Trials(trials::Command),
    /// Print the completions for a shell.
    Completions(completions::Arguments),
    /// Measure how fast this is, beside what it is held against.
    Bench(bench::Arguments),
}

/// Runs the command that the process was called with.
pub fn main() -> ExitCode {
    let arguments: Arguments = match exit::parse() {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let result = match arguments.command {
        Command::BuildTasks(arguments) => build_tasks::run(&arguments),
        Command::New(arguments) => new::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Clean(arguments) => clean::run(&arguments),
        Command::Schema(arguments) => schema::schema(&arguments),
        Command::Reference(arguments) => schema::reference(&arguments),
        Command::Trials(command) => trials::run(&command),
        Command::Completions(arguments) => completions::run::<Arguments>(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    };
    exit::code(result)
}
