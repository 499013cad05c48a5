//! What the tests of this crate share: a task in a temporary folder, evaluated for real.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use taskwright_eval::{Cancel, EvaluationResult, IsolationMode, ModeA, Options, Plan, SampleResult};
use taskwright_language::serve::ServeConfig;

/// The stand-in for the `taskwright` binary.
pub const TASKWRIGHT: &str = env!("CARGO_BIN_EXE_taskwright-sandbox-for-tests");

/// Whether candidates get users of their own here.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The repository's root.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// A folder that others than us may pass through.
pub fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o711))
        .expect("rights of our own folder");
    folder
}

pub fn write(path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
    let path = path.as_ref();
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).expect("a folder");
    }
    std::fs::write(path, text).expect("a file");
}

/// A task whose samples are `a`, `b` and `c`, with a label, run by a shell or Python script of the candidate's. Its limits
/// of time are not for reaching: a busy machine may take seconds to start a process.
pub struct Task {
    pub folder: tempfile::TempDir,
    pub config: Value,
}

/// A scorer that gives 1 for the label, 0 else, and says what it got.
pub const SCORER: &str = r#"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    right = request["error"] is None and request["output"] == request["sample"]["label"]
    feedback = f"error {request['error']}" if request["error"] else "right" if right else "wrong"
    print(json.dumps({"id": request["id"], "score": int(right), "metrics": {"n": 1}, "feedback": feedback}), flush=True)
"#;

/// A candidate that answers correctly: the label is twice the input.
pub const HONEST: &str = r#"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], "output": request["input"]["x"] * 2}), flush=True)
"#;

impl Task {
    pub fn new() -> Self {
        let folder = folder();
        write(
            folder.path().join("secret/dataset/rows.jsonl"),
            "{\"id\":\"a\",\"x\":1,\"label\":2}\n{\"id\":\"b\",\"x\":2,\"label\":4}\n{\"id\":\"c\",\"x\":3,\"label\":6}\n",
        );
        write(folder.path().join("secret/scorer/score.py"), SCORER);
        std::fs::set_permissions(folder.path().join("secret"), PermissionsExt::from_mode(0o700))
            .expect("rights");
        let config = json!({
            "serve_version": 1, "task": "test/test", "version": "1.0.0", "description": "a test", "mode": "a",
            "baseline": {"commit": "0".repeat(40), "tree": "0".repeat(40), "read_only": []},
            "objective": {"metric": "score", "direction": "maximize", "failure_value": 0.0, "constraints": []},
            "splits": {"all": {
                "access": "viewable", "budget": {"runs": "unlimited", "samples": "unlimited"}, "min_samples": 1,
                "expose": false, "samples": ["a", "b", "c"],
            }},
            "selection": {"split": "all"},
            "targets": [],
            "limits": {
                "evaluation_timeout_sec": 900, "sample_timeout_sec": 120, "memory_mb": 256, "file_size_mb": 16,
                "output_mb": 4, "processes": 32, "concurrency": 2,
            },
            "feedback": {},
            "scorer": {
                "run": ["python3", "{candidate}/main.py"], "score": ["python3", "{scorer}/score.py"], "batch": 1,
                "deterministic": true, "env": {}, "rows": ["rows.jsonl"], "id": "id", "labels": ["label"],
                "scorer_digest": "", "dataset_digest": "",
            },
            "secrets": [],
        });
        Self { folder, config }
    }

    /// Sets a value in the configuration, by its path.
    pub fn set(mut self, path: &str, value: impl Into<Value>) -> Self {
        let mut at = &mut self.config;
        for name in path.split('.') {
            at = &mut at[name];
        }
        *at = value.into();
        self
    }

    pub fn scorer(self, text: &str) -> Self {
        write(self.folder.path().join("secret/scorer/score.py"), text);
        self
    }

    pub fn dataset(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        write(self.folder.path().join("secret/dataset").join(name), text);
        self
    }

    pub fn serve(&self) -> Arc<ServeConfig> {
        Arc::new(serde_json::from_value(self.config.clone()).expect("a serve config"))
    }

    pub fn open(&self) -> ModeA {
        self.open_with(PATH)
    }

    /// Opens it with another `PATH`.
    pub fn open_with(&self, path: &str) -> ModeA {
        let secret = self.folder.path().join("secret");
        let runtime = self.folder.path().join("run");
        evaluator_with(path, self.serve(), &secret.join("dataset"), &secret.join("scorer"), &runtime)
    }

    /// A candidate that is one Python file.
    pub fn candidate(&self, name: &str, text: &str) -> PathBuf {
        let folder = self.folder.path().join("candidates").join(name);
        write(folder.join("main.py"), text);
        folder
    }

    /// Evaluates a candidate that is one Python file on every sample.
    pub fn evaluate(&self, text: &str) -> EvaluationResult {
        evaluate(&self.open(), &self.candidate("candidate", text), &["a", "b", "c"])
    }
}

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

pub fn evaluator(serve: Arc<ServeConfig>, dataset: &Path, scorer: &Path, runtime: &Path) -> ModeA {
    evaluator_with(PATH, serve, dataset, scorer, runtime)
}

fn evaluator_with(
    path: &str,
    serve: Arc<ServeConfig>,
    dataset: &Path,
    scorer: &Path,
    runtime: &Path,
) -> ModeA {
    let options = Options {
        serve,
        dataset: dataset.to_owned(),
        scorer: scorer.to_owned(),
        taskwright: TASKWRIGHT.into(),
        runtime: runtime.to_owned(),
        isolation: if is_root() { IsolationMode::Required } else { IsolationMode::BestEffort },
        path: Some(path.to_owned()),
        hidden: Vec::new(),
    };
    match ModeA::open(options) {
        Ok(evaluator) => evaluator,
        Err(error) => panic!("{error}"),
    }
}

pub fn evaluate(evaluator: &ModeA, candidate: &Path, samples: &[&str]) -> EvaluationResult {
    let samples: Vec<String> = samples.iter().map(|id| (*id).to_owned()).collect();
    evaluator.evaluate(
        &Plan { candidate, samples: &samples, models: None },
        &|_: &SampleResult| {},
        &Cancel::new(),
    )
}

/// The samples as short texts: `id: value error detail`.
pub fn shown(result: &EvaluationResult) -> Vec<String> {
    result
        .samples
        .iter()
        .map(|sample| format!("{} {:?} {:?}", sample.id, sample.value, sample.outcome))
        .collect()
}
