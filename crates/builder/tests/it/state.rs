//! What is remembered from build to build: little is written for a little edit, and a file cut anywhere is survived.

use std::fs;

use taskwright_testing::test;

use crate::support::{TestSpace, look, summary, wait_a_tick};

const TASKS: [&str; 12] = [
    "task-0", "task-1", "task-2", "task-3", "task-4", "task-5", "task-6", "task-7", "task-8", "task-9",
    "task-10", "task-11",
];

/// The bytes of the state file.
fn state(space: &TestSpace) -> Vec<u8> {
    fs::read(space.workspace.state_file()).unwrap()
}

/// Edits one task and builds.
fn edit(space: &TestSpace, revision: usize) -> String {
    space.write("harbor-tasks/task-3/instruction.md", format!("Do it better. {revision}\n"));
    wait_a_tick();
    summary(&space.build())
}

/// A workspace of which nothing is left to be built or to be remembered.
fn settled() -> TestSpace {
    let space = TestSpace::with(&TASKS);
    space.build();
    space.settle();
    space
}

#[test]
fn an_edit_adds_to_the_state_and_many_write_it_anew() {
    let space = settled();
    let whole = state(&space).len();
    let (mut added, mut anew) = (0, 0);
    for revision in 0..12 {
        let before = state(&space);
        let said = edit(&space, revision);
        assert_eq!(said.matches("up to date").count(), TASKS.len() - 1, "{said}");
        let after = state(&space);
        if after.starts_with(&before) {
            added += 1;
            assert!(after.len() - before.len() < whole / 4, "{} bytes more than {whole}", after.len());
        } else {
            anew += 1;
        }
        assert!(after.len() < whole * 3 / 2, "{} bytes after {whole}", after.len());
    }
    assert!(added > anew && anew > 0, "added to {added} times, written anew {anew} times");
    space.settle();
    assert_eq!(summary(&space.build()).matches("up to date").count(), TASKS.len());
}

#[test]
fn a_state_that_is_cut_anywhere_is_survived() {
    let space = settled();
    // As long as it is written anew, there is nothing to cut in two.
    let (old, whole) = (0..12)
        .find_map(|revision| {
            let before = state(&space);
            edit(&space, revision);
            let after = state(&space);
            after.starts_with(&before).then_some((before.len(), after))
        })
        .unwrap();
    let outputs = look::contents(&space.workspace.out);
    let lock = space.read("harbor-tasks/taskwright.lock");
    for length in
        [0, 1, old / 2, old - 1, old, old + 1, old + 8, old + (whole.len() - old) / 2, whole.len() - 1]
    {
        fs::write(space.workspace.state_file(), &whole[..length]).unwrap();
        let report = space.build();
        assert!(report.is_success(), "cut at {length}: {}", space.failures(&report));
        assert_eq!(look::contents(&space.workspace.out), outputs, "cut at {length}");
        assert_eq!(space.read("harbor-tasks/taskwright.lock"), lock, "cut at {length}");
        // Nothing is added behind the cut.
        wait_a_tick();
        let said = summary(&space.build());
        assert_eq!(said.matches("up to date").count(), TASKS.len(), "cut at {length}: {said}");
    }
}

#[test]
fn a_task_that_goes_is_forgotten() {
    let space = settled();
    space.remove("harbor-tasks/task-5");
    assert!(summary(&space.build()).contains("task-5: removed"));
    wait_a_tick();
    let said = summary(&space.build());
    assert!(!said.contains("task-5") && said.matches("up to date").count() == TASKS.len() - 1, "{said}");
}
