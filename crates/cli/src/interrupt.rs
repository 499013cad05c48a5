//! Ctrl-C and its like: the first asks the command to stop at the next step, the second ends it at once. Under `nohup` the end
//! of the terminal's session asks for nothing.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// A flag that is set when the process is asked to stop.
pub fn flag() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if signal == SIGHUP && is_ignored(signal, &status) {
            continue;
        }
        // In this order: the second signal finds the flag set by the first.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .context("listening for signals")?;
    }
    Ok(stop)
}

/// Whether a process ignores a signal, by what the kernel says of its state.
fn is_ignored(signal: i32, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_a_process_ignores_is_seen() {
        let status = |trap: &str| {
            let script = format!("trap {trap}; cat /proc/self/status");
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert!(is_ignored(SIGHUP, &status("'' HUP")));
        assert!(!is_ignored(SIGTERM, &status("'' HUP")));
        assert!(!is_ignored(SIGHUP, ""));
    }
}
