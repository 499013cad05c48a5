//! Two builds at once in one workspace: the second waits, says for whom, and both end right.

use taskwright_builder::Boundary;
use taskwright_testing::test;

use crate::support::child::{Act, Builder};
use crate::support::{TestSpace, look, summary};

#[test]
fn the_second_build_waits_and_says_for_whom() {
    let space = TestSpace::new();
    let first = Builder::new(&space).at(Boundary::Staged, 0, Act::Hold).start();
    first.expect("boundary Staged");
    let second = Builder::new(&space).start();
    second.expect("waiting for");
    assert_eq!(second.lines(), [format!("waiting for process {}", first.child.id())]);
    assert!(!space.out("beta").exists() || !space.out("alpha").exists());
    first.let_go();

    let (first, second) = (first.wait(), second.wait());

    let said = |lines: &[String]| {
        let lines: Vec<_> = lines.iter().filter(|line| line.contains(": ")).cloned().collect();
        lines.join(", ")
    };
    assert_eq!((first.code, second.code), (Some(0), Some(0)));
    assert_eq!(said(&first.lines), "alpha: built, beta: built");
    assert_eq!(said(&second.lines), "alpha: up to date, beta: up to date");
}

#[test]
fn a_build_whose_predecessor_was_killed_does_not_wait() {
    let space = TestSpace::new();
    let answer = Builder::new(&space).at(Boundary::Staged, 0, Act::Kill).run();
    assert_eq!(answer.code, None);
    let answer = Builder::new(&space).run();
    assert_eq!(answer.code, Some(0));
    assert!(!answer.lines.iter().any(|line| line.contains("waiting")), "{:?}", answer.lines);
}

#[test]
fn many_builds_at_once_end_in_one_right_state() {
    let space = TestSpace::with(&["alpha", "beta", "gamma"]);
    space.build();
    let good = look::contents(&space.workspace.out);
    let lock = space.read("harbor-tasks/taskwright.lock");
    space.remove("target");
    let running: Vec<_> = (0..6).map(|_| Builder::new(&space).start()).collect();
    let built: usize = running
        .into_iter()
        .map(|running| {
            let answer = running.wait();
            assert_eq!(answer.code, Some(0), "{:?}", answer.lines);
            answer.lines.iter().filter(|line| line.ends_with(": built")).count()
        })
        .sum();
    assert_eq!(built, 3, "each task is built once");
    assert_eq!(look::difference(&good, &look::contents(&space.workspace.out)), "");
    assert_eq!(space.read("harbor-tasks/taskwright.lock"), lock);
}

#[test]
fn an_input_that_changes_while_it_is_built_is_built_again() {
    let space = TestSpace::with(&["alpha"]);
    let running = Builder::new(&space).at(Boundary::Rendered, 0, Act::Hold).start();
    running.expect("boundary Rendered");
    space.write("harbor-tasks/alpha/instruction.md", "Other.\n");
    running.let_go();
    assert_eq!(running.wait().code, Some(0));
    assert_eq!(summary(&space.build()), "alpha: built");
    let built = std::fs::read_to_string(space.out("alpha/instruction.md")).unwrap();
    assert!(built.starts_with("Other."), "{built}");
}

#[test]
fn a_spec_that_changes_while_it_is_built_is_built_again() {
    let space = TestSpace::with(&["alpha"]);
    let running = Builder::new(&space).at(Boundary::Planned, 0, Act::Hold).start();
    running.expect("boundary Planned");
    space.edit("harbor-tasks/alpha/spec.toml", "Improve", "Do not improve");
    running.let_go();
    assert_eq!(running.wait().code, Some(0));
    assert_eq!(summary(&space.build()), "alpha: built");
    let built = std::fs::read_to_string(space.out("alpha/task.toml")).unwrap();
    assert!(built.contains("Do not improve"), "{built}");
}
