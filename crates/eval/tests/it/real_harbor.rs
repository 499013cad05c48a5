//! Mode B with the real uv, Harbor and Docker, on the inner tasks of the example `arithmetic`. Skipped where one is missing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use taskwright_eval::{
    Cancel, End, ErrorClass, EvaluationB, HostPlace, ModeB, ModeBOptions, Observer, Outcome, Place, PlanB,
    SampleResult, Trials,
};
use taskwright_harbor::child::Environment;
use taskwright_testing::{needs_engine, needs_harbor, test};

struct Aloud;

impl Observer for Aloud {
    fn sample(&self, result: &SampleResult, _: bool) {
        eprintln!("{}: {:?}", result.id, result.value);
    }
    fn trials(&self, _: &Trials) {}
    fn say(&self, what: &str) {
        eprintln!("{what}");
    }
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../harbor-tasks/arithmetic").canonicalize().unwrap()
}

/// Evaluates a copy of the example's baseline, changed, on tasks of a registry file.
fn evaluate(folder: &Path, change: impl Fn(&Path), samples: &[&str], source: &Value) -> EvaluationB {
    let candidate = folder.join("candidate");
    copy(&example().join("baseline"), &candidate);
    change(&candidate);
    let tasks: Vec<Value> = ["add-train", "mul-train"]
        .map(|name| json!({"name": name, "path": example().join("inner-tasks").join(name)}))
        .to_vec();
    let registry = json!([{"name": "sums", "version": "1.0", "description": "d", "tasks": tasks}]);
    let registry_path = folder.join("registry.json");
    std::fs::write(&registry_path, registry.to_string()).unwrap();
    let config = json!({
        "serve_version": 1, "task": "acme/nested", "version": "1.0.0", "description": "d", "mode": "b",
        "baseline": {"commit": "0".repeat(40), "tree": "0".repeat(40), "read_only": []},
        "objective": {"failure_value": -1.0}, "splits": {}, "selection": {}, "targets": [],
        "limits": {"sample_timeout_sec": 600}, "feedback": {}, "secrets": [],
        "harbor": {"run": {"source": source, "agent": "arithmetic_agent.agent:ArithmeticAgent"}, "tasks": {}},
    });
    let mode = ModeB::open(ModeBOptions {
        serve: Arc::new(serde_json::from_value(config).unwrap()),
        inner_tasks: folder.join("none"),
        work: folder.join("work"),
        environment: Environment::inherited(),
        registry_path: Some(registry_path),
        place: Place::Host(HostPlace { environment: example() }),
    })
    .unwrap();
    let samples: Vec<String> = samples.iter().map(|sample| (*sample).to_owned()).collect();
    let rules = mode.rules(Some(4000));
    let record = folder.join("record");
    let plan =
        PlanB { candidate: &candidate, samples: &samples, rules: &rules, record: &record, name: "nested" };
    mode.evaluate(&plan, &Aloud, &Cancel::new()).unwrap()
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        std::fs::copy(from, to).unwrap();
    }
}

fn sums() -> Value {
    json!({"registry": "sums", "version": "1.0"})
}

#[test]
fn tasks_of_a_registry_file_are_run() {
    needs_harbor();
    needs_engine();
    let folder = tempfile::tempdir().unwrap();
    let evaluation = evaluate(folder.path(), |_| {}, &["add-train"], &sums());
    assert_eq!(evaluation.result.aggregate.mean, Some(1.0), "{evaluation:#?}");
    assert_eq!((evaluation.trials_run, evaluation.notes.len()), (1, 0));
    let attempts = evaluation.result.samples[0].attempts.clone().unwrap();
    assert_eq!((attempts.graded, attempts.list.len()), (1, 1));
    let phases = attempts.list[0].phases;
    assert!(phases.environment_setup.is_some() && phases.verifier.is_some(), "{phases:?}");
}

#[test]
fn an_agent_that_cannot_be_made_is_the_candidates_failure() {
    needs_harbor();
    needs_engine();
    let agent = Path::new("arithmetic_agent/agent.py");
    let appended = |text: &'static str| {
        move |candidate: &Path| {
            let file = candidate.join(agent);
            let old = std::fs::read_to_string(&file).unwrap();
            std::fs::write(&file, old + text).unwrap();
        }
    };
    let faults = [
        ("\nimport nothing_of_that_name\n", "nothing_of_that_name"),
        (
            "\ndef broken(self, *a, **k):\n    raise RuntimeError('no agent today')\nArithmeticAgent.__init__ = broken\n",
            "no agent today",
        ),
    ];
    // Each waits for Harbor and Docker more than it computes.
    std::thread::scope(|scope| {
        for (text, words) in faults {
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                let evaluation = evaluate(folder.path(), appended(text), &["add-train"], &sums());
                assert_eq!(evaluation.result.end, End::Completed, "{evaluation:#?}");
                let sample = &evaluation.result.samples[0];
                assert_eq!(
                    (sample.value, sample.error_class()),
                    (Some(-1.0), Some(ErrorClass::Candidate)),
                    "{evaluation:#?}"
                );
                let Outcome::CandidateError { detail, .. } = &sample.outcome else { panic!("{sample:?}") };
                assert!(detail.contains(words), "{detail}");
            });
        }
    });
}

#[test]
fn an_agents_own_exception_counts_whatever_it_is_called() {
    needs_harbor();
    needs_engine();
    // Named as what a model's service raises.
    let fault = "class RateLimitError(Exception):\n    pass\n\nasync def run(self, instruction, environment, context):\n    \
                 raise RateLimitError('quota exceeded (really)')\n";
    let appended = |candidate: &Path| {
        let file = candidate.join("arithmetic_agent/agent.py");
        let old = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{old}\n\n{fault}\nArithmeticAgent.run = run\n")).unwrap();
    };
    let folder = tempfile::tempdir().unwrap();
    let evaluation = evaluate(folder.path(), appended, &["mul-train"], &sums());
    let (sample, all) = (&evaluation.result.samples[0], &evaluation.result.aggregate);
    let found = (sample.value, sample.error_class());
    assert_eq!(found, (Some(-1.0), Some(ErrorClass::Candidate)), "{evaluation:#?}");
    assert_eq!((all.mean, all.infrastructure_errors), (Some(-1.0), 0), "{evaluation:#?}");
}
