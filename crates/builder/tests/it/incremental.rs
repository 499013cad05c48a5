//! What is built again after an edit, and what is said about it.

use std::fs;
use std::time::SystemTime;

use taskwright_builder::Options;
use taskwright_testing::test;

use crate::support::{LARGE, ROWS, TestSpace, changes, chmod, look, spec, summary, task, wait_a_tick};

/// Makes an edit in a workspace that is up to date, builds, and says what was built and why.
///
/// Whatever was built must be what a build from nothing makes, and must be up to date afterwards.
fn rebuilt(space: &TestSpace, edit: impl FnOnce(&TestSpace)) -> String {
    space.settle();
    edit(space);
    let report = space.build();
    let mut lines = vec![summary(&report)];
    for task in &report.tasks {
        lines.extend(task.changes.iter().map(|change| format!("{}: {change}", task.name)));
    }
    let again = space.build();
    assert!(again.tasks.iter().all(|task| task.status.word() == "up to date"), "{}", summary(&again));
    assert_is_clean(space);
    lines.join("\n")
}

/// Compares the outputs with those of a build that remembers nothing.
fn assert_is_clean(space: &TestSpace) {
    let mut other = space.workspace.clone();
    other.out = space.path("target/other");
    other.cache = "target/other-cache".into();
    for folder in [&other.out, &other.cache_dir()] {
        let _ = fs::remove_dir_all(folder);
    }
    let lock = space.read("harbor-tasks/taskwright.lock");
    let report = taskwright_builder::build(
        &other,
        &Options::default(),
        &taskwright_builder::Silent,
        &std::sync::atomic::AtomicBool::new(false),
    )
    .unwrap();
    assert!(report.is_success(), "{}", summary(&report));
    let difference = look::difference(&look::contents(&other.out), &look::contents(&space.workspace.out));
    assert_eq!(difference, "", "the outputs are not those of a build from nothing");
    assert_eq!(
        space.read("harbor-tasks/taskwright.lock"),
        lock,
        "the lock is not that of a build from nothing"
    );
}

#[test]
fn a_second_build_is_up_to_date_and_changes_nothing_at_all() {
    let space = TestSpace::new();
    let report = space.build();
    assert_eq!(summary(&report), "alpha: built, beta: built");
    let built = look::stats(&space.workspace.out);
    let lock = look::stats(&space.workspace.lock_file());
    wait_a_tick();

    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");

    assert_eq!(look::difference(&built, &look::stats(&space.workspace.out)), "");
    assert_eq!(look::difference(&lock, &look::stats(&space.workspace.lock_file())), "");
}

#[test]
fn a_build_of_what_is_long_up_to_date_does_not_even_write_its_state() {
    let space = TestSpace::new();
    space.settle();
    let before = look::stats(space.root());

    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");

    let after = look::stats(space.root());
    let difference = look::difference(&before, &after);
    // The lock of the workspace says who holds it.
    let difference: Vec<_> =
        difference.lines().filter(|line| !line.starts_with("target/taskwright/lock:")).collect();
    assert_eq!(difference, Vec::<&str>::new());
}

#[test]
fn a_comment_in_a_spec_rebuilds_nothing() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| {
        space.edit("harbor-tasks/alpha/spec.toml", "mode = \"a\"", "# A word.\nmode = \"a\"");
    });
    insta::assert_snapshot!(said, @"alpha: up to date, beta: up to date");
}

#[test]
fn a_field_of_a_spec_rebuilds_its_task() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| {
        space.edit("harbor-tasks/alpha/spec.toml", "Improve alpha", "Improve alpha a lot");
    });
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: spec.description: "Improve alpha" -> "Improve alpha a lot"
    "#);
}

