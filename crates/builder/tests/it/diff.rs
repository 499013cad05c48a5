//! What changed between two locks: which tasks, which parts, which keys, and what that means to earlier trials.

use std::collections::BTreeMap;

use taskwright_builder::diff::{Changed, Fate, Part, Past, differences};
use taskwright_harbor::change::Level;
use taskwright_testing::test;

use crate::support::{TestSpace, spec, wait_a_tick};

/// A space whose lock is committed.
fn space(tasks: &[&str]) -> TestSpace {
    let space = TestSpace::with(tasks);
    space.write(".gitignore", "/target/\n");
    space.settle();
    space.commit("Built");
    space
}

fn since(space: &TestSpace, named: &str) -> BTreeMap<String, Fate> {
    let past = Past::open(&space.workspace, named, &space.path(named)).unwrap();
    differences(&space.workspace, &past).unwrap()
}

/// Builds after an edit, and says how a task changed since the last commit.
fn after(space: &TestSpace, task: &str) -> Changed {
    wait_a_tick();
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
    match since(space, "HEAD").remove(task) {
        Some(Fate::Changed(changed)) => changed,
        other => panic!("{other:?}"),
    }
}

/// Parts, each with its level and its keys.
fn told(changed: &Changed) -> Vec<String> {
    let part = |part: &taskwright_builder::diff::PartChange| {
        let keys: Vec<_> = part.keys.iter().map(ToString::to_string).collect();
        let words = [part.files.join(" "), keys.join(", "), part.note.clone().unwrap_or_default()];
        format!("{} {:?} {}", part.part, part.level, words.concat())
    };
    changed.parts.iter().map(|one| part(one).trim_end().to_owned()).collect()
}

#[test]
fn keys_of_a_spec_are_told_with_what_they_mean() {
    let space = space(&["alpha", "beta"]);
    assert_eq!(since(&space, "HEAD"), BTreeMap::new());
    let path = "harbor-tasks/alpha/spec.toml";
    space.edit(path, "description = \"Improve alpha\"", "description = \"Better\"\nversion = \"1.0.1\"");
    let changed = after(&space, "alpha");
    assert_eq!(changed.level, Some(Level::Patch));
    assert_eq!(
        told(&changed),
        ["spec Some(Patch) description: \"Improve alpha\" -> \"Better\", version: \"1.0.0\" -> \"1.0.1\""]
    );
    assert_eq!(
        (changed.old_version.as_deref(), changed.new_version.as_deref()),
        (Some("1.0.0"), Some("1.0.1"))
    );
    assert_eq!(since(&space, "HEAD").len(), 1, "beta is as it was");

    space.write(path, space.read(path) + "[images]\nverifier = \"debian:12\"\n");
    let changed = after(&space, "alpha");
    assert_eq!(changed.level, Some(Level::Minor));
    space.write(path, space.read(path) + "[limits]\nconcurrency = 3\n");
    let changed = after(&space, "alpha");
    assert_eq!(changed.level, Some(Level::Major));
    assert!(told(&changed)[0].contains("limits.concurrency"), "{:?}", told(&changed));
}

#[test]
fn parents_are_read_as_they_were() {
    let space = space(&["alpha"]);
    space.write("harbor-tasks/common.toml", "keywords = [\"one\"]\n");
    space.edit("harbor-tasks/alpha/spec.toml", "mode = \"a\"", "mode = \"a\"\nextends = \"../common.toml\"");
    wait_a_tick();
    space.build();
    space.commit("A parent");
    space.write("harbor-tasks/common.toml", "keywords = [\"two\"]\n");
    let changed = after(&space, "alpha");
    assert_eq!(told(&changed), ["spec Some(Patch) keywords: [\"one\"] -> [\"two\"]"]);
}

#[test]
fn each_part_is_named() {
    let space = space(&["alpha"]);
    space.write("harbor-tasks/alpha/scorer/score.py", "print('another')\n");
    space.write("harbor-tasks/alpha/dataset/rows.jsonl", crate::support::ROWS.replace("one", "three"));
    space.write("harbor-tasks/alpha/instruction.md", "# Do better\n");
    let changed = after(&space, "alpha");
    let parts: Vec<Part> = changed.parts.iter().map(|part| part.part).collect();
    assert_eq!(parts, [Part::Dataset, Part::Scorer, Part::Instruction]);
    assert_eq!(changed.level, Some(Level::Major));
    space.write("bin/taskwright", "#!/bin/sh\n# another\n");
    assert!(after(&space, "alpha").parts.iter().any(|part| part.part == Part::Binary));
}

