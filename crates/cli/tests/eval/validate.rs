//! `cargo xtask validate`: each control finds a task that is broken in the way it looks for.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use taskwright_testing::test;
use tempfile::TempDir;

/// A candidate that doubles even numbers, and a better one.
const BASELINE: &str = "def answer(x):\n    return 2 * x if x % 2 == 0 else 0\n";
const SOLUTION: &str = "def answer(x):\n    return 2 * x\n";

/// The candidate's side: it answers, and says of itself what OUTPUT says.
const RUN: &str = r#"
import json, os, sys, time
sys.path.insert(0, os.getcwd())
from main import answer
for line in sys.stdin:
    request = json.loads(line)
    begin = time.perf_counter()
    output = answer(request["input"]["x"])
    seconds = time.perf_counter() - begin
    print(json.dumps({"id": request["id"], "output": OUTPUT}), flush=True)
"#;

/// What all scorers begin with: the answer as a number of the candidate's, or none.
const SCORER: &str = r#"
import json, random, sys
for line in sys.stdin:
    request = json.loads(line)
    said = request["output"]
    said = said if isinstance(said, dict) else {}
    right = said.get("answer") == request["sample"]["label"]
    print(json.dumps({"id": request["id"], "score": SCORE}), flush=True)
"#;

/// A task of the workspace: how it scores, what rows it has, what else its spec says.
struct Made<'a> {
    name: &'a str,
    score: &'a str,
    /// What `run` says for an answer.
    output: &'a str,
    /// The numbers of the two splits that candidates are asked to double.
    train: &'a [u32],
    test: &'a [u32],
    more: &'a str,
    candidates: [&'a str; 2],
}

