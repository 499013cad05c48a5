//! `cargo xtask compare`.

use xtask::exit::Status;

/// Compare two agents on the tasks that both have tried.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask compare` is not there yet")
}
