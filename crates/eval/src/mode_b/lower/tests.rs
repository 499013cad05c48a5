//! Every declared value reaches the configuration, and Harbor reads it back.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use taskwright_language::model::{Aggregate, InnerDocker, OwnTime, RunAs, SampleTime, SpecPath};
use taskwright_testing::{Need, not_run, test};

use super::*;

/// A table in which every field says something else than its default.
pub(crate) fn everything() -> HarborRun {
    HarborRun {
        source: TaskSource::Local(LocalTasks { path: SpecPath::new("inner") }),
        agent: "pkg.module:Agent".to_owned(),
        version: "0.26.0".to_owned(),
        extras: vec!["modal".to_owned()],
        python: "3.12".to_owned(),
        requirements: Some(SpecPath::new("requirements.txt")),
        model: "acme/large".to_owned(),
        environment: "docker".to_owned(),
        environment_args: BTreeMap::from([("auto_mounting".to_owned(), json!(true))]),
        force_build: true,
        inner_docker: InnerDocker::HostSocket,
        run_as: RunAs::Root,
        attempts: 3,
        aggregate: Aggregate::Best,
        max_retries: 2,
        retry_min_wait_sec: 1.5,
        retry_max_wait_sec: 30.0,
        retry_wait_multiplier: 2.0,
        retry_include: vec!["RuntimeError".to_owned(), "AgentTimeoutError".to_owned()],
        retry_exclude: vec!["ValueError".to_owned()],
        reward_key: Some("score".to_owned()),
        agent_timeout_sec: Some(77.0),
        timeout_multiplier: 1.25,
        agent_timeout_multiplier: Some(1.5),
        agent_setup_timeout_multiplier: Some(2.5),
        environment_build_timeout_multiplier: Some(3.5),
        verifier_timeout_multiplier: Some(4.5),
        agent_args: BTreeMap::from([("depth".to_owned(), json!(4)), ("names".to_owned(), json!(["a", "b"]))]),
        agent_env: BTreeMap::from([
            ("LEVEL".to_owned(), "high".to_owned()),
            ("KEY".to_owned(), "${KEY}".to_owned()),
        ]),
        task_env: BTreeMap::from([("MODE".to_owned(), "fast".to_owned())]),
        process_env: BTreeMap::new(),
        extra_args: vec!["--debug".to_owned()],
        optimizer_args: vec!["--quiet".to_owned()],
    }
}

/// What Harbor's own config.json must say after [`everything`]: JSON pointers and values. A test with a real Harbor holds
/// it to the same list.
pub(crate) fn expected() -> Vec<(&'static str, Value)> {
    vec![
        ("/job_name", json!("a-job")),
        ("/jobs_dir", json!("/jobs")),
        ("/n_attempts", json!(3)),
        ("/n_concurrent_trials", json!(7)),
        ("/timeout_multiplier", json!(1.25)),
        ("/agent_timeout_multiplier", json!(1.5)),
        ("/agent_setup_timeout_multiplier", json!(2.5)),
        ("/environment_build_timeout_multiplier", json!(3.5)),
        ("/verifier_timeout_multiplier", json!(4.5)),
        ("/retry/max_retries", json!(2)),
        ("/retry/min_wait_sec", json!(1.5)),
        ("/retry/max_wait_sec", json!(30.0)),
        ("/retry/wait_multiplier", json!(2.0)),
        ("/environment/type", json!("docker")),
        ("/environment/force_build", json!(true)),
        ("/environment/kwargs", json!({"auto_mounting": true})),
        ("/environment/env", json!({"MODE": "fast"})),
        ("/verifier/max_timeout_sec", json!(90.0)),
        ("/agents/0/import_path", json!("pkg.module:Agent")),
        ("/agents/0/model_name", json!("acme/large")),
        ("/agents/0/override_timeout_sec", json!(77.0)),
        ("/agents/0/max_timeout_sec", json!(90.0)),
        ("/agents/0/kwargs", json!({"depth": 4, "names": ["a", "b"]})),
        ("/agents/0/env", json!({"LEVEL": "high", "KEY": "${KEY}"})),
        ("/tasks/0/path", json!("/tasks/one")),
        ("/tasks/1/path", json!("/tasks/two")),
    ]
}

