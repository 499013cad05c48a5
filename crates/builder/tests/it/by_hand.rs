//! A task that somebody wrote is built as it is, beside those that specs describe.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_builder::{Intent, Options};
use taskwright_harbor::digest::content_digest;
use taskwright_harbor::names::shorten;
use taskwright_testing::{corpus, test};

use crate::support::{TestSpace, changes, look, summary, task};

const TASK: &str = "[task]\nname = \"org/count\"\nversion = \"1.2.0\"\n\n[agent]\ntimeout_sec = 60.0\n";

fn space() -> TestSpace {
    let space = TestSpace::with(&["alpha"]);
    let file = |path: &str, text: &str| space.write(format!("harbor-tasks/count/{path}"), text);
    file("task.toml", TASK);
    file("instruction.md", "Count to ten.\n");
    file("environment/Dockerfile", "FROM python:3.13-slim\n");
    file("tests/test.sh", "#!/bin/sh\necho 1 > /logs/verifier/reward.txt\n");
    file("solution/solve.sh", "#!/bin/sh\n");
    // None of this counts for Harbor.
    file("NOTES.md", "Try twelve.\n");
    file("jobs/trial/result.json", "{}\n");
    file("tests/__pycache__/x.pyc", "x");
    space
}

fn digest(folder: &Utf8Path) -> String {
    content_digest(folder.as_std_path()).unwrap().to_string()
}

#[test]
fn a_task_by_hand_is_built_as_it_is() {
    let space = space();
    assert_eq!(summary(&space.build()), "alpha: built, count: built");
    let contents = look::contents(&space.out("count"));
    let files = contents.iter().filter(|(_, what)| what.starts_with("file"));
    let files: Vec<&str> = files.map(|(path, _)| path.as_str()).collect();
    let expected =
        ["environment/Dockerfile", "instruction.md", "solution/solve.sh", "task.toml", "tests/test.sh"];
    assert_eq!(files, expected);
    assert_eq!(fs::read_to_string(space.out("count/task.toml")).unwrap(), TASK);
    assert_eq!(digest(&space.out("count")), digest(&space.path("harbor-tasks/count")));
    let lock = space.read("harbor-tasks/taskwright.lock");
    let entry = lock.split("[task.count]\n").nth(1).unwrap();
    assert!(entry.starts_with("version = \"1.2.0\"\ntree = \"sha256:"), "{entry}");
    assert!(entry.contains(&format!("harbor = \"{}\"", digest(&space.out("count")))), "{entry}");

    space.settle();
    assert_eq!(summary(&space.look()), "alpha: up to date, count: up to date");
    space.write("harbor-tasks/count/NOTES.md", "Try thirteen.\n");
    assert_eq!(summary(&space.build()), "alpha: up to date, count: up to date");
    space.write("harbor-tasks/count/instruction.md", "Count to twelve.\n");
    assert_eq!(summary(&space.look()), "alpha: up to date, count: stale");
    let held = space.build_with(&Options { intent: Intent::Locked, ..Options::default() });
    assert!(space.failure(&held, "count").contains("tree: sha256:"), "{}", space.failures(&held));
    let report = space.build();
    assert_eq!(summary(&report), "alpha: up to date, count: built");
    assert!(
        changes(&report, "count").starts_with("file `instruction.md`: "),
        "{}",
        changes(&report, "count")
    );

    space.remove("harbor-tasks/count");
    assert_eq!(summary(&space.build()), "alpha: up to date, count: removed");
    assert!(!space.out("count").exists());
}

#[test]
fn what_stands_in_its_place_is_known_by_state_or_lock() {
    let space = space();
    space.build();
    // Without a state the lock still says whose it is.
    space.remove("target/taskwright");
    space.write("harbor-tasks/count/instruction.md", "Count to twelve.\n");
    let report = space.build();
    assert_eq!(summary(&report), "alpha: up to date, count: built");
    assert_eq!(task(&report, "count").lost, None);
    // And where it does not, the folder is somebody's.
    space.remove("target/taskwright");
    fs::write(space.out("count/instruction.md"), "Of mine.\n").unwrap();
    let report = space.build();
    assert!(space.failure(&report, "count").contains("is in the way"), "{}", summary(&report));
    assert_eq!(fs::read_to_string(space.out("count/instruction.md")).unwrap(), "Of mine.\n");
}

