//! `cargo xtask eval`.

use xtask::exit::Status;

/// Score a candidate on the samples of a task.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask eval` is not there yet")
}
