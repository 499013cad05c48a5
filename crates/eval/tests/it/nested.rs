//! Mode B with a stand-in for uv and Harbor: what is run, what is kept, and what each fault comes to.

use std::cell::RefCell;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use taskwright_base::Error;
use taskwright_eval::sandbox::SandboxOptions;
use taskwright_eval::{
    Cancel, End, ErrorClass, EvaluationB, HostPlace, IsolationMode, ModeB, ModeBOptions, Observer, Outcome,
    Place, PlanB, RunErrorKind, SampleResult, Sandbox, SidecarPlace, Trials,
};
use taskwright_harbor::child::Environment;
use taskwright_harbor::digest::content_digest;
use taskwright_testing::{Need, not_run, test};

/// A task with the inner tasks `one` and `two`, a candidate, and a uv that does what it is told.
struct Nested {
    folder: tempfile::TempDir,
    config: Value,
    attempts: u64,
}

struct Told {
    finished: RefCell<Vec<(String, bool)>>,
    said: RefCell<Vec<String>>,
    /// Cancels when a sample is finished.
    cancel: Option<Cancel>,
}

impl Observer for Told {
    fn sample(&self, result: &SampleResult, recorded: bool) {
        self.finished.borrow_mut().push((result.id.clone(), recorded));
        if let Some(cancel) = &self.cancel {
            cancel.cancel();
        }
    }
    fn trials(&self, _: &Trials) {}
    fn say(&self, what: &str) {
        self.said.borrow_mut().push(what.to_owned());
    }
}