#[test]
fn a_parent_rebuilds_every_task_that_extends_it() {
    let space = TestSpace::with(&["alpha", "beta", "gamma"]);
    space.write("harbor-tasks/common.toml", "[limits]\nconcurrency = 2\n");
    for name in ["alpha", "beta"] {
        let path = format!("harbor-tasks/{name}/spec.toml");
        let text = space.read(&path);
        space.write(&path, format!("extends = \"../common.toml\"\n{text}"));
    }
    let said = rebuilt(&space, |space| space.edit("harbor-tasks/common.toml", "2", "3"));
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: built, gamma: up to date
    alpha: spec.limits.concurrency: 2 -> 3
    beta: spec.limits.concurrency: 2 -> 3
    "#);
}

#[test]
fn an_instruction_rebuilds_its_task() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| space.write("harbor-tasks/alpha/instruction.md", "Now do this.\n"));
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: instruction `harbor-tasks/alpha/instruction.md`: 7116234552ff -> 6f9bbbcc6d02
    "#);
}

#[test]
fn a_file_of_the_scorer_rebuilds_its_task() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| space.write("harbor-tasks/alpha/scorer/score.py", "print('other')\n"));
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: scorer `score.py`: e42e7f72f1d9 -> b74b5fe42240
    "#);
}

#[test]
fn a_new_file_of_the_scorer_rebuilds_its_task() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| space.write("harbor-tasks/alpha/scorer/new/more.py", "more\n"));
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: scorer `new/more.py`: added, 2396099c6c08
    "#);
}

#[test]
fn a_file_that_the_scorer_lost_rebuilds_its_task() {
    let space = TestSpace::new();
    space.write("harbor-tasks/alpha/scorer/more.py", "more\n");
    let said = rebuilt(&space, |space| space.remove("harbor-tasks/alpha/scorer/more.py"));
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: scorer `more.py`: removed, was 2396099c6c08
    "#);
}

#[test]
fn permission_to_execute_is_part_of_a_file() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| chmod(&space.path("harbor-tasks/alpha/scorer/run.py"), 0o755));
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: scorer `run.py`: d3bc34c59977 -> d3bc34c59977 executable
    "#);
}

#[test]
fn other_permissions_are_not() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| chmod(&space.path("harbor-tasks/alpha/scorer/run.py"), 0o660));
    insta::assert_snapshot!(said, @"alpha: up to date, beta: up to date");
}

#[test]
fn a_row_of_the_dataset_rebuilds_its_task() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| {
        space.edit("harbor-tasks/alpha/dataset/rows.jsonl", "\"label\":1", "\"label\":5");
    });
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: dataset `rows.jsonl`: e83043d6b999 -> 62525072c6f8
    "#);
}

#[test]
fn a_row_that_joins_a_split_rebuilds_its_task() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| {
        let row = "{\"id\":\"three\",\"split\":\"train\",\"label\":3}\n";
        space.write("harbor-tasks/alpha/dataset/rows.jsonl", format!("{ROWS}{row}"));
    });
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: dataset `rows.jsonl`: e83043d6b999 -> 3695ceeb3355
    alpha: split train: 7692c3ad3540 -> 8dfd12eeeeca
    "#);
}

#[test]
fn a_new_file_in_the_dataset_rebuilds_its_task() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| space.write("harbor-tasks/alpha/dataset/images/one.png", "pixels"));
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: dataset `images/one.png`: added, 6ec9c2b0eb14
    "#);
}

#[test]
fn a_file_that_the_dataset_lost_rebuilds_its_task() {
    let space = TestSpace::new();
    space.write("harbor-tasks/alpha/dataset/images/one.png", "pixels");
    let said = rebuilt(&space, |space| space.remove("harbor-tasks/alpha/dataset/images"));
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: dataset `images/one.png`: removed, was 6ec9c2b0eb14
    "#);
}

#[test]
fn what_tools_leave_behind_is_no_input() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| {
        space.write("harbor-tasks/alpha/scorer/__pycache__/run.cpython-313.pyc", "compiled");
        space.write("harbor-tasks/alpha/dataset/.DS_Store", "finder");
        space.write("harbor-tasks/alpha/scorer/run.py~", "backup");
    });
    insta::assert_snapshot!(said, @"alpha: up to date, beta: up to date");
}

