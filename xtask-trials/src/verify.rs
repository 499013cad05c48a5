//! `cargo xtask verify`.

use xtask::exit::Status;

/// Check every digest of the ledger and its evidence.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask verify` is not there yet")
}
