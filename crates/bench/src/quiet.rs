//! Waits until the machine has nothing else to do, and says how busy it is.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;

use taskwright::output::say;

/// Below this share of all processors a machine counts as quiet.
const QUIET: f64 = 0.05;
/// How long it is looked at.
const WINDOW: Duration = Duration::from_millis(500);
/// So many quiet windows in a row are needed.
const WINDOWS: usize = 2;

/// Waits for a quiet machine, but not for longer than allowed. Returns the share of its processors that was busy last.
pub fn wait(allowed: Duration, stop: &AtomicBool) -> anyhow::Result<f64> {
    let started = Instant::now();
    let mut quiet = 0;
    loop {
        let busy = busy()?;
        quiet = if busy < QUIET { quiet + 1 } else { 0 };
        if quiet == WINDOWS || stop.load(Ordering::Relaxed) {
            return Ok(busy);
        }
        if started.elapsed() >= allowed {
            say(&format!("the machine is not quiet: {:.0} % busy with other things", busy * 100.0));
            return Ok(busy);
        }
    }
}

/// The share of the processors' time that is used now.
pub fn busy() -> anyhow::Result<f64> {
    let (used, all) = times()?;
    thread::sleep(WINDOW);
    let (used_after, all_after) = times()?;
    Ok((used_after - used) / (all_after - all).max(1.0))
}

/// Ticks of all processors since the machine started: those that were used, and all.
fn times() -> anyhow::Result<(f64, f64)> {
    let text = fs::read_to_string("/proc/stat").context("reading /proc/stat")?;
    parse(&text).context("/proc/stat does not begin with the times of all processors")
}

fn parse(text: &str) -> Option<(f64, f64)> {
    let numbers = text.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    // After the eighth come times of guests, which are counted in the first two.
    let numbers: Vec<f64> = numbers.take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let idle = numbers.get(3)? + numbers.get(4)?;
    let all: f64 = numbers.iter().sum();
    Some((all - idle, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_waiting_for_the_disk_are_not_busy() {
        let (used, all) = parse("cpu  10 1 5 100 20 2 3 4 9 9\ncpu0 1\n").unwrap();
        assert!((used - 25.0).abs() < 1e-9 && (all - 145.0).abs() < 1e-9);
        assert!(parse("intr 1\n").is_none());
    }
}
