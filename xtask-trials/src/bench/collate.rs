//! `cargo xtask bench collate`.

use xtask::exit::Status;

/// Measure how trials are collated into sample results.
#[derive(clap::Args)]
pub struct Arguments {}

/// Runs the command.
pub fn run(_arguments: &Arguments) -> anyhow::Result<Status> {
    anyhow::bail!("`cargo xtask bench collate` is not there yet")
}