#[test]
fn an_overlay_rebuilds_its_task() {
    let space = TestSpace::new();
    let overlay = "path = \"baseline\"\noverlays = [{ from = \"extra\", to = \"tests\", read_only = true }]";
    space.edit("harbor-tasks/alpha/spec.toml", "path = \"baseline\"", overlay);
    space.write("harbor-tasks/alpha/extra/check.py", "one\n");
    let said = rebuilt(&space, |space| space.write("harbor-tasks/alpha/extra/check.py", "two\n"));
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: baseline `tests/check.py`: 2c8b08da5ce6 -> 27dd8ed44a83
    alpha: baseline.commit: 57246b49742d34295da221162dd2502aa20f7c87 -> 3750d2918f80aac0e386a6b39c0edc01eab7c0b1
    "#);
}

#[test]
fn a_solution_rebuilds_its_task() {
    let space = TestSpace::new();
    space.edit("harbor-tasks/alpha/spec.toml", "[scorer]", "[solution]\npath = \"solution\"\n\n[scorer]");
    space.write("harbor-tasks/alpha/solution/main.py", "one\n");
    let said = rebuilt(&space, |space| space.write("harbor-tasks/alpha/solution/main.py", "two\n"));
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: solution `main.py`: 2c8b08da5ce6 -> 27dd8ed44a83
    "#);
}

#[test]
fn a_template_of_the_workspace_rebuilds_every_task_that_uses_it() {
    let space = TestSpace::new();
    space.write("templates/tests/Dockerfile.hbs", "FROM {{image}}\n");
    let said =
        rebuilt(&space, |space| space.write("templates/tests/Dockerfile.hbs", "# Ours.\nFROM {{image}}\n"));
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: built
    alpha: template tests/Dockerfile.hbs: cdf23a548c20 -> 49df723ce13b
    beta: template tests/Dockerfile.hbs: cdf23a548c20 -> 49df723ce13b
    "#);
}

#[test]
fn a_template_that_appears_takes_the_place_of_the_standard_one() {
    let space = TestSpace::new();
    let standard = include_str!("../../templates/tests/Dockerfile.hbs");
    let standard = taskwright_base::Digest::of(standard.as_bytes()).short();
    let said = rebuilt(&space, |space| space.write("templates/tests/Dockerfile.hbs", "FROM {{image}}\n"));
    insta::assert_snapshot!(said.replace(&standard, "[STANDARD]"), @r#"
    alpha: built, beta: built
    alpha: template tests/Dockerfile.hbs: [STANDARD] -> cdf23a548c20
    beta: template tests/Dockerfile.hbs: [STANDARD] -> cdf23a548c20
    "#);
}

#[test]
fn a_template_of_the_workspace_may_be_a_link() {
    let space = TestSpace::with(&["alpha"]);
    space.write("shared/Dockerfile.hbs", "# Ours.\nFROM {{image}}\n");
    fs::create_dir_all(space.path("templates/tests")).unwrap();
    std::os::unix::fs::symlink("../../shared/Dockerfile.hbs", space.path("templates/tests/Dockerfile.hbs"))
        .unwrap();
    space.settle();
    assert!(fs::read_to_string(space.out("alpha/tests/Dockerfile")).unwrap().starts_with("# Ours."));

    space.write("shared/Dockerfile.hbs", "# Theirs.\nFROM {{image}}\n");

    assert_eq!(summary(&space.build()), "alpha: built");
    assert!(fs::read_to_string(space.out("alpha/tests/Dockerfile")).unwrap().starts_with("# Theirs."));
}

#[test]
fn a_template_of_a_spec_rebuilds_its_task() {
    let space = TestSpace::new();
    let own = "[[targets]]\nsplit = \"test\"\n\n[templates]\n\"tests/Dockerfile\" = \"own.hbs\"";
    space.edit("harbor-tasks/alpha/spec.toml", "[[targets]]\nsplit = \"test\"", own);
    space.write("harbor-tasks/alpha/own.hbs", "FROM {{image}}\n");
    let said = rebuilt(&space, |space| space.write("harbor-tasks/alpha/own.hbs", "# Own.\nFROM {{image}}\n"));
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: template tests/Dockerfile.hbs: cdf23a548c20 -> 9599bd9554d3
    "#);
}

#[test]
fn a_commit_to_the_baseline_rebuilds_its_task() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| {
        space.write("harbor-tasks/alpha/baseline/main.py", "print('better')\n");
        space.commit("Change the baseline");
    });
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: baseline `main.py`: 2fed55f1437c -> fc09fe4e7e1d
    alpha: baseline.commit: 7f10d3a20df93f41bcbe79d4c61b28eb69b32723 -> 4994c17cdc1c1d86f7b719af77d801f785cb2761
    "#);
}

