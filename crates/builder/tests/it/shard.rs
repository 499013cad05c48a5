//! A part of the tasks: which it is, and what becomes of the others.

use taskwright_builder::lock::Lock;
use taskwright_builder::{Intent, Options, Report, Status};
use taskwright_testing::test;

use crate::support::{TestSpace, wait_a_tick};

fn part(space: &TestSpace, part: &str, names: &[&str], intent: Intent) -> Report {
    let names = names.iter().map(|&name| name.to_owned()).collect();
    space.build_with(&Options { shard: Some(part.parse().unwrap()), names, intent, ..Options::default() })
}

fn names(report: &Report) -> Vec<&str> {
    report.tasks.iter().map(|task| task.name.as_str()).collect()
}

#[test]
fn the_parts_hold_every_task_once_whatever_stands_already() {
    let space = TestSpace::with(&["a", "b", "c", "d"]);
    assert_eq!(names(&part(&space, "1/3", &[], Intent::Build)), ["a", "d"]);
    wait_a_tick();
    // What is built, and what a build knows of it, moves nothing to another part.
    assert_eq!(names(&part(&space, "2/3", &[], Intent::Build)), ["b"]);
    assert_eq!(names(&part(&space, "1/3", &[], Intent::Build)), ["a", "d"]);
    assert_eq!(names(&part(&space, "3/3", &[], Intent::Build)), ["c"]);
    assert_eq!(names(&part(&space, "5/5", &[], Intent::Build)), [""; 0]);
    // Tasks that are named are divided among themselves.
    assert_eq!(names(&part(&space, "2/2", &["b", "d"], Intent::Build)), ["d"]);
    let lock = std::fs::read(space.workspace.lock_file()).unwrap();
    assert_eq!(Lock::parse(&lock, "").unwrap().tasks.len(), 4);
    space.remove("target");
    space.build();
    assert!(std::fs::read(space.workspace.lock_file()).unwrap() == lock);
}

#[test]
fn a_part_is_held_to_the_lock_and_leaves_the_rest_of_it() {
    let space = TestSpace::with(&["a", "b", "c"]);
    space.build();
    space.edit("harbor-tasks/b/spec.toml", "Improve b", "Better b");
    space.remove("target");
    assert!(part(&space, "1/3", &[], Intent::Locked).is_success());
    assert!(!part(&space, "2/3", &[], Intent::Locked).is_success());
    assert!(part(&space, "3/3", &[], Intent::Locked).is_success());
    assert!(!space.out("b").exists());
    assert!(part(&space, "1/3", &[], Intent::Look).is_success());
    let look = part(&space, "2/3", &[], Intent::Look);
    assert!(matches!(look.tasks[..], [ref b] if matches!(b.status, Status::Stale)), "{look:?}");
    // Its own build changes what the lock says of its own, and of nothing else.
    let before = Lock::read(&space.workspace.lock_file()).unwrap().unwrap();
    assert!(part(&space, "2/3", &[], Intent::Build).is_success());
    let after = Lock::read(&space.workspace.lock_file()).unwrap().unwrap();
    let changed: Vec<_> = after.tasks.iter().filter(|(name, entry)| before.tasks[*name] != **entry).collect();
    assert!(matches!(changed[..], [(name, _)] if name == "b"), "{changed:?}");
}
