//! `taskwright`, the one binary of a task's containers: it answers what it is and whether it is well.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The command of a Taskwright task's containers.
#[derive(Parser)]
#[command(name = "taskwright", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Says whether this container is ready to be used; exit status 0 if it is.
    Health,
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Health => {
            println!("ok");
            ExitCode::SUCCESS
        }
    }
}
