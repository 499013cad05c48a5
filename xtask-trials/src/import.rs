//! `cargo xtask import`.

use xtask::exit::Status;

/// Take trials that Harbor has run into the ledger.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask import` is not there yet")
}
