//! `cargo xtask report`.

use xtask::exit::Status;

/// Write a page of HTML that shows the ledger.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask report` is not there yet")
}