#[test]
fn a_commit_elsewhere_rebuilds_nothing() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| {
        space.write("README.md", "Words.\n");
        space.commit("Say something");
    });
    insta::assert_snapshot!(said, @"alpha: up to date, beta: up to date");
}

#[test]
fn another_branch_rebuilds_its_task() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| {
        space.git(&["checkout", "--quiet", "-b", "other"]);
        space.write("harbor-tasks/alpha/baseline/main.py", "print('other')\n");
        space.commit("Change the baseline");
    });
    assert!(said.starts_with("alpha: built, beta: up to date\n"), "{said}");
    let back = rebuilt(&space, |space| {
        space.git(&["checkout", "--quiet", "main"]);
    });
    assert!(back.starts_with("alpha: built, beta: up to date\n"), "{back}");
}

#[test]
fn packed_references_rebuild_nothing_and_hide_nothing() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| {
        space.git(&["pack-refs", "--all"]);
    });
    assert_eq!(said, "alpha: up to date, beta: up to date");
    let said = rebuilt(&space, |space| {
        space.write("harbor-tasks/alpha/baseline/main.py", "print('packed')\n");
        space.commit("Change the baseline");
        space.git(&["pack-refs", "--all"]);
        space.git(&["gc", "--quiet"]);
    });
    assert!(said.starts_with("alpha: built, beta: up to date\n"), "{said}");
}

#[test]
fn a_tag_that_moves_rebuilds_its_task() {
    let space = TestSpace::new();
    space.git(&["tag", "start"]);
    space.edit("harbor-tasks/alpha/spec.toml", "path = \"baseline\"", "path = \"baseline\"\nrev = \"start\"");
    let said = rebuilt(&space, |space| {
        space.write("harbor-tasks/alpha/baseline/main.py", "print('tagged')\n");
        space.commit("Change the baseline");
    });
    assert_eq!(said, "alpha: up to date, beta: up to date", "the tag has not moved");
    let said = rebuilt(&space, |space| {
        space.git(&["tag", "--force", "start"]);
    });
    assert!(said.starts_with("alpha: built, beta: up to date\n"), "{said}");
}

#[test]
fn a_new_tag_that_takes_over_the_name_of_a_branch_rebuilds_its_task() {
    let space = TestSpace::new();
    space.git(&["branch", "start"]);
    space.edit("harbor-tasks/alpha/spec.toml", "path = \"baseline\"", "path = \"baseline\"\nrev = \"start\"");
    space.write("harbor-tasks/alpha/baseline/main.py", "print('tagged')\n");
    space.commit("Change the baseline");
    let said = rebuilt(&space, |space| {
        space.git(&["tag", "start", "main"]);
    });
    assert!(said.starts_with("alpha: built, beta: up to date\n"), "{said}");
}

#[test]
fn the_binary_rebuilds_every_task() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| space.write("bin/taskwright", "another binary\n".repeat(LARGE / 8)));
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: built
    alpha: binary x86_64: 7c783a856f9f -> b93b5f0038fb
    beta: binary x86_64: 7c783a856f9f -> b93b5f0038fb
    "#);
}

#[test]
fn a_touch_rebuilds_nothing() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| {
        for entry in walkdir::WalkDir::new(space.path("harbor-tasks")).into_iter().flatten() {
            fs::File::open(entry.path()).unwrap().set_modified(SystemTime::now()).unwrap();
        }
        fs::File::open(space.path("bin/taskwright")).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    });
    insta::assert_snapshot!(said, @"alpha: up to date, beta: up to date");
}

