//! `cargo xtask`: the command line of Taskwright. It parses arguments and prints; what it does is in the crates.

mod build_tasks;
mod exit;
mod interrupt;
mod output;
mod workspace;

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
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { exit::USAGE.into() } else { ExitCode::SUCCESS };
        }
    };
    let result = match arguments.command {
        Command::BuildTasks(arguments) => build_tasks::run(&arguments),
    };
    exit::code(result)
}
