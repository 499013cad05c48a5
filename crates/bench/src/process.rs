//! Runs other programs so that they end when the command is asked to stop, together with whatever they started.
//!
//! Not by `taskwright_base::process`, which looks every few milliseconds whether a program has ended: what is measured here ends
//! when the kernel says so.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};

/// How often it is looked whether to stop.
const TICK: Duration = Duration::from_millis(50);

/// What came of a program that succeeded.
#[derive(Debug)]
pub struct Ran {
    /// What it wrote to standard output.
    pub stdout: String,
    /// How long it ran.
    pub seconds: f64,
}

/// Runs a program to its end. One that fails is an error with what it wrote to standard error.
pub fn run(command: &mut Command, stop: &AtomicBool) -> anyhow::Result<Ran> {
    ensure!(!stop.load(Ordering::Relaxed), "interrupted");
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let started = Instant::now();
    let child = command.spawn().with_context(|| format!("starting `{name}`"))?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (ended, watched) = mpsc::channel::<()>();
    let output = thread::scope(|scope| {
        scope.spawn(move || {
            while watched.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if let Some(group) = group.filter(|_| stop.load(Ordering::Relaxed)) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
            }
        });
        let output = child.wait_with_output();
        drop(ended);
        output
    });
    let seconds = started.elapsed().as_secs_f64();
    let output = output.with_context(|| format!("waiting for `{name}`"))?;
    ensure!(!stop.load(Ordering::Relaxed), "interrupted");
    if !output.status.success() {
        bail!("`{name}` failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    let stdout = String::from_utf8(output.stdout).with_context(|| format!("reading what `{name}` said"))?;
    Ok(Ran { stdout, seconds })
}

/// Whether a program can be started by its name.
pub fn is_installed(name: &str) -> bool {
    let started = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    started.map_or_else(|error| error.kind() != ErrorKind::NotFound, |_| true)
}

/// The cargo that runs this command, or the one on PATH.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_ends_with_what_it_started_when_asked_to_stop() {
        let stop = AtomicBool::new(false);
        let started = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(200));
                stop.store(true, Ordering::Relaxed);
            });
            // The grandchild holds the pipe open: this ends only when it does.
            let error = run(Command::new("sh").args(["-c", "sleep 60 & wait"]), &stop).unwrap_err();
            assert_eq!(error.to_string(), "interrupted");
        });
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_failure_says_what_the_program_said() {
        let error =
            run(Command::new("sh").args(["-c", "echo no such luck >&2; exit 3"]), &AtomicBool::new(false));
        assert!(error.unwrap_err().to_string().ends_with("no such luck"));
    }
}
