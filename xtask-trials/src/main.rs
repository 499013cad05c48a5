//! The commands of `cargo xtask` that make and read trials. `cargo xtask` hands them over to this binary, so that a first
//! build of tasks need not wait for a database to be compiled.

mod bench;
mod compare;
mod eval;
mod export;
mod gc;
mod import;
mod leaderboard;
mod ledger;
mod provenance;
mod report;
mod run;
mod selection;
mod show;
mod status;
mod table;
mod take_in;
mod trials;
mod verify;
mod whole;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::exit;

/// The end of every help text.
const HELP: &str = "Exit status: 0 all went well, 1 something failed or is not as it should be, 2 the command was \
                    called wrongly, 3 it was done, but part of it is missing, was refused or contradicts what was \
                    there, 130 interrupted.";

/// The commands that make and read trials.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, after_help = HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Score a candidate on the samples of a task.
    Eval(eval::Arguments),
    /// Run an experiment through Harbor and keep its trials in the ledger.
    Run(run::Arguments),
    /// Say how far an experiment is, whoever runs it.
    Status(status::Arguments),
    /// Take trials that Harbor has run into the ledger.
    Import(import::Arguments),
    /// List the trials of the ledger.
    Trials(trials::Arguments),
    /// Show all that is known of a trial.
    Show(show::Arguments),
    /// Rank the agents by their trials.
    Leaderboard(leaderboard::Arguments),
    /// Compare two agents on the tasks that both have tried.
    Compare(compare::Arguments),
    /// Write a page of HTML that shows the ledger.
    Report(report::Arguments),
    /// Write the trials as Parquet, CSV or JSON Lines.
    Export(export::Arguments),
    /// Check every digest of the ledger and its evidence.
    Verify(verify::Arguments),
    /// Remove evidence that no trial refers to.
    Gc(gc::Arguments),
    /// Measure how fast this is, beside what it is held against.
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    let arguments: Arguments = match exit::parse() {
        Ok(arguments) => arguments,
        Err(status) => return status,
    };
    let result = match arguments.command {
        Command::Eval(arguments) => eval::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Trials(arguments) => trials::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Leaderboard(arguments) => leaderboard::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Gc(arguments) => gc::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
    };
    exit::code(result)
}
