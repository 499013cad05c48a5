//! Ctrl-C and its like: the build stops at the next step, says so, and leaves nothing half done.

use std::time::{Duration, Instant};

use camino::Utf8Path;
use rustix::process::Signal;
use taskwright_builder::Boundary;
use taskwright_testing::test;

use crate::support::child::{Act, Builder, PATIENCE, Running};
use crate::support::{TestSpace, look, summary};

/// Interrupts a build that replaces outputs when it has got to a boundary.
fn interrupted(signal: Signal, boundary: Boundary) {
    let what = format!("{signal:?} at {boundary:?}");
    let space = TestSpace::new();
    space.settle();
    let old = look::contents(&space.workspace.out);
    for name in ["alpha", "beta"] {
        space.write(format!("harbor-tasks/{name}/baseline/main.py"), "new");
        space.write(format!("harbor-tasks/{name}/instruction.md"), "New.\n");
    }
    space.commit("Change everything");

    let running = Builder::new(&space).jobs(1).at(boundary, 0, Act::Hold).start();
    running.expect(&format!("boundary {boundary:?}"));
    running.signal(signal);
    running.let_go();
    let answer = running.wait();

    assert_eq!(answer.code, Some(130), "{what}: {:?}", answer.lines);
    assert!(!space.out(".taskwright-staging").exists(), "{what}");
    let standing = look::contents(&space.workspace.out);
    let report = space.build();
    assert!(report.is_success(), "{what}: {}", space.failures(&report));
    let new = look::contents(&space.workspace.out);
    assert_ne!(old, new);
    for name in ["alpha", "beta"] {
        let of = |contents: &look::Contents| -> Vec<(String, String)> {
            let inside = |path: &str| path == name || path.starts_with(&format!("{name}/"));
            contents.iter().filter(|(path, _)| inside(path)).map(|(k, v)| (k.clone(), v.clone())).collect()
        };
        let whole = of(&standing) == of(&old) || of(&standing) == of(&new);
        assert!(whole, "{what}: `{name}` is neither old nor new");
    }
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date", "{what}");
}

#[test]
fn an_interrupt_ends_the_build_at_the_next_step() {
    for boundary in [
        Boundary::Started,
        Boundary::Planned,
        Boundary::Baseline,
        Boundary::Dataset,
        Boundary::Binary,
        Boundary::Rendered,
        Boundary::Staged,
    ] {
        interrupted(Signal::INT, boundary);
    }
}

#[test]
fn a_request_to_terminate_does_the_same() {
    interrupted(Signal::TERM, Boundary::Baseline);
    interrupted(Signal::TERM, Boundary::Staged);
}

/// The number that a program wrote to a file when it had been started.
fn started(marker: &Utf8Path, running: &Running) -> i32 {
    let begun = Instant::now();
    loop {
        if let Some(id) = std::fs::read_to_string(marker).ok().and_then(|id| id.trim().parse().ok()) {
            return id;
        }
        assert!(begun.elapsed() < PATIENCE, "{:?}", running.lines());
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn an_interrupt_while_the_binary_is_compiled_is_no_failure_of_it() {
    let space = TestSpace::with(&["alpha"]);
    let marker = space.path("target/compiling");
    space.write_executable("target/path/cargo", format!("#!/bin/sh\necho $$ > '{marker}'\nexec sleep 600\n"));
    space.write("target/sources/Cargo.toml", "");
    let path = format!("{}:{}", space.path("target/path"), std::env::var("PATH").unwrap());
    let running = Builder::new(&space).env("PATH", path).compiling(space.path("target/sources")).start();
    started(&marker, &running);
    // As a terminal does: cargo hears it too.
    rustix::process::kill_process_group(running.id(), Signal::INT).unwrap();
    let answer = running.wait_for(PATIENCE).expect("the build waits for cargo");
    assert_eq!(answer.code, Some(130), "{:?}", answer.lines);
    assert!(!answer.lines.iter().any(|line| line.contains("does not compile")), "{:?}", answer.lines);
}

#[test]
fn an_interrupt_while_git_archives_ends_git_too() {
    let space = TestSpace::with(&["alpha"]);
    let marker = space.path("target/archiving");
    let script = format!(
        "#!/bin/sh\nfor word; do [ \"$word\" = archive ] && {{ echo $$ > '{marker}'; exec sleep 600; }}; done\nexec {} \"$@\"\n",
        which_git()
    );
    space.write_executable("target/path/git", script);
    let path = format!("{}:{}", space.path("target/path"), std::env::var("PATH").unwrap());
    let running = Builder::new(&space).env("PATH", path).start();
    let archiving = started(&marker, &running);
    running.signal(Signal::INT);
    // Git would go on for ten minutes.
    let answer = running.wait_for(PATIENCE).expect("the build waits for git");
    assert_eq!(answer.code, Some(130), "{:?}", answer.lines);
    let pid = rustix::process::Pid::from_raw(archiving).unwrap();
    assert!(rustix::process::test_kill_process(pid).is_err(), "git is still there");
    assert!(!space.out("alpha").exists());
    assert!(!space.out(".taskwright-staging").exists());
    assert_eq!(summary(&space.build()), "alpha: built");
}

fn which_git() -> String {
    let found = std::process::Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
    String::from_utf8(found.stdout).unwrap().trim().to_owned()
}

#[test]
fn an_interrupt_ends_the_waiting_for_another_build() {
    let space = TestSpace::new();
    let first = Builder::new(&space).at(Boundary::Planned, 0, Act::Hold).start();
    first.expect("boundary Planned");
    let second = Builder::new(&space).start();
    second.expect("waiting for");
    second.signal(Signal::INT);
    // The first build holds its place until it is let go.
    let ended = second.wait_for(PATIENCE);
    first.let_go();
    assert_eq!(first.wait().code, Some(0));
    let answer = ended.expect("Ctrl-C does not end the waiting");
    assert_eq!(answer.code, Some(130), "{:?}", answer.lines);
}

#[test]
fn a_second_interrupt_ends_the_build_at_once() {
    let space = TestSpace::new();
    let mut running = Builder::new(&space).at(Boundary::Baseline, 0, Act::Hold).start();
    running.expect("boundary Baseline");
    // Signals that come before the one before them was heard are one with it, and nothing says when that is: they are
    // sent until two have been heard. The build itself holds for ever.
    let started = Instant::now();
    while running.is_running() {
        assert!(started.elapsed() < PATIENCE, "the second interrupt is not heard");
        running.signal(Signal::INT);
        std::thread::sleep(Duration::from_millis(5));
    }
    let answer = running.wait();
    assert_eq!(answer.code, Some(130), "{:?}", answer.lines);
    assert_eq!(summary(&space.build()), "alpha: built, beta: built");
}
