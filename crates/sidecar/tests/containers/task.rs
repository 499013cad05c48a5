//! The task that is attacked: numbers to double, labels that nobody may see, and a scorer that repeats what it is given.

use std::fs;
use std::path::Path;
use std::process::Command;

/// What every label of the dataset contains.
pub const LABEL: &str = "LABEL-d41c5b";
/// The value of the sidecar's secret.
pub const SECRET: &str = "SECRET-9f8e7a";

/// The honest candidate, which is also the baseline's better half.
pub const HONEST: &str = r#"
import json, sys
for line in sys.stdin:
    row = json.loads(line)
    print(json.dumps({"id": row["id"], "output": row["input"]["x"] * 2}), flush=True)
"#;

/// The baseline answers everything with nothing.
const BASELINE: &str = r#"
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "output": None}), flush=True)
"#;

const SCORER: &str = r#"
import json, sys
for line in sys.stdin:
    row = json.loads(line)
    right = row.get("error") is None and row["output"] == row["sample"]["x"] * 2
    print(json.dumps({"id": row["id"], "score": 1.0 if right else 0.0, "metrics": {},
                      "feedback": repr(row["output"])[:4000]}), flush=True)
"#;

/// Writes what an image would bring into a folder, and the baseline's repository into another. The serve config may be
/// changed before it is written.
pub fn write(image: &Path, repository: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    for folder in ["baseline", "dataset", "scorer"] {
        fs::create_dir_all(image.join(folder)).unwrap();
    }
    fs::write(image.join("baseline/main.py"), BASELINE).unwrap();
    fs::write(image.join("baseline/keep.txt"), "as it is\n").unwrap();
    fs::write(image.join("scorer/score.py"), SCORER).unwrap();
    let mut rows = String::new();
    let mut ids = std::collections::BTreeMap::new();
    for (split, count) in [("train", 24), ("validation", 20), ("test", 4)] {
        for number in 0..count {
            let id = format!("{split}-{number}");
            let label = format!("{LABEL}-{id}");
            rows += &serde_json::json!({ "id": id, "x": number + 1, "label": label }).to_string();
            rows.push('\n');
            ids.entry(split).or_insert_with(Vec::new).push(id);
        }
    }
    fs::write(image.join("dataset/rows.jsonl"), rows).unwrap();
    let (commit, tree) = repository_of(&image.join("baseline"), repository);
    let split = |name: &str, access: &str, floor: u64, budget: serde_json::Value| {
        serde_json::json!({ "access": access, "budget": budget, "min_samples": floor, "expose": false,
            "samples": ids[name] })
    };
    let mut serve = serde_json::json!({
        "serve_version": 1, "task": "tests/attacked", "version": "1.0.0", "description": "Double numbers",
        "mode": "a", "baseline": { "commit": commit, "tree": tree, "read_only": ["keep.txt"] },
        "objective": { "metric": "score", "direction": "maximize", "failure_value": 0.0, "constraints": [] },
        "splits": {
            "train": split("train", "viewable", 5, serde_json::json!({})),
            "validation": split("validation", "non_viewable", 5, serde_json::json!({ "runs": 6, "samples": 60 })),
            "test": split("test", "no_access", 5, serde_json::json!({})),
        },
        "selection": { "split": "validation" },
        "targets": [{ "split": "test", "reward_key": "reward", "samples": ids["test"], "attempts": 1,
            "aggregate": "mean", "failure_value": 0.0, "direction": "maximize", "max_attempts": 1 }],
        "limits": { "sample_timeout_sec": 8, "concurrency": 2, "memory_mb": 256, "processes": 24,
            "file_size_mb": 8, "output_mb": 1, "candidate_mb": 8 },
        "feedback": { "transcripts": true, "max_bytes": 8000, "attempts": false },
        "scorer": { "run": ["python3", "main.py"], "score": ["python3", "{scorer}/score.py"], "batch": 1,
            "deterministic": true, "env": {}, "rows": ["rows.jsonl"], "id": "id", "labels": ["label"],
            "scorer_digest": "sha256:0", "dataset_digest": "sha256:0" },
        "secrets": ["TASK_SECRET"],
    });
    change(&mut serve);
    fs::write(image.join("serve.json"), serve.to_string()).unwrap();
}

/// Commits files as a build would, and returns the commit and its tree.
fn repository_of(files: &Path, repository: &Path) -> (String, String) {
    fs::create_dir_all(repository).unwrap();
    for entry in fs::read_dir(files).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), repository.join(entry.file_name())).unwrap();
    }
    git(repository, &["init", "--quiet", "--initial-branch=main", "."]);
    git(repository, &["add", "--all"]);
    git(repository, &["commit", "--quiet", "--message", "Baseline"]);
    (git(repository, &["rev-parse", "HEAD"]), git(repository, &["rev-parse", "HEAD^{tree}"]))
}

/// Runs git as the build's author.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .args(["-c", "core.autocrlf=false", "-c", "commit.gpgSign=false"])
        .args(arguments);
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "Taskwright")
            .env(format!("GIT_{who}_EMAIL"), "taskwright@localhost")
            .env(format!("GIT_{who}_DATE"), "1000000000 +0000");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
