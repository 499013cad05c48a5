//! Which files may be inputs at all: none that must stay hidden from the optimizer, none that a build made, none outside of the
//! workspace, and none that cannot run where it is taken to.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::AtomicBool;
use taskwright_testing::test;

use taskwright_builder::scaffold::scaffold;
use taskwright_language::model::Mode;

use crate::support::{ROWS, TestSpace, summary};

const SPEC: &str = "harbor-tasks/alpha/spec.toml";

/// The words with which `alpha` is refused after a change.
fn refused(change: impl Fn(&TestSpace)) -> String {
    let space = TestSpace::with(&["alpha"]);
    change(&space);
    space.commit("Change");
    let report = space.build();
    assert_eq!(summary(&report), "alpha: failed");
    space.failure(&report, "alpha")
}

fn overlay(space: &TestSpace, overlay: &str) {
    space.edit(SPEC, "path = \"baseline\"", &format!("path = \"baseline\"\noverlays = [{overlay}]"));
}

#[test]
fn what_scores_the_optimizer_is_not_among_the_files_of_its_baseline() {
    let said = refused(|space| space.edit(SPEC, "path = \"baseline\"", "path = \".\""));
    insta::assert_snapshot!(said.lines().next().unwrap_or_default(), @"error: the baseline holds the dataset `harbor-tasks/alpha/dataset`, which the optimizer must not see");
    assert!(said.contains("path = \".\"") && said.contains("`expose = true`"), "{said}");
    let said = refused(|space| space.edit(SPEC, "path = \"baseline\"", "path = \"../..\""));
    assert!(said.contains("the baseline holds the dataset"), "{said}");
    // The same repository by another name.
    let said = refused(|space| {
        space.edit(SPEC, "path = \"baseline\"", "git = \"../..\"\npath = \"harbor-tasks/alpha\"");
    });
    assert!(said.contains("the baseline holds the dataset"), "{said}");
    for (from, words) in [
        ("dataset", "an overlay brings the dataset `harbor-tasks/alpha/dataset`"),
        ("dataset/rows.jsonl", "an overlay brings a part of the dataset"),
        ("scorer", "an overlay brings the scorer `harbor-tasks/alpha/scorer`"),
        ("solution", "an overlay brings the solution"),
    ] {
        let said = refused(|space| {
            space.write("harbor-tasks/alpha/solution/main.py", "solved");
            space.edit(SPEC, "[scorer]", "[solution]\npath = \"solution\"\n\n[scorer]");
            overlay(space, &format!("{{ from = \"{from}\", to = \"x\" }}"));
        });
        assert!(said.contains(words) && said.contains(&format!("from = \"{from}\"")), "{said}");
    }
}

#[test]
fn what_the_tree_leaves_out_is_not_held() {
    let space = TestSpace::with(&["alpha"]);
    space.edit(SPEC, "path = \"baseline\"", "path = \".\"");
    let kept = "dataset export-ignore\nscorer export-ignore\n";
    space.write("harbor-tasks/alpha/.gitattributes", kept);
    space.commit("Leave them out");
    let report = space.build();
    assert!(report.is_success(), "{}", space.failures(&report));
    assert!(!space.out("alpha/environment/baseline/dataset").exists());
}

#[test]
fn a_baseline_with_the_lock_in_it_is_refused() {
    let said = refused(|space| {
        let kept = "harbor-tasks/*/dataset export-ignore\nharbor-tasks/*/scorer export-ignore\n";
        space.write(".gitattributes", kept);
        space.write(".gitignore", "/target/\n");
        space.write("harbor-tasks/taskwright.lock", "version = 1\n");
        space.edit(SPEC, "path = \"baseline\"", "path = \"../..\"");
    });
    assert!(
        said.contains("the lock `harbor-tasks/taskwright.lock`, which holds the baseline's digest"),
        "{said}"
    );
}

#[test]
fn what_a_build_made_is_no_input() {
    for (from, words) in [
        ("../../target", "`target` holds `target/harbor-tasks`, which"),
        ("../../target/taskwright/store", "is in `target/taskwright`, which"),
        ("../../target/harbor-tasks/alpha", "is in `target/harbor-tasks`, which"),
        ("linked", "is in `target/harbor-tasks`, which"),
    ] {
        let said = refused(|space| {
            assert!(space.build().is_success());
            symlink("../../target/harbor-tasks", space.path("harbor-tasks/alpha/linked")).unwrap();
            overlay(space, &format!("{{ from = \"{from}\", to = \"t\" }}"));
        });
        assert!(said.contains(&format!("{words} builds write to")), "{from}: {said}");
    }
}

