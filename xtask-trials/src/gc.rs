//! `cargo xtask gc`.

use xtask::exit::Status;

/// Remove evidence that no trial refers to.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask gc` is not there yet")
}
