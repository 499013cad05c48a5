//! `taskwright.lock`: what it says, when it is held against a build, and that nothing is lost from it.

use taskwright_builder::lock::Lock;
use taskwright_builder::{Intent, Options, Report};
use taskwright_harbor::digest::content_digest;
use taskwright_testing::test;

use crate::support::{LARGE, TestSpace, look, spec, summary, wait_a_tick};

fn locked(space: &TestSpace) -> Report {
    space.build_with(&Options { intent: Intent::Locked, ..Options::default() })
}

fn lock(space: &TestSpace) -> Lock {
    Lock::read(&space.workspace.lock_file()).unwrap().unwrap()
}

/// A build against the lock after an edit, in a clone that has built nothing yet and in this one: it fails, says what
/// differs, and changes neither an output nor the lock.
fn refused(edit: impl Fn(&TestSpace)) -> String {
    let space = TestSpace::new();
    space.settle();
    edit(&space);
    wait_a_tick();
    let here = assert_refused(&space);
    // As in a fresh clone: nothing is remembered.
    space.remove("target/taskwright");
    assert_eq!(here, assert_refused(&space));
    here
}

fn assert_refused(space: &TestSpace) -> String {
    let outputs = look::stats(&space.workspace.out);
    let lock = look::stats(&space.workspace.lock_file());
    let report = locked(space);
    assert!(!report.is_success());
    assert_eq!(look::difference(&outputs, &look::stats(&space.workspace.out)), "");
    assert_eq!(look::difference(&lock, &look::stats(&space.workspace.lock_file())), "");
    // And again, for what was remembered must not make it pass.
    wait_a_tick();
    let again = locked(space);
    let said = format!("{}\n{}", summary(&report), space.failures(&report));
    assert_eq!(said, format!("{}\n{}", summary(&again), space.failures(&again)));
    without_digests(&said)
}

/// A text without the digests in it, which change with every word of a template.
fn without_digests(text: &str) -> String {
    let mut parts = text.split("sha256:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + "sha256:*" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit())
    })
}

#[test]
fn a_build_agrees_with_the_lock_that_it_has_just_written() {
    let space = TestSpace::new();
    space.build();
    let report = locked(&space);
    assert_eq!(summary(&report), "alpha: up to date, beta: up to date");
}

#[test]
fn a_fresh_clone_agrees_with_the_lock_and_is_built() {
    let space = TestSpace::new();
    space.settle();
    let old = look::contents(&space.workspace.out);
    let lock = look::stats(&space.workspace.lock_file());
    space.remove("target");
    assert_eq!(summary(&locked(&space)), "alpha: built, beta: built");
    assert_eq!(look::difference(&old, &look::contents(&space.workspace.out)), "");
    assert_eq!(look::difference(&lock, &look::stats(&space.workspace.lock_file())), "");
    assert_eq!(summary(&locked(&space)), "alpha: up to date, beta: up to date");
}

