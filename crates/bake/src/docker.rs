//! Calls of `docker`.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use taskwright_base::process::{self, Limits, NoOutput, Output};
use taskwright_base::{Error, Result};

/// Runs a command of Docker's to its end, which may be one that it complains of.
///
/// # Errors
/// It cannot be run, does not end in time, or is not to be waited for any longer.
pub fn run(command: &mut Command, patience: Duration, stop: &AtomicBool) -> Result<Output> {
    let stop = || stop.load(Ordering::Relaxed);
    process::run(command, &Limits { stop: &stop, ..Limits::of(patience) }).map_err(|no| match no {
        NoOutput::Failed(error) => Error::new(format!("`docker` cannot be run: {error}"))
            .hint("`cargo xtask doctor --for bake` says what baking needs, and how to get it"),
        NoOutput::TimedOut(time) => {
            Error::new(format!("`docker` did not end within {} hours", time.as_secs() / 3600))
        }
        NoOutput::Stopped => Error::interrupted(),
    })
}
