//! The command line of Taskwright, `cargo xtask`. It parses arguments and prints; what it does is in the crates.
//!
//! Only what a first build needs is compiled into it without features ([`commands`] says which command needs which).

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

mod address;
#[cfg(feature = "trials")]
mod bake;
mod build_tasks;
mod clean;
pub mod commands;
#[cfg(feature = "trials")]
mod compare;
mod completions;
mod diff;
mod doctor;
#[cfg(feature = "eval")]
mod eval;
pub mod exit;
#[cfg(feature = "trials")]
mod export;
mod from_here;
#[cfg(feature = "eval")]
mod gateway;
#[cfg(feature = "trials")]
mod gc;
mod hand_over;
#[cfg(feature = "trials")]
mod import;
#[cfg(feature = "trials")]
mod import_job;
mod init;
pub mod interrupt;
#[cfg(feature = "trials")]
mod leaderboard;
#[cfg(feature = "eval")]
mod ledger;
mod lint;
mod man;
mod migrate;
mod new;
pub mod output;
#[cfg(feature = "trials")]
mod output_file;
#[cfg(feature = "trials")]
mod provenance;
#[cfg(feature = "trials")]
mod release;
#[cfg(feature = "trials")]
mod report;
#[cfg(feature = "trials")]
mod run;
mod runs_on;
mod schema;
#[cfg(feature = "trials")]
mod selection;
mod set;
#[cfg(feature = "trials")]
mod show;
#[cfg(feature = "trials")]
mod status;
#[cfg(feature = "eval")]
mod tasks;
#[cfg(feature = "trials")]
mod trials;
#[cfg(feature = "eval")]
mod validate;
#[cfg(feature = "trials")]
mod verify;
pub mod workspace;

use std::process::ExitCode;

/// Runs the command that the process was called with.
pub fn main() -> ExitCode {
    match commands::command().try_get_matches() {
        Ok(matches) => exit::code(commands::run(&matches)),
        Err(error) => exit::refuse(&error),
    }
}
