//! Who watches over a command is killed: nothing that the command left in the background goes on. Without a user and a group
//! of its own, so that nothing but descent tells whose a process is.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use taskwright_testing::test;

use crate::common::{TASKWRIGHT, folder};

/// A command that runs in the background, in a session of its own, and one that waits for it.
const DAEMON: &str = "setsid sleep 1000 & echo $! $PPID; wait";

/// The outer process, the one that watches, and the daemon.
struct Watched {
    outer: Child,
    watcher: u32,
    daemon: u32,
}

fn start(folder: &Path) -> Watched {
    let limits = json!({
        "memory": 1 << 30, "processes": 64, "file": 1 << 20, "disk": 1 << 20, "files": 10,
        "processor_seconds": 100, "seconds": 100, "network": "nothing",
    });
    let order = json!({
        "user": null, "limits": limits, "temporary": folder, "read": [], "landlock": false, "seccomp": false,
        "environment": {"PATH": "/usr/bin:/bin"}, "report": folder.join("report"),
    });
    let mut outer = Command::new(TASKWRIGHT)
        .args(["sandbox", "--", "sh", "-c", DAEMON])
        .env("TASKWRIGHT_SANDBOX", order.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(outer.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let numbers: Vec<u32> = line.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [daemon, watcher] = numbers[..] else { panic!("two numbers, not {line:?}") };
    Watched { outer, watcher, daemon }
}

fn signal(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(process).unwrap()).unwrap(), signal).unwrap();
}

/// Whether a process is gone within a while; one that nobody has waited for is gone.
fn is_gone(process: u32) -> bool {
    let start = Instant::now();
    let lives = || {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    };
    while lives() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    !lives()
}

#[test]
fn a_killed_watcher_leaves_no_process() {
    let folder = folder();
    let mut watched = start(folder.path());
    assert_ne!(watched.watcher, watched.outer.id());
    signal(watched.watcher, Signal::KILL);
    assert_eq!(watched.outer.wait().unwrap().code(), Some(125));
    // When it has returned, and not some time later.
    assert!(!Path::new(&format!("/proc/{}", watched.daemon)).exists());
    // Whoever asked for it reads of a missing report that the watcher was killed.
    assert!(!folder.path().join("report").exists());
}

#[test]
fn the_process_behind_the_watcher_leaves_none_either() {
    let folder = folder();
    let mut watched = start(folder.path());
    signal(watched.outer.id(), Signal::KILL);
    watched.outer.wait().unwrap();
    assert!(is_gone(watched.daemon) && is_gone(watched.watcher));
}

#[test]
fn a_request_to_end_reaches_the_watcher() {
    let folder = folder();
    let mut watched = start(folder.path());
    signal(watched.outer.id(), Signal::TERM);
    assert_eq!(watched.outer.wait().unwrap().code(), Some(137));
    assert!(!Path::new(&format!("/proc/{}", watched.daemon)).exists());
    assert!(folder.path().join("report").exists());
}
