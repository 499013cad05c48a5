//! `cargo xtask status`.

use xtask::exit::Status;

/// Say how far an experiment is, whoever runs it.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask status` is not there yet")
}