#[test]
fn what_cannot_be_built_as_it_is_is_refused() {
    type Change = fn(&TestSpace);
    let cases: [(&str, Change, &str); 6] = [
        (
            "a name",
            |space| space.edit("harbor-tasks/count/task.toml", "org/count", "count"),
            "cannot name a task",
        ),
        ("no TOML", |space| space.write("harbor-tasks/count/task.toml", "[task\n"), "not TOML"),
        (
            "no instruction",
            |space| space.remove("harbor-tasks/count/instruction.md"),
            "has neither an `instruction.md`",
        ),
        (
            "a link that leaves",
            |space| {
                std::os::unix::fs::symlink(
                    "../../../bin/taskwright",
                    space.path("harbor-tasks/count/tests/x"),
                )
                .unwrap();
            },
            "leaves the tree",
        ),
        (
            "a cache that counts",
            |space| space.write("harbor-tasks/count/.gitignore", "/jobs/\n"),
            "count for Harbor and cannot be built",
        ),
        (
            "Windows",
            |space| space.write("harbor-tasks/count/tests/test.sh", "#!/bin/sh\r\n"),
            "carriage return",
        ),
    ];
    for (what, change, expected) in cases {
        let space = space();
        change(&space);
        let report = space.build();
        assert_eq!(task(&report, "alpha").status.word(), "built", "{what}");
        let said = space.failures(&report);
        assert!(said.contains(expected) && said.contains("harbor-tasks/count"), "{what}: {said}");
        assert!(!space.out("count").exists(), "{what}");
    }
}

#[test]
fn what_is_doubtful_in_a_task_by_hand_is_said_at_each_build() {
    let space = space();
    space.edit("harbor-tasks/count/task.toml", "timeout_sec", "timeout_secs");
    for _ in 0..3 {
        let report = space.build();
        let said: Vec<String> = report.warnings.iter().map(ToString::to_string).collect();
        assert!(said.len() == 1 && said[0].contains("harbor-tasks/count/task.toml:6:1"), "{said:?}");
    }
}

#[test]
fn a_spec_and_a_folder_of_one_name_are_told() {
    let space = space();
    space.edit("harbor-tasks/alpha/spec.toml", "name = \"alpha\"", "name = \"count\"");
    let report = space.build();
    let said = space.failures(&report);
    let both =
        "`harbor-tasks/alpha/spec.toml` and `harbor-tasks/count/task.toml` describe a task named `count`";
    assert!(said.contains(both), "{said}");
}

/// Every task of the corpus, under a name that a folder may have: what comes out is what went in.
#[test]
fn every_task_of_the_corpus_keeps_its_digest() {
    let corpus = Utf8PathBuf::from_path_buf(corpus()).unwrap();
    let files = walkdir::WalkDir::new(&corpus).into_iter().flatten();
    let tasks: Vec<Utf8PathBuf> = files
        .filter(|entry| entry.file_name() == "task.toml")
        .filter_map(|entry| Some(Utf8PathBuf::from_path_buf(entry.into_path()).ok()?.parent()?.to_owned()))
        .collect();
    assert!(tasks.len() > 40, "{}", tasks.len());
    let space = TestSpace::with(&[]);
    let mut names = Vec::new();
    for folder in &tasks {
        let name = shorten(folder.strip_prefix(&corpus).unwrap().as_str());
        for entry in
            walkdir::WalkDir::new(folder).into_iter().flatten().filter(|entry| entry.file_type().is_file())
        {
            let path = Utf8Path::from_path(entry.path()).unwrap();
            let to = format!("harbor-tasks/{name}/{}", path.strip_prefix(folder).unwrap());
            space.write(&to, fs::read(path).unwrap());
        }
        names.push(name);
    }
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
    for (name, folder) in names.iter().zip(&tasks) {
        assert_eq!(digest(&space.out(name)), digest(folder), "{folder}");
    }
}