#[test]
fn a_change_that_is_taken_back_brings_the_old_output_back() {
    let space = TestSpace::new();
    space.settle();
    let old = look::contents(&space.workspace.out);
    let said = rebuilt(&space, |space| space.write("harbor-tasks/alpha/instruction.md", "Now do this.\n"));
    assert!(said.starts_with("alpha: built, beta: up to date\n"), "{said}");
    let said =
        rebuilt(&space, |space| space.write("harbor-tasks/alpha/instruction.md", "# Make alpha better\n"));
    assert!(said.starts_with("alpha: built, beta: up to date\n"), "{said}");
    assert_eq!(look::difference(&old, &look::contents(&space.workspace.out)), "");
}

#[test]
fn a_change_that_is_taken_back_before_it_is_built_rebuilds_nothing() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| {
        space.write("harbor-tasks/alpha/instruction.md", "Now do this.\n");
        space.write("harbor-tasks/alpha/instruction.md", "# Make alpha better\n");
    });
    assert_eq!(said, "alpha: up to date, beta: up to date");
}

#[test]
fn another_content_of_the_same_size_and_time_is_noticed() {
    for path in ["scorer/run.py", "instruction.md", "dataset/rows.jsonl", "spec.toml"] {
        let space = TestSpace::new();
        let said = rebuilt(&space, |space| {
            let path = space.path("harbor-tasks/alpha").join(path);
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            let text = fs::read_to_string(&path).unwrap();
            let other = if path.as_str().ends_with("jsonl") {
                text.replace("\"label\":1", "\"label\":7")
            } else {
                text.replace("'run'", "'fun'").replace("better", "BETTER").replace("Improve", "Destroy")
            };
            assert_eq!(text.len(), other.len());
            assert_ne!(text, other);
            fs::write(&path, other).unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        });
        assert!(said.starts_with("alpha: built, beta: up to date\n"), "{path}: {said}");
    }
}

#[test]
fn an_edit_in_the_same_tick_as_the_build_is_noticed() {
    let space = TestSpace::with(&["alpha"]);
    for round in 0..20 {
        let line = |half| format!("{round:02} {half}\n");
        space.write("harbor-tasks/alpha/instruction.md", line("old"));
        space.build();
        space.write("harbor-tasks/alpha/instruction.md", line("new"));
        space.build();
        let built = fs::read_to_string(space.out("alpha/instruction.md")).unwrap();
        assert!(built.starts_with(&line("new")), "round {round}: {built}");
    }
}

#[test]
fn axes_of_a_matrix_are_tasks_that_come_and_go() {
    let space = TestSpace::new();
    let path = "harbor-tasks/alpha/spec.toml";
    space.edit(path, "name = \"alpha\"", "name = \"alpha-${size}\"");
    space.edit(path, "[baseline]", "[matrix]\nsize = [1, 2]\n\n[baseline]");
    let said = rebuilt(&space, |space| space.edit(path, "[1, 2]", "[1, 2, 3]"));
    assert_eq!(said, "alpha-1: up to date, alpha-2: up to date, alpha-3: built, beta: up to date");
    let said = rebuilt(&space, |space| space.edit(path, "[1, 2, 3]", "[3, 1]"));
    assert_eq!(said, "alpha-1: up to date, alpha-2: removed, alpha-3: up to date, beta: up to date");
    assert!(!space.out("alpha-2").exists());
}

#[test]
fn a_spec_that_is_gone_takes_its_output_with_it() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| space.remove("harbor-tasks/alpha"));
    assert_eq!(said, "alpha: removed, beta: up to date");
    assert!(!space.out("alpha").exists());
    assert!(!space.read("harbor-tasks/taskwright.lock").contains("task.alpha"));
}