fn limits() -> Limits {
    Limits { sample_timeout_sec: SampleTime::Seconds(90), concurrency: 7, ..Limits::default() }
}

fn lowered(run: &HarborRun, tasks: &Tasks) -> JobConfig {
    let job = Job {
        name: "a-job",
        jobs_dir: Path::new("/jobs"),
        tasks,
        attempts: run.attempts,
        registry_path: Some(Path::new("/registry.json")),
        downloads: Path::new("/downloads"),
    };
    job_config(run, &limits(), &job).unwrap()
}

#[test]
fn a_task_with_a_time_of_its_own_keeps_it() {
    let tasks = Tasks::Folders(vec!["/tasks/one".into()]);
    let job = Job {
        name: "a-job",
        jobs_dir: Path::new("/jobs"),
        tasks: &tasks,
        attempts: 1,
        registry_path: None,
        downloads: Path::new("/downloads"),
    };
    let limits = Limits { sample_timeout_sec: SampleTime::Own(OwnTime::Task), ..limits() };
    let config = job_config(&everything(), &limits, &job).unwrap();
    assert_eq!((config.verifier.max_timeout_sec, config.agents[0].max_timeout_sec), (None, None));
    assert_eq!(config.agents[0].override_timeout_sec, Some(77.0));
}

#[test]
fn every_field_arrives() {
    let folders = Tasks::Folders(vec!["/tasks/one".into(), "/tasks/two".into()]);
    let config: Value = serde_json::from_str(&lowered(&everything(), &folders).to_json()).unwrap();
    for (pointer, value) in expected() {
        assert_eq!(config.pointer(pointer), Some(&value), "{pointer}");
    }
    assert_eq!(config["retry"]["include_exceptions"], json!(["RuntimeError", "AgentTimeoutError"]));
    let policies = json!({
        "RuntimeError": {"should_retry": true},
        "AgentTimeoutError": {"should_retry": true},
        "ValueError": {"should_retry": false},
    });
    assert_eq!(config["override_error_policy"], policies);
    let uv = launcher(&everything(), Path::new("/bin/uv"), "/r.txt".into(), Path::new("/candidate"));
    assert_eq!((uv.python.as_str(), uv.harbor.as_str()), ("3.12", "harbor[modal]==0.26.0"));
    assert_eq!((uv.requirements, uv.packages), (Some("/r.txt".into()), vec![PathBuf::from("/candidate")]));
}

#[test]
fn what_is_left_out_stays_harbors() {
    let run: HarborRun = serde_json::from_value(json!({"source": {"path": "x"}, "agent": "a:B"})).unwrap();
    let config: Value =
        serde_json::from_str(&lowered(&run, &Tasks::Folders(vec!["/t".into()])).to_json()).unwrap();
    for absent in [
        "/agents/0/model_name",
        "/agents/0/override_timeout_sec",
        "/retry/include_exceptions",
        "/retry/exclude_exceptions",
        "/override_error_policy",
        "/verifier_timeout_multiplier",
        "/datasets",
    ] {
        assert_eq!(config.pointer(absent), None, "{absent}");
    }
}

#[test]
fn environments_of_ones_own() {
    let run = HarborRun { environment: "my.module:Cloud".to_owned(), ..everything() };
    let config = lowered(&run, &Tasks::Folders(Vec::new()));
    assert_eq!(config.environment.import_path.as_deref(), Some("my.module:Cloud"));
    assert_eq!(config.environment.kind, None);
}

fn from(registry: Value, names: &[&str]) -> JobConfig {
    let run = HarborRun { source: serde_json::from_value(registry).unwrap(), ..everything() };
    lowered(&run, &Tasks::Registry(names.iter().map(|name| (*name).to_owned()).collect()))
}

