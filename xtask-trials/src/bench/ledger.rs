//! `cargo xtask bench ledger`.

use xtask::exit::Status;

/// Measure imports into the ledger and what is read from it.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask bench ledger` is not there yet")
}