#[test]
fn a_task_that_is_renamed_is_built_under_its_new_name() {
    let space = TestSpace::new();
    let said = rebuilt(&space, |space| {
        space.edit("harbor-tasks/alpha/spec.toml", "name = \"alpha\"", "name = \"omega\"");
    });
    assert_eq!(said, "alpha: removed, beta: up to date, omega: built");
}

#[test]
fn two_specs_with_one_name_both_fail_and_the_output_stays() {
    let space = TestSpace::new();
    space.settle();
    let old = look::contents(&space.workspace.out);
    // Of the two, the newcomer comes first in every order.
    space.add_task("aaa");
    space.write("harbor-tasks/aaa/spec.toml", spec("beta", &[]));
    space.commit("Add a twin");

    let report = space.build();

    let said: Vec<_> =
        report.tasks.iter().map(|task| format!("{}: {}", task.name, task.status.word())).collect();
    assert_eq!(
        said,
        ["alpha: up to date", "harbor-tasks/aaa/spec.toml: failed", "harbor-tasks/beta/spec.toml: failed"]
    );
    let said = space.failure(&report, "harbor-tasks/beta/spec.toml");
    assert!(said.contains("harbor-tasks/aaa/spec.toml") && said.contains("a task named `beta`"), "{said}");
    assert!(said.contains("name = \"beta\"") && said.contains("described here too"), "{said}");
    // They fail each other and nobody else.
    assert_eq!(summary(&space.build_only(&["alpha"])), "alpha: up to date");
    assert_eq!(look::difference(&old, &look::contents(&space.workspace.out)), "");
}