impl Nested {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let mut tasks = serde_json::Map::new();
        for name in ["one", "two"] {
            let task = path.join("inner").join(name);
            std::fs::create_dir_all(task.join("tests")).unwrap();
            std::fs::write(task.join("task.toml"), format!("[task]\nname = \"inner/{name}\"\n")).unwrap();
            std::fs::write(task.join("tests/test.sh"), "echo 1\n").unwrap();
            let digest = content_digest(&task).unwrap().to_string();
            tasks.insert(
                name.to_owned(),
                json!({"directory": name, "name": format!("inner/{name}"), "digest": digest}),
            );
        }
        for project in ["candidate", "environment/baseline"] {
            std::fs::create_dir_all(path.join(project)).unwrap();
            let file = path.join(project).join("pyproject.toml");
            std::fs::write(file, "[project]\nname = \"agent\"\n").unwrap();
        }
        std::fs::create_dir(path.join("bin")).unwrap();
        // A link, not a copy: what one test has open for writing, a process that another test just starts has open as
        // well for a moment, and what is open for writing cannot be executed.
        let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/common/fake_uv.py");
        std::os::unix::fs::symlink(fake, path.join("bin/uv")).unwrap();
        let config = json!({
            "serve_version": 1, "task": "acme/nested", "version": "1.0.0", "description": "d", "mode": "b",
            "baseline": {"commit": "0".repeat(40), "tree": "0".repeat(40), "read_only": []},
            "objective": {"failure_value": -1.0},
            "splits": {"all": {
                "access": "viewable", "budget": {"runs": "unlimited", "samples": "unlimited"}, "min_samples": 1,
                "expose": false, "samples": ["one", "two"],
            }},
            "selection": {}, "targets": [],
            "limits": {"sample_timeout_sec": 600, "infrastructure_retry_delay_sec": 0},
            "feedback": {},
            "harbor": {"run": {"source": {"path": "inner"}, "agent": "agent:Agent"}, "tasks": tasks},
            "secrets": [],
        });
        let nested = Self { folder, config, attempts: 1 };
        nested.fake(&json!({"trials": {}}));
        nested
    }

    /// What the stand-in does from now on.
    fn fake(&self, what: &Value) {
        std::fs::write(self.folder.path().join("bin/fake.json"), what.to_string()).unwrap();
    }

    fn limit(mut self, name: &str, value: u64) -> Self {
        self.config["limits"][name] = json!(value);
        self
    }

    fn told() -> Told {
        Told { finished: RefCell::default(), said: RefCell::default(), cancel: None }
    }

    fn mode(&self) -> ModeB {
        self.mode_at(Place::Host(HostPlace { environment: self.folder.path().join("environment") }))
    }

    fn mode_at(&self, place: Place) -> ModeB {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.folder.path().join("bin").display());
        ModeB::open(ModeBOptions {
            serve: Arc::new(serde_json::from_value(self.config.clone()).unwrap()),
            inner_tasks: self.folder.path().join("inner"),
            work: self.folder.path().join("work"),
            environment: Environment::default().with("PATH", path),
            registry_path: None,
            place,
        })
        .unwrap()
    }

    /// As in a sidecar: with a user of its own, who may write where the stand-in keeps its notes.
    fn sidecar(&self) -> Place {
        let path = self.folder.path();
        for (folder, mode) in [("", 0o711), ("bin", 0o777), ("harbor", 0o755), ("cache", 0o755)] {
            let folder = path.join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::set_permissions(&folder, PermissionsExt::from_mode(mode)).unwrap();
        }
        // The repository may lie where the user cannot go. Another process makes the copy; see above.
        let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/common/fake_uv.py");
        std::fs::remove_file(path.join("bin/uv")).unwrap();
        let copied = std::process::Command::new("cp").args([&fake, &path.join("bin/uv")]).status();
        assert!(copied.unwrap().success());
        let sandbox = Sandbox::open(SandboxOptions {
            taskwright: env!("CARGO_BIN_EXE_taskwright-sandbox-for-tests").into(),
            runtime: path.join("runtime"),
            isolation: IsolationMode::Required,
            path: None,
            hidden: Vec::new(),
        });
        Place::Sidecar(SidecarPlace {
            harbor: path.join("harbor"),
            requirements: path.join("requirements.txt"),
            cache: path.join("cache"),
            sandbox: sandbox.unwrap(),
            docker_socket: None,
        })
    }

    fn try_with(&self, told: &Told, cancel: &Cancel) -> Result<EvaluationB, Error> {
        self.try_at(&self.mode(), told, cancel)
    }

    fn try_at(&self, mode: &ModeB, told: &Told, cancel: &Cancel) -> Result<EvaluationB, Error> {
        let mut rules = mode.rules(None);
        rules.attempts = self.attempts;
        let samples = ["one".to_owned(), "two".to_owned()];
        let plan = PlanB {
            candidate: &self.folder.path().join("candidate"),
            samples: &samples,
            rules: &rules,
            record: &self.folder.path().join("record"),
            name: "nested-all",
        };
        mode.evaluate(&plan, told, cancel)
    }

    fn evaluate(&self) -> EvaluationB {
        self.try_with(&Self::told(), &Cancel::new()).unwrap()
    }

    /// The calls of uv that ran Harbor.
    fn runs(&self) -> Vec<Vec<String>> {
        let calls = std::fs::read_to_string(self.folder.path().join("bin/calls")).unwrap_or_default();
        let calls = calls.lines().map(|line| serde_json::from_str::<Vec<String>>(line).unwrap());
        calls.filter(|words| words.contains(&"harbor".to_owned())).collect()
    }

    /// The configuration of a job.
    fn job(&self, number: u32) -> Value {
        let path = self.folder.path().join(format!("record/rounds/{number:04}.json"));
        serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
    }

    fn tasks_of_job(&self, number: u32) -> Vec<String> {
        let job = self.job(number);
        let paths =
            job["tasks"].as_array().unwrap().iter().map(|task| PathBuf::from(task["path"].as_str().unwrap()));
        paths.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }
}

fn values(evaluation: &EvaluationB) -> Vec<Option<f64>> {
    evaluation.result.samples.iter().map(|sample| sample.value).collect()
}

