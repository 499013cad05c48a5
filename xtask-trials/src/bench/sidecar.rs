//! `cargo xtask bench sidecar`.

use xtask::exit::Status;

/// Measure the eval sidecar.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask bench sidecar` is not there yet")
}
