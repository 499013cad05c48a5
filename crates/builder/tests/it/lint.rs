//! What is said of specs before anything is built, each by the name of its rule.

use std::sync::atomic::AtomicBool;

use taskwright_builder::{Silent, lint};
use taskwright_language::{Diagnostic, Fix};
use taskwright_testing::test;

use crate::support::TestSpace;

fn found(space: &TestSpace, names: &[&str]) -> Vec<Diagnostic> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    lint(&space.workspace, &names, &Silent, &AtomicBool::new(false)).unwrap()
}

fn rules(found: &[Diagnostic]) -> Vec<&'static str> {
    found.iter().map(|item| item.rule().name()).collect()
}

#[test]
fn each_mistake_has_a_rule_and_nothing_is_built() {
    type Change = fn(&TestSpace);
    let cases: [(&str, Change); 8] = [
        ("syntax", |space| space.write("harbor-tasks/alpha/spec.toml", "name = \n")),
        ("shape", |space| {
            space.edit("harbor-tasks/alpha/spec.toml", "mode = \"a\"", "mode = \"a\"\nmodus = 1");
        }),
        ("command-words", |space| {
            space.edit(
                "harbor-tasks/alpha/spec.toml",
                "run = [\"python3\", \"{scorer}/run.py\"]",
                "run = \"python3 {scorer}/run.py\"",
            );
        }),
        ("identity", |space| space.edit("harbor-tasks/alpha/spec.toml", "\"alpha\"", "\"Alpha!\"")),
        ("targets", |space| {
            space.edit("harbor-tasks/alpha/spec.toml", "split = \"test\"", "split = \"train\"");
        }),
        ("answers", |space| {
            space.edit("harbor-tasks/alpha/spec.toml", "path = \"dataset\"", "path = \"baseline/data\"");
            space.write("harbor-tasks/alpha/baseline/data/rows.jsonl", crate::support::ROWS);
            space.commit("Answers in the baseline");
        }),
        ("line-endings", |space| space.write("harbor-tasks/alpha/scorer/go", "#!/bin/sh\r\n")),
        ("inputs", |space| space.remove("harbor-tasks/alpha/instruction.md")),
    ];
    for (rule, change) in cases {
        let space = TestSpace::new();
        change(&space);
        let found = found(&space, &[]);
        assert_eq!(rules(&found), [rule], "{found:?}");
        assert!(found[0].primary.source.name().as_str().contains("alpha/spec.toml"), "{rule}");
        assert!(
            !space.workspace.out.exists() && !space.path("harbor-tasks/taskwright.lock").exists(),
            "{rule}"
        );
    }
}

#[test]
fn advice_is_for_who_asks() {
    let space = TestSpace::new();
    space.edit(
        "harbor-tasks/alpha/spec.toml",
        "[baseline]",
        "[images]\nmain = \"python:3.13-trixie\"\n\n[baseline]",
    );
    let report = space.build();
    assert!(report.is_success() && report.warnings.is_empty(), "{:?}", report.warnings);
    let found = found(&space, &["alpha"]);
    assert_eq!(rules(&found), ["unpinned-image"]);
    assert!(found[0].to_string().starts_with("note: "), "{}", found[0]);
    // And not of what was not asked for.
    assert_eq!(rules(&self::found(&space, &["beta"])), Vec::<&str>::new());
}

#[test]
fn what_several_describe_is_said_of_each() {
    let space = TestSpace::new();
    space.edit("harbor-tasks/beta/spec.toml", "name = \"beta\"", "name = \"alpha\"");
    assert_eq!(found(&space, &[]).len(), 2);
}

#[test]
fn a_finding_names_all_scripts_of_a_tree_with_the_line_endings_of_windows() {
    const SCRIPT: &str = "#!/bin/sh\r\n";
    type Change = fn(&TestSpace);
    let cases: [(&[&str], Change); 3] = [
        (&["alpha/scorer/go", "alpha/scorer/lib/more"], |space| {
            space.write("harbor-tasks/alpha/scorer/go", SCRIPT);
            space.write("harbor-tasks/alpha/scorer/lib/more", SCRIPT);
            space.write("harbor-tasks/alpha/scorer/right", "#!/bin/sh\n");
        }),
        // An overlay that is one file.
        (&["alpha/tool"], |space| {
            space.write("harbor-tasks/alpha/tool", SCRIPT);
            space.edit(
                "harbor-tasks/alpha/spec.toml",
                "path = \"baseline\"",
                "path = \"baseline\"\noverlays = [{ from = \"tool\", to = \"bin\" }]",
            );
        }),
        (&["hand/tests/test.sh"], |space| {
            let task = "[task]\nname = \"org/hand\"\n\n[agent]\ntimeout_sec = 60.0\n";
            space.write("harbor-tasks/hand/task.toml", task);
            space.write("harbor-tasks/hand/instruction.md", "Do it.\n");
            space.write("harbor-tasks/hand/tests/test.sh", SCRIPT);
        }),
    ];
    for (files, change) in cases {
        let space = TestSpace::new();
        change(&space);
        let found = found(&space, &[]);
        assert_eq!(rules(&found), ["line-endings"], "{found:?}");
        let files = files.iter().map(|file| format!("harbor-tasks/{file}").into()).collect();
        assert_eq!(found[0].fix, Some(Fix::LineEndings(files)));
    }
}