fn infrastructure(evaluation: &EvaluationB, place: usize) -> String {
    match &evaluation.result.samples[place].outcome {
        Outcome::Infrastructure { message, .. } => message.clone(),
        other => panic!("not a failure of ours: {other:?}"),
    }
}

#[test]
fn an_evaluation_is_run_once_and_answered_from_its_record() {
    let nested = Nested::new();
    nested.fake(&json!({"trials": {"one": ["1"], "two": ["0"]}}));
    let told = Nested::told();
    let first = nested.try_with(&told, &Cancel::new()).unwrap();
    assert_eq!((values(&first), first.result.end), (vec![Some(1.0), Some(0.0)], End::Completed));
    assert_eq!((first.result.aggregate.mean, first.trials_run), (Some(0.5), 2));
    assert_eq!(told.finished.borrow().len(), 2);
    let words = &nested.runs()[0];
    assert!(words.contains(&"harbor==0.26.0".to_owned()) && words.contains(&"--yes".to_owned()), "{words:?}");
    let copies = nested.folder.path().canonicalize().unwrap().join("work/inner-tasks");
    assert!(Path::new(nested.job(1)["tasks"][0]["path"].as_str().unwrap()).starts_with(copies));

    let told = Nested::told();
    let second = nested.try_with(&told, &Cancel::new()).unwrap();
    assert_eq!((&second.result.samples, second.trials_run), (&first.result.samples, 0));
    assert_eq!(nested.runs().len(), 1);
    assert!(told.finished.borrow().iter().all(|(_, recorded)| *recorded));
}

#[test]
fn only_what_we_failed_is_run_again() {
    let nested = Nested::new();
    nested
        .fake(&json!({"trials": {"one": ["raise:NonZeroAgentExitCodeError"], "two": ["environment", "1"]}}));
    let first = nested.evaluate();
    assert_eq!(values(&first), [Some(-1.0), None]);
    assert_eq!(first.result.samples[1].error_class(), Some(ErrorClass::Infrastructure));
    assert_eq!(first.result.end, End::Failed);
    let second = nested.evaluate();
    assert_eq!(values(&second), [Some(-1.0), Some(1.0)]);
    assert_eq!((nested.tasks_of_job(2), second.trials_run), (vec!["two".to_owned()], 1));
}

#[test]
fn a_candidate_cannot_drop_the_samples_that_it_cannot_do() {
    // Names of Harbor's own, and a cancellation that nobody asked for, in a job that came to its end by itself.
    for kind in ["RateLimitError", "APIError", "NotFoundError", "CancelledError"] {
        let nested = Nested::new();
        nested.fake(&json!({"trials": {"one": ["1"], "two": [format!("raise:{kind}"), "1"]}}));
        let evaluation = nested.evaluate();
        assert_eq!(values(&evaluation), [Some(1.0), Some(-1.0)], "{kind}");
        assert_eq!(evaluation.result.samples[1].error_class(), Some(ErrorClass::Candidate), "{kind}");
    }
    // What Harbor's own code raised is not the candidate's, and is run again.
    let nested = Nested::new().limit("infrastructure_max_attempts", 2);
    nested.fake(&json!({"trials": {"one": ["1"], "two": ["harbor raises:RuntimeRequestError", "1"]}}));
    assert_eq!(values(&nested.evaluate()), [Some(1.0), Some(1.0)]);
}

#[test]
fn samples_that_we_failed_are_tried_as_often_as_the_spec_says() {
    let nested = Nested::new().limit("infrastructure_max_attempts", 3);
    nested.fake(&json!({"trials": {"one": ["1"], "two": ["environment", "none", "1"]}}));
    let told = Nested::told();
    let evaluation = nested.try_with(&told, &Cancel::new()).unwrap();
    assert_eq!(values(&evaluation), [Some(1.0), Some(1.0)]);
    assert_eq!(nested.runs().len(), 3);
    // Once each, and not before it was finished.
    assert_eq!(*told.finished.borrow(), [("one".to_owned(), false), ("two".to_owned(), false)]);
}

