//! `cargo xtask trials`.

use xtask::exit::Status;

/// List the trials of the ledger.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask trials` is not there yet")
}
