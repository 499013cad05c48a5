//! `cargo xtask export`.

use xtask::exit::Status;

/// Write the trials as Parquet, CSV or JSON Lines.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask export` is not there yet")
}
