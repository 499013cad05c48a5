//! What a configuration says stands in the spec, and the spec builds.

use std::fs;
use std::process::Command;

use camino::Utf8Path;
use taskwright_migrate::List;
use taskwright_testing::{needs_python, test};

use crate::support::{Space, failures, stand_in, text};

#[test]
fn all_that_has_a_field_is_written_in_the_order_of_a_careful_hand() {
    let migration = Space::new().migrate("suite/questions/build.yaml").unwrap();
    assert_eq!(migration.name, "optimize-questions");
    insta::assert_snapshot!(text(&migration, "spec.toml"));
    insta::assert_snapshot!(text(&migration, "instruction.md"));
}

#[test]
fn what_has_no_field_is_said_by_its_line() {
    let migration = Space::new().migrate("suite/questions/build.yaml").unwrap();
    let notes = migration.notes.iter().map(|note| {
        format!("{} {}: {}: {}\n", note.list.title(), note.line.unwrap_or(0), note.key, note.text)
    });
    insta::assert_snapshot!(notes.collect::<String>());
}

#[test]
fn defaults_anchors_and_nulls_mean_what_they_mean_there() {
    let migration = Space::new().migrate("suite/questions/build.shell.yaml").unwrap();
    // The same name as its neighbour's: the variant keeps them apart.
    assert_eq!(migration.name, "optimize-questions-shell");
    insta::assert_snapshot!(text(&migration, "spec.toml"));
    insta::assert_snapshot!(text(&migration, "instruction.md"));
    let decide: Vec<_> = migration.notes.iter().filter(|note| note.list == List::ToDecide).collect();
    assert!(
        decide.iter().any(|note| note.text.contains("instruction.md:10 still holds a command")),
        "{decide:#?}"
    );
}

#[test]
fn the_time_for_the_end_covers_what_the_tasks_themselves_declare() {
    let space = Space::new();
    for id in ["one", "two", "three"] {
        stand_in(&space, Utf8Path::new("suite/questions/tasks"), id);
    }
    let file = "suite/questions/build.shell.yaml";
    // Building, set-up, agent and verifier: 600 + 360 + 600 + 600 s, for the target and its baseline, cut to an evaluation.
    space.edit(
        file,
        "case_timeout_seconds: 60\n",
        "case_timeout_seconds: 60\nverifier_timeout_seconds: 60\n",
    );
    let migration = space.migrate(file).unwrap();
    assert!(text(&migration, "spec.toml").contains("\nfinalize_timeout_sec = 5400\n"));
    let note = migration.notes.iter().find(|note| note.key == "verifier_timeout_seconds").unwrap();
    assert_eq!(note.text, "60 s, and all that is scored in the end can take 5400 s: raised to that");
}

#[test]
fn both_build_and_a_third_that_a_program_scores() {
    let space = Space::new();
    for id in ["one", "two", "three"] {
        stand_in(&space, Utf8Path::new("suite/questions/tasks"), id);
    }
    space.make("suite/questions/build.yaml");
    let shell = space.make("suite/questions/build.shell.yaml");
    space.make("suite/packing/build.yaml");
    // A parameter that was required there is here.
    let spec = format!("harbor-tasks/{}/spec.toml", shell.name);
    space.edit(&spec, "model = { required = \"name the model\" }", "model = \"small-model\"");
    let report = space.build();
    assert_eq!(failures(&report), [""; 0]);
    assert_eq!(report.tasks.len(), 3);
}

/// What the scripts answer for one line, in a checkout.
fn answer(space: &Space, script: &str, line: &str) -> serde_json::Value {
    use std::io::Write;
    let folder = space.root().join("harbor-tasks/packing/scorer");
    let mut child = Command::new("python3")
        .arg(folder.join(script))
        .current_dir(space.root().join("suite/packing/program"))
        .env("LIMIT", "10")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{line}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{script}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_program_that_scores_answers_as_run_and_score() {
    needs_python();
    let space = Space::new();
    let migration = space.make("suite/packing/build.yaml");
    insta::assert_snapshot!(text(&migration, "spec.toml"));
    let scored = |space: &Space| {
        let ran = answer(space, "run.py", "{\"id\":\"dev\",\"input\":{}}");
        let line = serde_json::json!({"id": "dev", "sample": {}, "output": ran["output"], "error": null});
        answer(space, "score.py", &line.to_string())
    };
    let found = scored(&space);
    assert_eq!((found["score"].as_f64(), found["metrics"]["valid"].as_f64()), (Some(7.0), Some(1.0)));
    space.write("suite/packing/program/packing.py", "def pack():\n    raise ValueError('too much')\n");
    let found = scored(&space);
    assert_eq!((found["score"].as_f64(), found["metrics"]["packed"].as_f64()), (Some(0.0), Some(0.0)));
    assert_eq!(found["feedback"], "too much");
    let lost =
        answer(&space, "score.py", "{\"id\":\"dev\",\"sample\":{},\"output\":null,\"error\":\"timeout\"}");
    assert_eq!((lost["score"].as_f64(), &lost["feedback"]), (Some(0.0), &"no report: timeout".into()));
}

#[test]
fn the_page_lists_every_key() {
    let page = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/coming-from-vero.md");
    let page = fs::read_to_string(page).unwrap();
    let missing: Vec<_> =
        taskwright_migrate::keys().filter(|key| !page.contains(&format!("`{key}`"))).collect();
    assert_eq!(missing, [""; 0]);
}