#[test]
fn a_link_above_an_input_stays_in_the_workspace() {
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir_all(outside.path().join("digits/rows")).unwrap();
    fs::write(outside.path().join("digits/rows/rows.jsonl"), ROWS).unwrap();
    for above in ["data", "data/digits"] {
        let said = refused(|space| {
            space.edit(SPEC, "path = \"dataset\"", "path = \"../../data/digits/rows\"");
            let target =
                if above == "data" { outside.path().to_owned() } else { outside.path().join("digits") };
            fs::create_dir_all(space.path(above).parent().unwrap()).unwrap();
            symlink(target, space.path(above)).unwrap();
        });
        let words = format!("`{above}` is a symbolic link that leads out of the workspace");
        assert!(said.contains(&words), "{said}");
    }
    // One that does not is followed, and watched.
    let space = TestSpace::with(&["alpha"]);
    space.edit(SPEC, "path = \"dataset\"", "path = \"../../data/rows\"");
    for (place, row) in [("one", "x"), ("two", "y")] {
        space.write(format!("{place}/rows/rows.jsonl"), ROWS.replace("\"one\"", &format!("\"{row}\"")));
    }
    symlink("one", space.path("data")).unwrap();
    space.settle();
    space.remove("data");
    symlink("two", space.path("data")).unwrap();
    assert_eq!(summary(&space.build()), "alpha: built");
}

#[test]
fn a_baseline_behind_a_link_out_of_the_workspace_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let said = refused(|space| {
        fs::rename(space.path("harbor-tasks/alpha/baseline"), outside.path().join("baseline")).unwrap();
        symlink(outside.path(), space.path("harbor-tasks/alpha/linked")).unwrap();
        space.edit(SPEC, "path = \"baseline\"", "path = \"linked/baseline\"");
    });
    assert!(said.contains("`harbor-tasks/alpha/linked` is a symbolic link that leads out"), "{said}");
}

#[test]
fn scripts_with_the_line_endings_of_windows_are_named() {
    let script = "#!/usr/bin/env python3\r\nprint()\r\n";
    for path in ["scorer/run.py", "solution/fix.sh", "extra/tool"] {
        let said = refused(|space| {
            space.write("harbor-tasks/alpha/solution/main.py", "solved\r\n");
            space.edit(SPEC, "[scorer]", "[solution]\npath = \"solution\"\n\n[scorer]");
            space.write(format!("harbor-tasks/alpha/{path}"), script);
            if path.starts_with("extra") {
                overlay(space, "{ from = \"extra\", to = \"extra\" }");
            }
        });
        let name = path.split_once('/').unwrap().1;
        assert!(said.contains(&format!("holds `{name}`, whose first line")), "{said}");
        assert!(said.contains("core.autocrlf") && said.contains("carriage return"), "{said}");
    }
    let said = refused(|space| {
        space.write("harbor-tasks/alpha/baseline/run", script);
        space.edit(SPEC, "path = \"baseline\"", "path = \"baseline\"\nsource = \"work-tree\"");
    });
    assert!(said.contains("the baseline `harbor-tasks/alpha/baseline` holds `run`"), "{said}");
}

#[test]
fn an_overlay_of_a_file_names_the_folder_that_it_is_put_into() {
    let extra = |space: &TestSpace| space.write("harbor-tasks/alpha/extra/util.py", "new");
    let said = refused(|space| {
        extra(space);
        overlay(space, "{ from = \"extra/util.py\", to = \"lib/util.py\" }");
    });
    assert!(said.contains("`lib/util.py` is a file of the baseline, and `to` is the folder"), "{said}");
    assert!(said.contains("7 |") && said.contains("write `to = \"lib\"`"), "{said}");
    let space = TestSpace::with(&["alpha"]);
    extra(&space);
    overlay(&space, "{ from = \"extra/util.py\", to = \"lib\" }");
    assert!(space.build().is_success());
    assert_eq!(fs::read_to_string(space.out("alpha/environment/baseline/lib/util.py")).unwrap(), "new");
}

#[test]
fn an_inner_task_that_harbor_would_not_load_is_refused() {
    for (name, words) in [
        ("name = \"arithmetic/-rf\"", "`arithmetic/-rf` cannot name a task: write `org/name`"),
        ("name = \"hello-mcp\"", "`hello-mcp` cannot name a task: write `org/name`"),
        ("description = \"nameless\"", "its `[task]` has no `name`"),
    ] {
        let space = TestSpace::with(&[]);
        scaffold(&space.workspace, "inner", Mode::B, &AtomicBool::new(false)).unwrap();
        let path = "harbor-tasks/inner/inner-tasks/reverse-test/task.toml";
        let text = space.read(path);
        let line = text.lines().find(|line| line.starts_with("name = ")).unwrap();
        let described = text.lines().find(|line| line.starts_with("description = ")).unwrap_or_default();
        space.write(path, text.replace(described, "").replace(line, name));
        space.commit("Add a spec");
        let report = space.build();
        let said = space.failure(&report, "inner");
        assert!(said.contains(words) && said.contains("reverse-test/task.toml"), "{said}");
        assert!(said.contains("/reverse-test\"` below its `[task]`"), "{said}");
        // Without a `[task]` at all the folder's name will do.
        space.write(path, text.replace("[task]\n", "").replace(line, ""));
    }
}