#[test]
fn what_the_lock_does_not_describe_is_refused() {
    const BASELINE: &str =
        "baseline: sha256:* -> sha256:*\n  baseline_commit: 7f10d3a20df93f41bcb -> b6b8453637d64098321";
    type Edit = fn(&TestSpace);
    let edits: [(&str, &[&str], Edit); 8] = [
        ("spec: sha256:* -> sha256:*", &["alpha"], |space| {
            space.edit("harbor-tasks/alpha/spec.toml", "Improve alpha", "Improve it");
        }),
        ("version: 1.0.0 -> 1.0.1\n  spec: sha256:* -> sha256:*", &["alpha"], |space| {
            space.edit("harbor-tasks/alpha/spec.toml", "mode = \"a\"", "version = \"1.0.1\"\nmode = \"a\"");
        }),
        // The instruction has no line of its own.
        ("", &["alpha"], |space| space.write("harbor-tasks/alpha/instruction.md", "Other.\n")),
        ("dataset: sha256:* -> sha256:*", &["alpha"], |space| {
            space.edit("harbor-tasks/alpha/dataset/rows.jsonl", "\"label\":1", "\"label\":5");
        }),
        ("scorer: sha256:* -> sha256:*", &["alpha"], |space| {
            space.write("harbor-tasks/alpha/scorer/run.py", "other\n");
        }),
        (BASELINE, &["alpha"], |space| {
            space.write("harbor-tasks/alpha/baseline/main.py", "other\n");
            space.commit("Change the baseline");
        }),
        ("templates: sha256:* -> sha256:*", &["alpha", "beta"], |space| {
            space.write("templates/tests/Dockerfile.hbs", "FROM {{image}}\n");
        }),
        ("binary: sha256:* -> sha256:*", &["alpha", "beta"], |space| {
            space.write("bin/taskwright", "other\n".repeat(LARGE));
        }),
    ];
    for (difference, failed, edit) in edits {
        let beta = if failed.contains(&"beta") { "failed" } else { "up to date" };
        let mut expected = format!("alpha: failed, beta: {beta}");
        for name in failed {
            expected += &format!("\nthe lock does not describe what `{name}` builds now:");
            for line in [difference, "tree: sha256:* -> sha256:*", "harbor: sha256:* -> sha256:*"] {
                if !line.is_empty() {
                    expected += &format!("\n  {line}");
                }
            }
            expected +=
                "\nhelp: run `cargo xtask build-tasks`, look at what changed, and commit `taskwright.lock`";
        }
        assert_eq!(refused(edit), expected);
    }
}

