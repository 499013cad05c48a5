//! `cargo xtask leaderboard`.

use xtask::exit::Status;

/// Rank the agents by their trials.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask leaderboard` is not there yet")
}