#[test]
fn registries() {
    let set = from(json!({"registry": "demo", "version": "1.0"}), &["a", "b[1]"]);
    let expected = DatasetConfig {
        name: Some("demo".to_owned()),
        version: Some("1.0".to_owned()),
        registry_path: Some("/registry.json".into()),
        download_dir: Some("/downloads".into()),
        task_names: Some(vec!["a".to_owned(), "b[[]1]".to_owned()]),
        ..DatasetConfig::default()
    };
    assert_eq!((set.datasets, set.tasks), (vec![expected], Vec::new()));
    let digest = format!("sha256:{}", "a".repeat(64));
    let package = from(json!({"registry": "acme/set", "digest": digest}), &["acme/one"]);
    assert_eq!(package.datasets[0].reference.as_deref(), Some(digest.as_str()));
    assert_eq!(package.datasets[0].version, None);
    let task = from(json!({"registry": "acme/one", "version": "2"}), &["acme/one"]);
    assert!(task.datasets.is_empty());
    assert_eq!(task.tasks[0].name.as_deref(), Some("acme/one"));
    assert_eq!(task.tasks[0].reference.as_deref(), Some("2"));
}

/// A real Harbor is given all of it, and says in its own `config.json` what it understood.
#[test]
fn harbor_reads_every_declared_value() {
    use std::time::Duration;

    use taskwright_harbor::child::{Environment, Patience};
    use taskwright_harbor::command::{HarborCommand, Launcher};
    use taskwright_harbor::run::Run;

    let environment =
        Environment::inherited().with("LITELLM_LOCAL_MODEL_COST_MAP", "True").with("KEY", "k3y");
    let harbor =
        match taskwright_harbor::tools::harbor(environment.get("PATH").as_deref(), &taskwright_harbor::TRIED)
        {
            Ok((harbor, _)) => harbor,
            Err(error) => not_run(Need::Harbor, error),
        };
    let folder = tempfile::tempdir().unwrap();
    let mut folders = Vec::new();
    for name in ["one", "two"] {
        let task = folder.path().join(name);
        for (file, text) in [
            ("task.toml", "schema_version = \"1.4\"\n[environment]\nbuild_timeout_sec = 1\n"),
            ("instruction.md", "Do nothing.\n"),
            ("environment/Dockerfile", "FROM scratch\n"),
            ("tests/test.sh", "exit 0\n"),
        ] {
            let file = task.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        folders.push(task);
    }
    // A class of Harbor's own, since Harbor imports the class before it writes anything.
    let run = HarborRun { agent: "harbor.agents.nop:NopAgent".to_owned(), ..everything() };
    let jobs = folder.path().join("jobs");
    let mut config = lowered(&run, &Tasks::Folders(folders.clone()));
    config.jobs_dir.clone_from(&jobs);
    let job_file = folder.path().join("job.json");
    config.write(&job_file).unwrap();
    let command =
        HarborCommand { launcher: Launcher::Installed(harbor), config: job_file, extra_args: Vec::new() };
    let (job_dir, log) = (config.job_dir(), folder.path().join("log"));
    let file = job_dir.join("config.json");
    // It has said all it has to say.
    let patience = Patience { interrupt: Duration::from_secs(5), terminate: Duration::from_secs(2) };
    let job = Run { docker: true, patience, ..Run::new(&command, &job_dir, &log, &environment) };
    let read = || std::fs::read(&file).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    taskwright_harbor::run::run(&job, &mut |_| {}, &mut |_| read().is_none()).unwrap();
    let Some(written) = read() else {
        let said = taskwright_harbor::child::tail(&log, 2000);
        if said.to_lowercase().contains("docker") {
            not_run(Need::Engine, said);
        }
        panic!("Harbor wrote no config.json: {said}");
    };
    for (pointer, value) in expected() {
        let value = match pointer {
            "/jobs_dir" => json!(jobs),
            "/agents/0/import_path" => json!(run.agent),
            "/tasks/0/path" => json!(folders[0]),
            "/tasks/1/path" => json!(folders[1]),
            _ => value,
        };
        assert_eq!(written.pointer(pointer), Some(&value), "{pointer}");
    }
    let excluded: Vec<&str> =
        written["retry"]["exclude_exceptions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    // Harbor's own list, with what the spec excludes and without what it includes.
    assert!(excluded.contains(&"ValueError") && excluded.contains(&"CancelledError"), "{excluded:?}");
    assert!(!excluded.contains(&"AgentTimeoutError"), "{excluded:?}");
    assert_eq!(written["retry"]["include_exceptions"], json!(["AgentTimeoutError", "RuntimeError"]));
}