#[test]
fn attempts_are_counted_each() {
    let mut nested = Nested::new();
    nested.attempts = 3;
    nested.fake(&json!({"trials": {"one": ["1", "environment", "0"], "two": ["1", "none", "none", "0"]}}));
    let first = nested.evaluate();
    assert_eq!(nested.job(1)["n_attempts"], 3);
    let counts = |evaluation: &EvaluationB, place: usize| {
        let attempts = evaluation.result.samples[place].attempts.clone().unwrap();
        (attempts.expected, attempts.graded, attempts.dead, attempts.missing)
    };
    assert_eq!((counts(&first, 0), counts(&first, 1)), ((3, 2, 1, 0), (3, 1, 0, 2)));
    assert_eq!(values(&first), [None, None]);
    let second = nested.evaluate();
    assert_eq!(nested.job(2)["n_attempts"], 1);
    assert_eq!(nested.tasks_of_job(2), ["one", "two", "two"]);
    assert_eq!((counts(&second, 0), counts(&second, 1)), ((3, 3, 0, 0), (3, 3, 0, 0)));
}

#[test]
fn a_candidate_that_hangs_is_not_waited_for() {
    let nested = Nested::new().limit("sample_timeout_sec", 5);
    nested.fake(&json!({"trials": {"one": ["hang"], "two": ["1"]}}));
    let evaluation = nested.evaluate();
    assert_eq!(values(&evaluation), [Some(-1.0), Some(1.0)]);
    let Outcome::CandidateError { kind, detail, .. } = &evaluation.result.samples[0].outcome else {
        panic!()
    };
    assert_eq!(*kind, RunErrorKind::Timeout);
    assert!(detail.contains("not finished after 5 s"), "{detail}");
    // It is on record.
    assert_eq!((nested.evaluate().trials_run, nested.runs().len()), (0, 1));
}

#[test]
fn an_environment_that_hangs_is_our_failure() {
    let nested = Nested::new().limit("sample_timeout_sec", 5);
    nested.fake(&json!({"trials": {"one": ["hang-environment", "1"], "two": ["1"]}}));
    let evaluation = nested.evaluate();
    assert_eq!(values(&evaluation), [Some(1.0), Some(1.0)]);
    assert_eq!(nested.tasks_of_job(2), ["one"]);
}

#[test]
fn what_is_finished_when_it_is_stopped_is_kept() {
    let nested = Nested::new();
    nested.fake(&json!({"trials": {"one": ["1"], "two": ["hang", "0"]}}));
    let cancel = Cancel::new();
    let told = Told { cancel: Some(cancel.clone()), ..Nested::told() };
    let stopped = nested.try_with(&told, &cancel).unwrap();
    assert_eq!((values(&stopped), stopped.result.end), (vec![Some(1.0), None], End::Cancelled));
    let whole = nested.evaluate();
    assert_eq!(
        (values(&whole), nested.tasks_of_job(2)),
        (vec![Some(1.0), Some(0.0)], vec!["two".to_owned()])
    );
}

#[test]
fn what_is_finished_when_time_is_over_is_kept() {
    let nested = Nested::new().limit("evaluation_timeout_sec", 12);
    nested.fake(&json!({"trials": {"one": ["1"], "two": ["hang", "0"]}}));
    let evaluation = nested.evaluate();
    assert_eq!((values(&evaluation), evaluation.result.end), (vec![Some(1.0), Some(-1.0)], End::TimedOut));
    assert_eq!(evaluation.result.samples[1].error_class(), Some(ErrorClass::Timeout));
    // Asked again it has time again.
    assert_eq!(values(&nested.evaluate()), [Some(1.0), Some(0.0)]);
}

#[test]
fn an_environment_that_never_came_up_is_our_failure_when_time_is_over() {
    let nested = Nested::new().limit("evaluation_timeout_sec", 12);
    nested.fake(&json!({"trials": {"one": ["hang-environment"], "two": ["none"]}}));
    let evaluation = nested.evaluate();
    assert_eq!((values(&evaluation), evaluation.result.end), (vec![None, None], End::Failed));
}