impl Default for Made<'_> {
    fn default() -> Self {
        Self {
            name: "honest",
            score: "int(right)",
            output: "{'answer': output}",
            train: &[1, 2],
            test: &[3, 4, 5, 6],
            more: "",
            candidates: [BASELINE, SOLUTION],
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn taskwright(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taskwright"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn commit(root: &Path) {
    for words in [
        &["add", "--all"][..],
        &["-c", "user.name=x", "-c", "user.email=x@y", "commit", "--quiet", "--allow-empty", "-m", "x"],
    ] {
        assert!(Command::new("git").args(words).current_dir(root).status().unwrap().success());
    }
}

/// A workspace with these tasks, which demands that their controls passed.
fn workspace(tasks: &[Made<'_>]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    assert!(Command::new("git").args(["init", "--quiet"]).current_dir(at).status().unwrap().success());
    // The binary that the sandbox is in: the one of this repository's own tasks.
    let built = taskwright(&root(), &["build-tasks", "circle-packing", "--quiet"]);
    assert!(built.status.success(), "{}", said(&built));
    let name = format!("taskwright-{}", std::env::consts::ARCH);
    let binary = root().join("target/harbor-tasks/circle-packing/environment/bin").join(name);
    fs::create_dir_all(at.join("bin")).unwrap();
    fs::copy(binary, at.join("bin/taskwright")).unwrap();
    write(at, "taskwright.toml", "binary = \"bin/taskwright\"\ncontrols = true\n");
    write(at, ".gitignore", "/target\n");
    for made in tasks {
        let Made { name, score, output, train, test, more, candidates: [baseline, solution] } = made;
        let task = |path: &str| format!("harbor-tasks/{name}/{path}");
        let rows = [("train", train), ("test", test)].into_iter().flat_map(|(split, numbers)| {
            numbers.iter().map(move |x| {
                let label = 2 * x;
                format!("{{\"id\":\"{split}-{x}\",\"split\":\"{split}\",\"x\":{x},\"label\":{label}}}\n")
            })
        });
        write(at, &task("rows.jsonl"), &rows.collect::<String>());
        write(at, &task("baseline/main.py"), baseline);
        write(at, &task("solution/main.py"), solution);
        write(at, &task("scorer/run.py"), &RUN.replace("OUTPUT", output));
        write(at, &task("scorer/score.py"), &SCORER.replace("SCORE", score));
        write(at, &task("instruction.md"), "Double numbers.\n");
        let spec = format!(
            "name = \"{name}\"\ndescription = \"Double numbers\"\nmode = \"a\"\n\
             [baseline]\npath = \"baseline\"\n[instruction]\nfile = \"instruction.md\"\n[solution]\npath = \"solution\"\n\
             [dataset]\npath = \"rows.jsonl\"\nlabels = [\"label\"]\n\
             [splits.train]\nsamples = {{ field = \"split\", equals = \"train\" }}\naccess = \"viewable\"\n\
             [splits.test]\nsamples = {{ field = \"split\", equals = \"test\" }}\n[[targets]]\nsplit = \"test\"\n\
             [scorer]\npath = \"scorer\"\nrun = [\"python3\", \"{{scorer}}/run.py\"]\nscore = [\"python3\", \"{{scorer}}/score.py\"]\n\
             batch = 100\n{more}"
        );
        write(at, &task("spec.toml"), &spec);
    }
    commit(at);
    folder
}

/// The verdicts of a task's controls, and its notes.
fn validated(folder: &Path, name: &str) -> (BTreeMap<String, String>, String, Output) {
    let output = taskwright(folder, &["validate", name, "--json"]);
    let answer: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    let task = &answer["tasks"][0];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let controls = task["controls"].as_array().unwrap().iter();
    let verdicts = controls.map(|control| (text(&control["control"]), text(&control["verdict"]))).collect();
    (verdicts, format!("{answer:#}"), output)
}

#[track_caller]
fn fails(made: Made<'_>, expected: &[&str]) -> String {
    let name = made.name;
    let folder = workspace(&[made]);
    let (verdicts, whole, output) = validated(folder.path(), name);
    let failed: Vec<&str> = verdicts
        .iter()
        .filter(|(_, verdict)| *verdict == "fail")
        .map(|(control, _)| control.as_str())
        .collect();
    assert_eq!(failed, expected, "{whole}");
    assert_eq!(output.status.code(), Some(1), "{whole}");
    let locked = taskwright(folder.path(), &["build-tasks", "--locked"]);
    let complaint = said(&locked);
    assert!(
        !locked.status.success() && complaint.contains(&format!("controls of `{name}` did not pass")),
        "{complaint}"
    );
    whole
}

#[test]
fn a_sound_task_passes_and_a_locked_build_believes_it_until_it_changes() {
    let folder = workspace(&[Made::default()]);
    let at = folder.path();
    let build =
        |locked: bool| taskwright(at, if locked { &["build-tasks", "--locked"] } else { &["build-tasks"] });
    assert!(build(false).status.success());
    assert!(said(&build(true)).contains("the controls of `honest` were never run"), "{}", said(&build(true)));

    let (verdicts, whole, output) = validated(at, "honest");
    assert!(output.status.success(), "{whole}");
    for (control, verdict) in &verdicts {
        let expected = match control.as_str() {
            "clock" => "not-applicable",
            "leftovers" | "trespass" if verdict == "not-applicable" => continue,
            _ => "pass",
        };
        assert_eq!(verdict, expected, "{control}: {whole}");
    }
    assert!(build(true).status.success(), "{}", said(&build(true)));
    let lock = || fs::read_to_string(at.join("harbor-tasks/taskwright.lock")).unwrap();
    let evidence = "oracle = { verdict = \"pass\", score = 1.0 }\n";
    assert!(lock().contains(evidence), "{}", lock());

    // What was run against another scorer stays, and says nothing of this one.
    let scorer = SCORER.replace("SCORE", "float(right)");
    write(at, "harbor-tasks/honest/scorer/score.py", &scorer);
    assert!(build(false).status.success());
    assert!(lock().contains(evidence), "{}", lock());
    let complaint = said(&build(true));
    assert!(complaint.contains("run against something else: `scorer` changed since"), "{complaint}");
    write(at, "taskwright.toml", "binary = \"bin/taskwright\"\n");
    assert!(build(true).status.success(), "{}", said(&build(true)));
}

#[test]
fn a_scorer_that_gives_everything_a_good_score_is_found() {
    let made = Made { name: "generous", score: "1.0", ..Made::default() };
    let whole = fails(made, &["empty", "hollow", "oracle", "silent"]);
    assert!(whole.contains("`baseline` and `oracle` answered otherwise and scored the same"), "{whole}");
}

#[test]
fn samples_that_are_held_out_and_shown_are_found() {
    let made = Made { name: "leaky", train: &[1, 3, 5], ..Made::default() };
    let whole = fails(made, &["replay"]);
    assert!(whole.contains("2 of 4 samples shown to the optimizer too"), "{whole}");
}

#[test]
fn a_scorer_that_believes_a_claim_is_found() {
    let made = Made { name: "gullible", score: "said.get('score', int(right))", ..Made::default() };
    fails(made, &["forged"]);
}

#[test]
fn a_time_that_the_candidate_can_set_is_found() {
    let slow =
        |seconds: &str| format!("import time\ndef answer(x):\n    time.sleep({seconds})\n    return 2 * x\n");
    let (baseline, solution) = (slow("0.04"), slow("0.01"));
    let made = Made {
        name: "timed",
        score: "1 / said['seconds'] if right else 0.0",
        output: "{'answer': output, 'seconds': seconds}",
        more: "deterministic = false\n",
        candidates: [&baseline, &solution],
        ..Made::default()
    };
    fails(made, &["clock", "forged"]);
}

#[test]
fn a_scorer_that_varies_and_does_not_say_so_is_found() {
    let made = Made { name: "fickle", score: "random.random() if right else 0.0", ..Made::default() };
    let folder = workspace(&[made]);
    let (verdicts, whole, _) = validated(folder.path(), "fickle");
    assert_eq!(verdicts["repeat"], "fail", "{whole}");
}

#[test]
fn a_candidate_that_never_reaches_the_scorer_is_found() {
    // The solution changes what nothing imports.
    let made = Made { name: "astray", candidates: [BASELINE, BASELINE], ..Made::default() };
    let whole = fails(made, &["oracle"]);
    assert!(whole.contains("`baseline` and `oracle` answered the same on 4 samples"), "{whole}");
}

#[test]
fn a_waived_control_says_why_and_a_cheat_of_the_specs_own_is_tried() {
    let more =
        "[controls]\ncandidates = \"cheats\"\n[controls.waived]\nreplay = \"the answer is asked for\"\n";
    let made = Made { name: "waived", train: &[3, 5], more, ..Made::default() };
    let folder = workspace(&[made]);
    // A cheat that is none: it is right.
    write(folder.path(), "harbor-tasks/waived/cheats/right/main.py", SOLUTION);
    let (verdicts, whole, output) = validated(folder.path(), "waived");
    assert_eq!(
        (verdicts["replay"].as_str(), verdicts["cheat-right"].as_str()),
        ("not-applicable", "fail"),
        "{whole}"
    );
    assert!(whole.contains("waived: the answer is asked for"), "{whole}");
    assert_eq!(output.status.code(), Some(1));
}