#[test]
fn building_another_task_does_not_hide_that_this_one_was_edited() {
    let space = TestSpace::new();
    space.settle();
    space.edit("harbor-tasks/alpha/spec.toml", "Improve alpha", "Improve alpha a lot");
    wait_a_tick();

    assert_eq!(summary(&space.build_only(&["beta"])), "beta: up to date");
    wait_a_tick();

    let report = space.build();
    assert_eq!(summary(&report), "alpha: built, beta: up to date");
    insta::assert_snapshot!(changes(&report, "alpha"), @r#"spec.description: "Improve alpha" -> "Improve alpha a lot""#);
    assert_is_clean(&space);
}

#[test]
fn a_failure_is_said_again_until_it_is_mended() {
    let space = TestSpace::new();
    space.settle();
    space.edit("harbor-tasks/alpha/spec.toml", "path = \"scorer\"", "path = \"scorers\"");
    for _ in 0..3 {
        wait_a_tick();
        assert_eq!(summary(&space.build()), "alpha: failed, beta: up to date");
        wait_a_tick();
        assert_eq!(summary(&space.look()), "alpha: failed, beta: up to date");
    }
    space.edit("harbor-tasks/alpha/spec.toml", "path = \"scorers\"", "path = \"scorer\"");
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: up to date");
}

#[test]
fn an_interrupted_build_is_no_reason_to_believe_that_all_is_done() {
    let space = TestSpace::new();
    space.settle();
    space.edit("harbor-tasks/alpha/spec.toml", "Improve alpha", "Improve alpha a lot");
    wait_a_tick();
    let stop = std::sync::atomic::AtomicBool::new(true);
    let report =
        taskwright_builder::build(&space.workspace, &Options::default(), &taskwright_builder::Silent, &stop)
            .unwrap();
    assert!(report.is_interrupted(), "{}", summary(&report));
    wait_a_tick();

    assert_eq!(summary(&space.build()), "alpha: built, beta: up to date");
    assert_is_clean(&space);
}

#[test]
fn values_from_the_command_line_do_not_outlive_the_command() {
    let space = TestSpace::new();
    let path = "harbor-tasks/alpha/spec.toml";
    space.edit(path, "Improve alpha", "Improve ${what}");
    space.edit(path, "[baseline]", "[params]\nwhat = \"all\"\n\n[baseline]");
    space.settle();
    let lock = space.read("harbor-tasks/taskwright.lock");
    let set = Options {
        names: vec!["alpha".to_owned()],
        set: [("what".to_owned(), "nothing".to_owned())].into(),
        ..Options::default()
    };

    let report = space.build_with(&set);
    assert_eq!(summary(&report), "alpha: built");
    insta::assert_snapshot!(changes(&report, "alpha"), @r#"spec.description: "Improve all" -> "Improve nothing""#);
    assert_eq!(space.read("harbor-tasks/taskwright.lock"), lock, "the lock says what the specs say");
    wait_a_tick();
    assert_eq!(summary(&space.build_only(&["beta"])), "beta: up to date");
    assert_eq!(space.read("harbor-tasks/taskwright.lock"), lock, "the lock says what the specs say");
    wait_a_tick();
    assert_eq!(summary(&space.build()), "alpha: built, beta: up to date");
    assert_eq!(space.read("harbor-tasks/taskwright.lock"), lock);
    assert_is_clean(&space);
}

#[test]
fn force_builds_what_is_up_to_date() {
    let space = TestSpace::new();
    space.settle();
    let old = look::contents(&space.workspace.out);
    let report = space.build_with(&Options { force: true, ..Options::default() });
    assert_eq!(summary(&report), "alpha: built, beta: built");
    assert!(task(&report, "alpha").changes.is_empty());
    assert_eq!(look::difference(&old, &look::contents(&space.workspace.out)), "");
}

#[test]
fn a_linked_input_is_followed_and_watched() {
    let space = TestSpace::new();
    space.remove("harbor-tasks/alpha/instruction.md");
    space.write("shared/problem.md", "One.\n");
    std::os::unix::fs::symlink("../../shared/problem.md", space.path("harbor-tasks/alpha/instruction.md"))
        .unwrap();
    let said = rebuilt(&space, |space| space.write("shared/problem.md", "Two.\n"));
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: instruction `harbor-tasks/alpha/instruction.md`: 77cff70ea893 -> e497187550b9
    "#);
    let said = rebuilt(&space, |space| {
        space.write("shared/other.md", "Three.\n");
        space.remove("harbor-tasks/alpha/instruction.md");
        std::os::unix::fs::symlink("../../shared/other.md", space.path("harbor-tasks/alpha/instruction.md"))
            .unwrap();
    });
    insta::assert_snapshot!(said, @r#"
    alpha: built, beta: up to date
    alpha: instruction `harbor-tasks/alpha/instruction.md`: e497187550b9 -> 5e5fbb155b12
    "#);
    space.settle();
    let before = look::stats(&space.workspace.state_file());
    space.build();
    assert_eq!(before, look::stats(&space.workspace.state_file()), "nothing had to be written");
}

#[test]
fn a_spec_that_goes_while_another_is_broken_has_its_output_removed_later() {
    let space = TestSpace::new();
    space.settle();
    space.remove("harbor-tasks/beta");
    space.edit("harbor-tasks/alpha/spec.toml", "mode = \"a\"", "mode = \"c\"");
    space.build();
    assert!(space.out("beta").exists(), "as long as a spec cannot be read, it may describe the task");
    space.edit("harbor-tasks/alpha/spec.toml", "mode = \"c\"", "mode = \"a\"");
    assert_eq!(summary(&space.build()), "alpha: up to date, beta: removed");
    assert!(!space.out("beta").exists());
}

#[test]
fn what_is_doubtful_is_said_at_each_build() {
    let space = TestSpace::new();
    space.edit("harbor-tasks/alpha/spec.toml", "mode = \"a\"", "mode = \"a\"\nverifier = \"shared\"");
    space.settle();
    let warned = |report: &taskwright_builder::Report| {
        report.warnings.iter().filter(|warning| warning.message.contains("can forge the reward")).count()
    };
    for _ in 0..2 {
        let report = space.build();
        assert_eq!((summary(&report).as_str(), warned(&report)), ("alpha: up to date, beta: up to date", 1));
    }
    assert_eq!(warned(&space.build_only(&["beta"])), 0);
    space.edit("harbor-tasks/alpha/spec.toml", "verifier = \"shared\"\n", "");
    assert_eq!(warned(&space.build()), 0);
}