#[test]
fn a_candidate_whose_agent_cannot_be_made_has_failed() {
    let nested = Nested::new();
    nested.fake(&json!({"exit": 1, "probe": {"with": "ModuleNotFoundError: no module `agent`"}}));
    let evaluation = nested.evaluate();
    assert_eq!((values(&evaluation), evaluation.result.end), (vec![Some(-1.0), Some(-1.0)], End::Completed));
    let Outcome::CandidateError { detail, .. } = &evaluation.result.samples[0].outcome else { panic!() };
    assert!(detail.contains("ModuleNotFoundError"), "{detail}");
    // It is on record.
    nested.fake(&json!({"trials": {}}));
    assert_eq!(values(&nested.evaluate()), [Some(-1.0), Some(-1.0)]);
}

#[test]
fn a_harbor_that_does_not_start_is_our_failure() {
    for probe in [json!({"without": "no network", "with": "no network"}), json!({})] {
        let nested = Nested::new();
        nested.fake(&json!({"exit": 1, "probe": probe}));
        let evaluation = nested.evaluate();
        assert_eq!((values(&evaluation), evaluation.result.end), (vec![None, None], End::Failed));
        let trouble = evaluation.trouble.unwrap();
        assert!(trouble.contains("ended with status 1") && trouble.contains("cannot start"), "{trouble}");
        nested.fake(&json!({"trials": {}}));
        assert_eq!(values(&nested.evaluate()), [Some(1.0), Some(1.0)]);
    }
}

#[test]
fn an_exit_status_that_is_not_zero_takes_nothing_away() {
    let nested = Nested::new();
    nested.fake(&json!({"exit": 1, "trials": {"one": ["1"], "two": ["none"]}}));
    let evaluation = nested.evaluate();
    assert_eq!(values(&evaluation), [Some(1.0), None]);
    assert!(infrastructure(&evaluation, 1).contains("missing"));
    assert!(evaluation.trouble.unwrap().contains("ended with status 1"));
}

#[test]
fn a_result_that_is_half_written_is_run_again() {
    let nested = Nested::new();
    nested.fake(&json!({"trials": {"one": ["half", "1"]}}));
    let first = nested.evaluate();
    assert_eq!(values(&first), [None, Some(1.0)]);
    assert_eq!(first.notes.len(), 1);
    assert_eq!(values(&nested.evaluate()), [Some(1.0), Some(1.0)]);
}

#[test]
fn megabytes_of_output_are_cut() {
    let nested = Nested::new();
    nested.fake(&json!({"noise_mb": 40, "trials": {}}));
    assert_eq!(values(&nested.evaluate()), [Some(1.0), Some(1.0)]);
    let log = nested.folder.path().join("record/rounds/0001.log");
    assert!(std::fs::metadata(log).unwrap().len() <= 8 << 20);
}

#[test]
fn results_of_another_harbor_are_not_taken() {
    let nested = Nested::new();
    nested.fake(&json!({"harbor": "0.25.0", "trials": {}}));
    let error = nested.try_with(&Nested::told(), &Cancel::new()).unwrap_err().to_string();
    assert!(error.starts_with("Harbor 0.25.0 ran, not 0.26.0"), "{error}");
}

#[test]
fn a_uv_that_is_missing_or_old_is_said() {
    let nested = Nested::new();
    nested.fake(&json!({"version": "uv 0.2.1", "trials": {}}));
    let error = nested.try_with(&Nested::told(), &Cancel::new()).unwrap_err().to_string();
    assert!(error.contains("is version 0.2.1, but 0.5 or later is needed"), "{error}");
}

