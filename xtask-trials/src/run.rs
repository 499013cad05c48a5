//! `cargo xtask run`.

use xtask::exit::Status;

/// Run an experiment through Harbor and keep its trials in the ledger.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask run` is not there yet")
}
