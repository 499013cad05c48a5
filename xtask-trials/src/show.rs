//! `cargo xtask show`.

use xtask::exit::Status;

/// Show all that is known of a trial.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask show` is not there yet")
}