#[test]
fn tasks_come_and_go() {
    let space = space(&["alpha", "beta"]);
    space.add_task("gamma");
    space.remove("harbor-tasks/beta");
    space.commit("Others");
    wait_a_tick();
    space.build();
    let version = || Some("1.0.0".to_owned());
    let fates = since(&space, "HEAD~1");
    assert_eq!(fates["gamma"], Fate::Came { version: version() });
    assert_eq!(fates["beta"], Fate::Went { version: version() });
    assert_eq!(fates.len(), 2);
}

#[test]
fn a_lock_alone_says_parts_and_no_keys() {
    let space = space(&["alpha"]);
    space.write("old.lock", space.read("harbor-tasks/taskwright.lock"));
    space.edit("harbor-tasks/alpha/spec.toml", "Improve alpha", "Better");
    wait_a_tick();
    space.build();
    let Fate::Changed(changed) = &since(&space, "old.lock")["alpha"] else { panic!() };
    assert_eq!(changed.level, Some(Level::Major), "what is not known is taken for the gravest");
    assert_eq!(told(changed), ["spec Some(Major) its keys cannot be told: a lock alone does not say them"]);
}

#[test]
fn a_spec_that_is_ahead_of_its_lock_is_not_taken_for_it() {
    let space = space(&["alpha"]);
    space.edit("harbor-tasks/alpha/spec.toml", "Improve alpha", "Better");
    wait_a_tick();
    space.build();
    space.edit("harbor-tasks/alpha/spec.toml", "Better", "Best");
    let Fate::Changed(changed) = &since(&space, "HEAD")["alpha"] else { panic!() };
    assert!(told(changed)[0].ends_with("build first"), "{:?}", told(changed));
}

#[test]
fn the_files_of_a_task_by_hand_say_what_they_mean() {
    let space = space(&["alpha"]);
    let file = |path: &str, text: &str| space.write(format!("harbor-tasks/count/{path}"), text);
    file("task.toml", "[task]\nname = \"org/count\"\nversion = \"1.0.0\"\n");
    file("instruction.md", "Count.\n");
    file("environment/Dockerfile", "FROM scratch\n");
    file("tests/test.sh", "#!/bin/sh\n");
    wait_a_tick();
    space.build();
    space.commit("By hand");
    file("tests/test.sh", "#!/bin/sh\nexit 0\n");
    file("task.toml", "[task]\nname = \"org/count\"\nversion = \"1.1.0\"\ndescription = \"x\"\n");
    file("NOTES.md", "beside\n");
    let changed = after(&space, "count");
    assert_eq!(changed.level, Some(Level::Minor));
    assert_eq!(
        told(&changed),
        [
            "files Some(Minor) task.toml tests/test.shtask.description: added, \"x\", task.version: \"1.0.0\" -> \"1.1.0\""
        ]
    );
    file("instruction.md", "Count to ten.\n");
    assert_eq!(after(&space, "count").level, Some(Level::Major));
}

#[test]
fn what_is_neither_a_revision_nor_a_lock_is_refused() {
    let space = space(&["alpha"]);
    space.write("other.txt", "no lock\n");
    space.git(&["checkout", "--quiet", "--orphan", "bare"]);
    space.git(&["commit", "--quiet", "--allow-empty", "--message", "x"]);
    space.git(&["rm", "-r", "--quiet", "--cached", "harbor-tasks/taskwright.lock"]);
    space.git(&["commit", "--quiet", "--message", "No lock"]);
    for (named, said) in [
        ("nowhere", "no revision of this repository and no file"),
        ("HEAD:x", "not a revision"),
        ("other.txt", "`other.txt` is not a lock that this version reads"),
        ("bare", "there is no `harbor-tasks/taskwright.lock` at bare"),
    ] {
        let error = Past::open(&space.workspace, named, &space.path(named)).err().unwrap();
        assert!(error.to_string().contains(said), "{named}: {error}");
    }
    let _ = spec("alpha", &[]);
}