#[test]
fn a_candidate_that_asks_for_another_harbor_is_found_before_anything_starts() {
    let nested = Nested::new();
    let project = "[project]\nname = \"agent\"\ndependencies = [\"harbor==0.25.0\"]\n";
    std::fs::write(nested.folder.path().join("candidate/pyproject.toml"), project).unwrap();
    let evaluation = nested.evaluate();
    assert_eq!(values(&evaluation), [Some(-1.0), Some(-1.0)]);
    assert!(nested.runs().is_empty() && !nested.folder.path().join("record").exists());
}

#[test]
fn an_inner_task_that_was_edited_is_refused() {
    let nested = Nested::new();
    std::fs::write(nested.folder.path().join("inner/one/tests/test.sh"), "echo 2\n").unwrap();
    let error = nested.try_with(&Nested::told(), &Cancel::new()).unwrap_err().to_string();
    assert!(error.contains("build the task again"), "{error}");
}

#[test]
fn what_a_job_leaves_running_is_ended_before_the_next() {
    if !rustix::process::geteuid().is_root() {
        not_run(Need::Root, "only root has other users");
    }
    let mut nested = Nested::new().limit("infrastructure_max_attempts", 2);
    // A sidecar runs no Docker of its own.
    nested.config["harbor"]["run"]["environment"] = json!("modal");
    nested.fake(&json!({"trials": {"one": ["leave", "alone"], "two": ["1"]}}));
    let mode = nested.mode_at(nested.sidecar());
    let evaluation = nested.try_at(&mode, &Nested::told(), &Cancel::new()).unwrap();
    assert_eq!(values(&evaluation), [Some(1.0), Some(1.0)], "{evaluation:#?}");
    assert_eq!(nested.tasks_of_job(2), ["one"]);
}

#[test]
fn a_reward_key_is_demanded_only_where_one_is_named() {
    let mut nested = Nested::new();
    assert_eq!(nested.mode().rules(None).reward_key, None);
    // What would be taken anyway, if it is there.
    nested.config["harbor"]["run"]["reward_key"] = json!("reward");
    assert_eq!(nested.mode().rules(None).reward_key.as_deref(), Some("reward"));
    nested.config["harbor"]["run"]["reward_key"] = json!("accuracy");
    let evaluation = nested.evaluate();
    assert_eq!(values(&evaluation), [None, None]);
    let said = infrastructure(&evaluation, 0);
    assert!(said.contains("no `accuracy`; it reported `reward`"), "{said}");
}

#[test]
fn a_folder_of_somebody_elses_is_not_waited_for() {
    let nested = Nested::new().limit("sample_timeout_sec", 1);
    nested.fake(&json!({"notes": true, "linger_sec": 4, "trials": {"one": ["1"], "two": ["0"]}}));
    let told = Nested::told();
    let evaluation = nested.try_with(&told, &Cancel::new()).unwrap();
    assert_eq!(values(&evaluation), [Some(1.0), Some(0.0)]);
    assert!(!told.said.borrow().iter().any(|said| said.contains("stopping Harbor")), "{:?}", told.said);
}

#[test]
fn what_others_write_beside_a_job_is_no_score() {
    let nested = Nested::new();
    nested.fake(&json!({"trials": {"one": ["0"], "two": ["1"]}, "stranger": "one"}));
    let evaluation = nested.evaluate();
    assert_eq!(values(&evaluation), [None, Some(1.0)]);
    let said = infrastructure(&evaluation, 0);
    assert!(said.contains("more trials of the task `one` than the 1 it planned"), "{said}");
    // It is our failure, so it is run again.
    nested.fake(&json!({"trials": {"one": ["0.25"]}}));
    let again = nested.evaluate();
    assert_eq!(
        (values(&again), nested.tasks_of_job(2)),
        (vec![Some(0.25), Some(1.0)], vec!["one".to_owned()])
    );
}

