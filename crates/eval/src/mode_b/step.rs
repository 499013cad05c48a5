//! One short step of a process of its own, waited for: what it printed if it failed.

use std::time::{Duration, Instant};

use taskwright_harbor::child::{Child, Patience, Start, tail};

use crate::cancel::Cancel;

/// How long a step may take: packages may have to be fetched.
const PATIENCE: Duration = Duration::from_secs(300);
/// How much of what a failing step printed is kept.
const TAIL: usize = 1500;

/// What became of a step.
pub(super) enum Step {
    Done,
    /// With the end of what it printed.
    Failed(String),
    /// We were told to stop.
    Cancelled,
}

/// Takes a step.
pub(super) fn take(start: &Start<'_>, cancel: &Cancel) -> Step {
    let mut child = match Child::start(start) {
        Ok(child) => child,
        Err(error) => return Step::Failed(error.to_string()),
    };
    let began = Instant::now();
    loop {
        match child.poll() {
            Ok(Some(status)) if status.success() => return Step::Done,
            Ok(Some(_)) => return Step::Failed(tail(start.log, TAIL)),
            Ok(None) if cancel.is_cancelled() => return Step::Cancelled,
            Ok(None) if began.elapsed() > PATIENCE => {
                let _ = child.stop(&Patience::default());
                return Step::Failed(format!("not done after {} s", PATIENCE.as_secs()));
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Step::Failed(error.to_string()),
        }
    }
}