#[test]
fn a_task_that_the_lock_does_not_know_is_refused() {
    let said = refused(|space| {
        space.add_task("gamma");
        space.commit("Add gamma");
    });
    insta::assert_snapshot!(said, @r#"
    alpha: up to date, beta: up to date, gamma: failed
    the lock says nothing of `gamma`
    help: run `cargo xtask build-tasks` and commit `taskwright.lock`
    "#);
}

#[test]
fn a_lock_that_knows_a_task_too_many_is_refused() {
    let said = refused(|space| space.remove("harbor-tasks/beta"));
    insta::assert_snapshot!(said, @r#"
    alpha: up to date, error: the lock describes `beta`, which no spec does
    the lock describes `beta`, which no spec does
    help: run `cargo xtask build-tasks` and commit `taskwright.lock`
    "#);
}

#[test]
fn a_lock_that_was_edited_is_refused() {
    let said = refused(|space| {
        space.edit("harbor-tasks/taskwright.lock", "scorer = \"sha256:9a4c", "scorer = \"sha256:0000");
    });
    insta::assert_snapshot!(said, @r#"
    alpha: failed, beta: up to date
    the lock does not describe what `alpha` builds now:
      scorer: sha256:* -> sha256:*
    help: run `cargo xtask build-tasks`, look at what changed, and commit `taskwright.lock`
    "#);
}

#[test]
fn a_lock_that_is_gone_is_refused() {
    let said = refused(|space| space.remove("harbor-tasks/taskwright.lock"));
    insta::assert_snapshot!(said, @r#"
    alpha: failed, beta: failed
    the lock says nothing of `alpha`
    help: run `cargo xtask build-tasks` and commit `taskwright.lock`
    the lock says nothing of `beta`
    help: run `cargo xtask build-tasks` and commit `taskwright.lock`
    "#);
}

#[test]
fn a_lock_with_conflicts_is_refused_as_a_whole() {
    let space = TestSpace::new();
    space.settle();
    space.edit("harbor-tasks/taskwright.lock", "[task.alpha]", "<<<<<<< HEAD\n[task.alpha]");
    let outputs = look::stats(&space.workspace.out);
    let error = space.try_build(&Options { intent: Intent::Locked, ..Options::default() }).unwrap_err();
    insta::assert_snapshot!(space.error(&error), @r#"
    `[ROOT]/harbor-tasks/taskwright.lock` is not a lock that this version reads: key with no value, expected `=`
    help: delete it, which resolves merge conflicts in it too, and run `cargo xtask build-tasks`
    "#);
    assert_eq!(look::difference(&outputs, &look::stats(&space.workspace.out)), "");
}

#[test]
fn a_lock_of_a_newer_program_is_refused_and_nothing_is_touched() {
    let space = TestSpace::new();
    space.settle();
    let good = space.read("harbor-tasks/taskwright.lock");
    // There is something to build, something to remove and something to write.
    space.edit("harbor-tasks/alpha/spec.toml", "Improve alpha", "Improve it");
    space.remove("harbor-tasks/beta");
    let outputs = look::stats(&space.workspace.out);
    let intents = [Intent::Build, Intent::Locked].map(|intent| (intent, Vec::new()));
    let intents = intents.into_iter().chain([(Intent::Build, vec!["alpha".to_owned()])]);
    for (newer, words) in [
        (
            good.replace("version = 1\n", "version = 2\n"),
            "its version is 2, and this program knows versions up to 1",
        ),
        (format!("{good}\n[task.beta.colours]\nred = \"x\"\n"), "it says `colours` of `beta`"),
        (format!("{good}shape = \"x\"\n"), "it says `shape` of `beta`"),
        (format!("{good}[pictures]\n"), "it says `pictures`"),
    ] {
        space.write("harbor-tasks/taskwright.lock", &newer);
        let lock = look::stats(&space.workspace.lock_file());
        for (intent, names) in intents.clone() {
            let error = space.try_build(&Options { intent, names, ..Options::default() }).unwrap_err();
            let said = space.error(&error);
            assert!(
                said.contains(words) && said.contains("use the newer Taskwright that wrote it"),
                "{said}"
            );
            assert_eq!(look::difference(&outputs, &look::stats(&space.workspace.out)), "");
            assert_eq!(look::difference(&lock, &look::stats(&space.workspace.lock_file())), "");
        }
        // Not held against it, and nothing is written.
        let look = space.build_with(&Options { intent: Intent::Look, ..Options::default() });
        assert_eq!(summary(&look), "alpha: stale, beta: stale");
    }
    // Its own lock once more.
    space.write("harbor-tasks/taskwright.lock", good);
    assert_eq!(summary(&space.build()), "alpha: built, beta: removed");
}

#[test]
fn a_lock_of_an_older_program_is_read_and_brought_up_to_date() {
    let space = TestSpace::new();
    space.settle();
    let good = space.read("harbor-tasks/taskwright.lock");
    let is_old =
        |line: &&str| !["templates", "taskwright", "binary"].iter().any(|label| line.starts_with(label));
    let older: String = good.lines().filter(is_old).flat_map(|line| [line, "\n"]).collect();
    assert_ne!(older, good);
    space.write("harbor-tasks/taskwright.lock", &older);
    let report = locked(&space);
    assert!(space.failures(&report).contains("templates: none -> sha256:"), "{}", space.failures(&report));
    assert_eq!(space.read("harbor-tasks/taskwright.lock"), older);
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
    assert_eq!(space.read("harbor-tasks/taskwright.lock"), good);
}

#[test]
fn a_comment_in_a_spec_is_no_difference() {
    let space = TestSpace::new();
    space.settle();
    space.edit("harbor-tasks/alpha/spec.toml", "mode = \"a\"", "# A word.\nmode = \"a\"");
    assert_eq!(summary(&locked(&space)), "alpha: up to date, beta: up to date");
}

#[test]
fn values_from_the_command_line_are_not_what_the_lock_is_held_against() {
    let space = TestSpace::new();
    let path = "harbor-tasks/alpha/spec.toml";
    space.edit(path, "Improve alpha", "Improve ${what}");
    space.edit(path, "[baseline]", "[params]\nwhat = \"all\"\n\n[baseline]");
    space.settle();
    let set = Options {
        names: vec!["alpha".to_owned()],
        set: [("what".to_owned(), "nothing".to_owned())].into(),
        ..Options::default()
    };
    assert_eq!(summary(&space.build_with(&set)), "alpha: built");
    wait_a_tick();
    let report = locked(&space);
    assert_eq!(summary(&report), "alpha: built, beta: up to date", "{}", space.failures(&report));
}

#[test]
fn a_build_of_some_tasks_keeps_what_the_lock_says_of_others() {
    let space = TestSpace::new();
    space.settle();
    let before = lock(&space);
    space.write("harbor-tasks/beta/instruction.md", "Other.\n");
    for round in 0..4 {
        if round == 1 {
            // From now on nothing is remembered of the other task but what the lock says.
            space.remove("target");
        }
        space.write("harbor-tasks/alpha/instruction.md", format!("Round {round}.\n"));
        wait_a_tick();
        assert_eq!(summary(&space.build_only(&["alpha"])), "alpha: built");
        let after = lock(&space);
        assert_ne!(after.tasks["alpha"], before.tasks["alpha"]);
        assert_eq!(after.tasks.get("beta"), before.tasks.get("beta"), "round {round}");
        // Now the lock is old enough to be known by its look alone.
        wait_a_tick();
        assert_eq!(summary(&space.build_only(&["alpha"])), "alpha: up to date");
    }
}

#[test]
fn a_task_that_fails_keeps_its_entry() {
    let space = TestSpace::new();
    space.settle();
    let before = lock(&space);
    let good = space.read("harbor-tasks/alpha/spec.toml");
    let mistakes = [
        ("a folder that is missing", spec("alpha", &[("path = \"scorer\"", "path = \"scorers\"")])),
        ("a mistake in the spec", spec("alpha", &[("mode = \"a\"", "mode = \"z\"")])),
        ("no TOML at all", "[".to_owned()),
    ];
    for (what, text) in mistakes {
        for forget in [false, true] {
            space.write("harbor-tasks/alpha/spec.toml", &text);
            if forget {
                space.remove("target/taskwright");
            }
            let report = space.build();
            assert!(!report.is_success(), "{what}: {}", summary(&report));
            assert_eq!(lock(&space), before, "{what}, forgetting: {forget}");
            assert!(space.out("alpha/task.toml").exists(), "{what}: the old output stays");
            space.write("harbor-tasks/alpha/spec.toml", &good);
            let report = space.build();
            assert!(report.is_success(), "{what}: {}", summary(&report));
            assert_eq!(lock(&space), before, "{what}");
        }
    }
}

#[test]
fn the_digest_is_the_one_that_harbor_finds_on_disk() {
    let space = TestSpace::new();
    let folder = "harbor-tasks/alpha/baseline";
    space.write(format!("{folder}/Überschrift mit $ und 'Zeichen'.txt"), "ü\n");
    space.write(format!("{folder}/a-b"), "1");
    space.write(format!("{folder}/a/b"), "2");
    space.write(format!("{folder}/a.b"), "3");
    space.write_executable(format!("{folder}/run.sh"), "#!/bin/sh\n");
    space.write(format!("{folder}/large"), vec![7; LARGE * 3]);
    space.write(format!("{folder}/README.md"), "");
    std::os::unix::fs::symlink("a/b", space.path(folder).join("to-file")).unwrap();
    std::os::unix::fs::symlink("a", space.path(folder).join("to-folder")).unwrap();
    std::os::unix::fs::symlink("nowhere", space.path(folder).join("to-nothing")).unwrap();
    space.write("harbor-tasks/alpha/scorer/deep/er/file", "4");
    space.commit("Add odd files");
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
    for (name, entry) in lock(&space).tasks {
        let digest = content_digest(space.out(&name).as_std_path()).unwrap().to_string();
        assert_eq!(entry.harbor, digest, "{name}");
    }
}

#[test]
fn the_lock_says_the_same_whatever_the_order_of_builds() {
    let space = TestSpace::with(&["alpha", "beta", "gamma"]);
    for name in ["gamma", "alpha", "beta"] {
        space.build_only(&[name]);
    }
    let one_by_one = space.read("harbor-tasks/taskwright.lock");
    space.remove("target");
    space.remove("harbor-tasks/taskwright.lock");
    space.build();
    assert_eq!(space.read("harbor-tasks/taskwright.lock"), one_by_one);
}