#[test]
fn a_dry_run_runs_nothing() {
    let nested = Nested::new();
    let mode = nested.mode();
    let samples = ["two".to_owned()];
    let rules = mode.rules(None);
    let candidate = nested.folder.path().join("candidate");
    let record = nested.folder.path().join("record");
    let plan = PlanB { candidate: &candidate, samples: &samples, rules: &rules, record: &record, name: "x" };
    let dry = mode.dry_run(&plan).unwrap();
    assert!(dry.command.shell_line().contains("harbor run --config"));
    assert_eq!((dry.config.tasks.len(), dry.config.job_name.as_str()), (1, "x-0001"));
    assert!(nested.runs().is_empty() && !record.exists());
}

#[test]
fn what_is_on_record_of_other_samples_is_no_surprise() {
    let nested = Nested::new();
    nested.evaluate();
    let mode = nested.mode();
    let (rules, samples) = (mode.rules(None), ["two".to_owned()]);
    let plan = PlanB {
        candidate: &nested.folder.path().join("candidate"),
        samples: &samples,
        rules: &rules,
        record: &nested.folder.path().join("record"),
        name: "nested-all",
    };
    let told = Nested::told();
    let evaluation = mode.evaluate(&plan, &told, &Cancel::new()).unwrap();
    assert_eq!((values(&evaluation), evaluation.trials_run), (vec![Some(1.0)], 0));
    assert!(evaluation.notes.is_empty(), "{:?}", evaluation.notes);
    assert_eq!(*told.finished.borrow(), [("two".to_owned(), true)]);
}

/// What the stand-in was asked to resolve, each with its input before its arguments.
fn resolutions(nested: &Nested) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(nested.folder.path().join("bin/resolutions")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The file of requirements that a run of Harbor was given.
fn given(run: &[String]) -> PathBuf {
    let at = run.iter().position(|word| word == "--with-requirements").unwrap();
    PathBuf::from(&run[at + 1])
}

#[test]
fn harbor_and_the_baseline_are_resolved_together_once() {
    let nested = Nested::new();
    nested.fake(&json!({"trials": {"one": ["1"], "two": ["environment", "1"]}}));
    nested.evaluate();
    nested.evaluate();
    let (asked, runs) = (resolutions(&nested), nested.runs());
    assert_eq!((asked.len(), runs.len()), (1, 2), "{asked:?}");
    assert_eq!(asked[0][0], "harbor==0.26.0\n");
    assert!(asked[0].iter().any(|word| word.ends_with("/baseline/pyproject.toml")), "{asked:?}");
    assert_eq!(given(&runs[0]), given(&runs[1]));
    assert_eq!(std::fs::read_to_string(given(&runs[0])).unwrap(), "harbor==0.26.0\n");
}

#[test]
fn a_locked_task_asks_nobody() {
    let mut nested = Nested::new();
    nested.config["harbor"]["requirements"] = json!("sha256:00");
    nested.evaluate();
    assert!(resolutions(&nested).is_empty());
    let locked = nested.folder.path().join("environment/sidecar/requirements.txt");
    assert_eq!(given(&nested.runs()[0]), locked);
}

#[test]
fn a_baseline_that_does_not_suit_harbor_is_nobodys_sample() {
    let nested = Nested::new();
    nested.fake(&json!({"trials": {}, "resolution": "no version of openai suits"}));
    let error = nested.try_with(&Nested::told(), &Cancel::new()).unwrap_err();
    assert!(error.to_string().ends_with("no version of openai suits"), "{error}");
    assert!(nested.runs().is_empty());
}

#[test]
fn a_trial_with_a_time_of_its_own_is_harbors_to_end() {
    let mut nested = Nested::new();
    nested.config["limits"]["sample_timeout_sec"] = json!("task");
    nested.fake(&json!({"trials": {"one": ["1"], "two": ["1"]}}));
    assert_eq!(values(&nested.evaluate()), [Some(1.0), Some(1.0)]);
    let job = nested.job(1);
    assert_eq!(
        [job.pointer("/verifier/max_timeout_sec"), job.pointer("/agents/0/max_timeout_sec")],
        [None, None]
    );
}
