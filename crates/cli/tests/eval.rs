//! `cargo xtask eval` on the examples of this repository, for real.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[path = "eval/models.rs"]
mod models;
#[path = "eval/validate.rs"]
mod validate;

use serde_json::Value;
use taskwright_testing::{needs_engine, needs_harbor, test};

fn eval(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taskwright"));
    command.arg("eval").args(arguments).stdin(Stdio::null());
    // What a test needs from the network is not to be waited for.
    command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
    command
}

fn output(arguments: &[&str]) -> Output {
    eval(arguments).output().expect("the command starts")
}

fn json(arguments: &[&str]) -> Value {
    let output = output(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {said}"))
}

/// Where the examples are.
fn harbor_tasks() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../harbor-tasks")
}

/// The names of the trials in a job's folder, sorted.
fn trials(job: &str) -> Vec<String> {
    let entries = Path::new(job).read_dir().unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn circle_packing_needs_no_docker() {
    // An engine that is not there must not be missed.
    let run = |arguments: &[&str]| {
        let output = eval(arguments).env("DOCKER_HOST", "unix:///nonexistent").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let first = run(&["circle-packing", "--fresh", "--json"]);
    let splits = first["splits"].as_array().unwrap();
    assert_eq!(splits.len(), 3);
    for split in splits {
        assert_eq!(split["aggregate"]["mean"], 2.166_666_666_664_5, "{split}");
        assert_eq!(split["recorded"], 0);
    }
    let second = run(&["circle-packing", "--split", "train", "--json"]);
    assert_eq!(second["splits"][0]["recorded"], 1);
    assert_eq!(second["splits"][0]["samples"], first["splits"][1]["samples"]);
}

#[test]
fn the_specs_solution_is_better() {
    let solved =
        json(&["circle-packing", "--candidate", "solution", "--split", "validation", "--fresh", "--json"]);
    assert!(solved["splits"][0]["aggregate"]["mean"].as_f64().unwrap() > 2.5, "{solved}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../harbor-tasks/circle-packing/solution");
    let folder = folder.to_str().unwrap();
    let again = json(&["circle-packing", "--candidate", folder, "--split", "validation", "--json"]);
    assert_eq!(again["candidate"]["tree"], solved["candidate"]["tree"]);
    let baseline = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../harbor-tasks/circle-packing/baseline");
    // Not run: another test begins the baseline's records anew, and counts what is in them.
    let look = ["circle-packing", "--split", "train", "--dry-run", "--json"];
    let same = json(&[&look[..], &["--candidate", baseline.to_str().unwrap()]].concat());
    assert!(same["tree"].is_string());
    assert_eq!(same["tree"], json(&look)["tree"]);
}

#[test]
fn a_candidates_own_git_starts_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let (files, proof) = (folder.path().join("files"), folder.path().join("proof"));
    std::fs::create_dir(&files).unwrap();
    let baseline = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../harbor-tasks/circle-packing/baseline");
    std::fs::copy(baseline.join("packing.py"), files.join("packing.py")).unwrap();
    let monitor = format!("touch '{}'; false", proof.display());
    for arguments in [&["init", "--quiet"][..], &["config", "core.fsmonitor", &monitor], &["add", "--all"]] {
        assert!(Command::new("git").arg("-C").arg(&files).args(arguments).status().unwrap().success());
    }
    // Adding asked the monitor: it works.
    std::fs::remove_file(&proof).unwrap();
    let candidate = files.to_str().unwrap();
    let answer = json(&["circle-packing", "--split", "train", "--candidate", candidate, "--json"]);
    assert!(answer["splits"][0]["aggregate"]["mean"].is_number(), "{answer}");
    assert!(!proof.exists());
}

#[test]
fn what_is_asked_for_wrongly_is_refused() {
    for (arguments, words) in [
        (&["no-such-task"][..], "no-such-task"),
        (&["circle-packing", "--split", "nope"], "it has test, train, validation"),
        (&["circle-packing", "--split", "train", "--samples", "nope"], "has a sample `nope`"),
        (&["circle-packing", "--samples", "0"], "leaves nothing"),
        (&["circle-packing", "--candidate", "no/such"], "neither a folder nor a revision"),
        (&["circle-packing", "--environment", "modal"], "is for tasks of mode b"),
        (&["circle-packing", "--set", "x"], "gives no value"),
    ] {
        let output = output(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[test]
fn a_dry_run_says_the_command_and_the_configuration() {
    needs_harbor();
    needs_engine();
    let arguments =
        ["arithmetic", "--split", "test", "--samples", "1", "--environment", "modal", "--dry-run", "--json"];
    let output = output(&arguments);
    // It is evaluated here, where what the eval sidecar lacks is of no concern.
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !complaint.contains("sidecar"), "{complaint}");
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let words = said["command"].as_array().unwrap();
    assert!(words.contains(&"harbor==0.26.0".into()) && words.contains(&"--yes".into()), "{said}");
    assert_eq!(said["config"]["environment"]["type"], "modal");
    assert_eq!(said["config"]["tasks"].as_array().unwrap().len(), 1);
}

#[test]
fn arithmetic_is_scored_through_harbor() {
    needs_harbor();
    needs_engine();
    let baseline = json(&["arithmetic", "--fresh", "--split", "train", "--json"]);
    assert_eq!(baseline["splits"][0]["aggregate"]["mean"], 0.5, "{baseline}");
    assert_eq!(baseline["splits"][0]["trials_run"], 2);
    let solved = json(&["arithmetic", "--fresh", "--split", "test", "--candidate", "solution", "--json"]);
    assert_eq!(solved["splits"][0]["aggregate"]["mean"], 1.0, "{solved}");
    let again = json(&["arithmetic", "--split", "test", "--candidate", "solution", "--json"]);
    assert_eq!((&again["splits"][0]["trials_run"], &again["splits"][0]["recorded"]), (&0.into(), &2.into()));
}

#[test]
fn what_was_graded_before_a_kill_is_not_run_again() {
    needs_harbor();
    needs_engine();
    let words = ["arithmetic", "--split", "validation", "--n-concurrent", "1"];
    let mut killed = eval(&[&words[..], &["--fresh"]].concat())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = String::new();
    for line in BufReader::new(killed.stderr.take().unwrap()).lines().map(Result::unwrap) {
        said += &format!("{line}\n");
        if line.contains("1 of 2 done") {
            break;
        }
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let whole = json(&[&words[..], &["--json"]].concat());
    let split = &whole["splits"][0];
    assert_eq!(split["aggregate"]["mean"], 0.5, "{said}\n{whole}");
    assert_eq!((&split["recorded"], &split["trials_run"]), (&1.into(), &1.into()), "{said}\n{whole}");
    let jobs: Vec<&str> = split["jobs"].as_array().unwrap().iter().map(|job| job.as_str().unwrap()).collect();
    assert_eq!(jobs.len(), 2);
    let second = trials(jobs[1]);
    assert_eq!(second.len(), 1, "{second:?}");
    let counted: Vec<&str> = split["samples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sample| sample["attempts"]["list"][0]["trial"].as_str().unwrap())
        .collect();
    assert!(trials(jobs[0]).iter().any(|trial| counted.contains(&trial.as_str())));
    assert!(counted.contains(&second[0].as_str()));
}

fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
