//! Generated trials: of the shape and size of real ones, all different, and the same every time.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};
use taskwright_ledger::record::{Agent, Reward, Seconds, Source, Status, Tokens, Trial};

/// How many tasks and agents there are.
const TASKS: usize = 100;
const AGENTS: usize = 4;

/// Writes a job of so many trials.
pub fn generate(job: &Path, count: usize) -> anyhow::Result<()> {
    fs::create_dir_all(job)?;
    let mut plan = BufWriter::new(File::create(job.join("lock.json"))?);
    write!(plan, r#"{{"schema_version": 3, "harbor": {{"version": "0.26.0"}}, "trials": ["#)?;
    let mut random = Random(7);
    for number in 0..count {
        let task = format!("task-{:03}", number % TASKS);
        let name = format!("{task}__{}", random.letters(7));
        let trial = job.join(&name);
        for folder in ["agent", "verifier", "artifacts"] {
            fs::create_dir_all(trial.join(folder))?;
        }
        let config = config(&name, &task, number);
        let lock = lock(&task, &config);
        let reward = f64::from(u8::from(random.next().is_multiple_of(3)));
        fs::write(trial.join("result.json"), pretty(&result(&name, &task, &config, reward, &mut random)))?;
        fs::write(trial.join("config.json"), pretty(&config))?;
        fs::write(trial.join("lock.json"), pretty(&lock))?;
        fs::write(trial.join("trial.log"), format!("collecting artifacts of {name}\n").repeat(3))?;
        fs::write(trial.join("agent/trajectory.json"), pretty(&trajectory(&mut random)))?;
        fs::write(trial.join("verifier/test-stdout.txt"), words(150, &mut random))?;
        fs::write(trial.join("verifier/reward.txt"), format!("{reward}\n"))?;
        let manifest = json!([{"source": "/logs/artifacts", "destination": "artifacts", "type": "directory", "status": "ok"}]);
        fs::write(trial.join("artifacts/manifest.json"), pretty(&manifest))?;
        write!(plan, "{}{lock:#}", if number == 0 { "\n" } else { ",\n" })?;
    }
    plan.write_all(b"\n]}\n")?;
    plan.flush()?;
    fs::write(job.join("config.json"), pretty(&json!({"job_name": "bench", "n_attempts": 1, "agents": []})))?;
    let done = json!({"id": format!("bench-{count}"), "n_total_trials": count, "stats": {"n_completed_trials": count},
        "finished_at": "2026-11-27T21:00:00"});
    Ok(fs::write(job.join("result.json"), pretty(&done))?)
}

fn agent(number: usize) -> Value {
    json!({
        "name": "terminus-2", "import_path": null, "model_name": format!("provider/model-{}", number / TASKS % AGENTS),
        "override_timeout_sec": null, "override_setup_timeout_sec": null, "max_timeout_sec": null, "skills": [],
        "extra_allowed_hosts": [], "kwargs": {"temperature": 0.7, "max_turns": 100}, "mcp_servers": [],
        "env": {"MODEL_API_KEY": "${MODEL_API_KEY}"},
    })
}

fn config(name: &str, task: &str, number: usize) -> Value {
    json!({
        "schema_version": 1,
        "task": {"path": format!("tasks/{task}"), "git_url": null, "git_commit_id": null, "name": null, "ref": null,
            "overwrite": false, "download_dir": null, "source": null},
        "trial_name": name, "trials_dir": "/srv/jobs/bench", "install_only": false, "timeout_multiplier": 1.0,
        "agent_timeout_multiplier": null, "verifier_timeout_multiplier": null, "agent_setup_timeout_multiplier": null,
        "environment_build_timeout_multiplier": null, "agent": agent(number), "user_agent": null,
        "environment": {"type": "docker", "import_path": null, "force_build": false, "delete": true, "stream": false,
            "cpu_enforcement_policy": "auto", "memory_enforcement_policy": "auto", "override_cpus": null,
            "override_memory_mb": null, "mounts": null, "extra_docker_compose": [], "kwargs": {}, "extra_allowed_hosts": []},
        "verifier": {"override_timeout_sec": null, "max_timeout_sec": null, "disable": false}, "artifacts": [],
        "override_error_policy": {}, "job_id": "bench", "source_trial": null,
    })
}

fn lock(task: &str, config: &Value) -> Value {
    json!({
        "schema_version": 2,
        "task": {"name": task, "version": "1.0.0", "type": "local", "digest": format!("sha256:{:0>64}", &task[5..]), "source": "bench", "path": format!("tasks/{task}")},
        "install_only": false, "timeout_multiplier": 1.0, "agent": config["agent"], "bridge_inputs": {}, "skills": [],
        "environment": config["environment"], "verifier": {"disable": false, "environment_mode": "separate"},
        "artifacts": [], "override_error_policy": {},
    })
}

fn result(name: &str, task: &str, config: &Value, reward: f64, random: &mut Random) -> Value {
    let second = |second: u64| {
        format!("2026-11-27T20:{:02}:{:02}.{:06}Z", second / 60, second % 60, second * 7919 % 1_000_000)
    };
    let phase = |from: u64, to: u64| json!({"started_at": second(from), "finished_at": second(to)});
    let metadata: Vec<String> = (0..30).map(|_| format!("gen-{}", random.letters(24))).collect();
    json!({
        "schema_version": 1, "id": format!("{}-{}", random.letters(8), random.letters(12)),
        "task_name": format!("bench/{task}"), "trial_name": name, "trial_uri": format!("file:///srv/jobs/bench/{name}"),
        "task_id": {"path": format!("tasks/{task}")}, "source": "bench", "task_checksum": "0".repeat(64), "config": config,
        "agent_info": {"name": "terminus-2", "version": "2.0.0", "model_info": {"name": "model", "provider": "provider"}},
        "agent_result": {"n_input_tokens": random.next() % 1_000_000, "n_cache_tokens": random.next() % 1000,
            "n_output_tokens": random.next() % 10_000, "cost_usd": 0.25, "model_usage": null, "rollout_details": null,
            "metadata": {"generation_ids": metadata}},
        "verifier_result": {"rewards": {"reward": reward}}, "verifier_environment_mode": "separate", "exception_info": null,
        "started_at": second(0), "finished_at": second(600), "environment_setup": phase(1, 20), "agent_setup": phase(20, 25),
        "agent_execution": phase(25, 500), "verifier": phase(500, 590), "step_results": null, "reward_valid": true,
    })
}

fn trajectory(random: &mut Random) -> Value {
    let steps: Vec<Value> = (0..20)
        .map(|step| json!({"step_id": step, "source": "agent", "message": words(40, random), "tool_calls": []}))
        .collect();
    json!({"schema_version": "ATIF-v1.4", "session_id": random.letters(16), "steps": steps})
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

fn words(count: usize, random: &mut Random) -> String {
    const WORDS: [&str; 16] = [
        "run", "the", "tests", "and", "read", "file", "main.py", "error:", "expected", "value", "passed",
        "in", "0.12s", "then", "edit", "line",
    ];
    let mut text = String::new();
    for _ in 0..count {
        let number = random.next();
        text.push_str(WORDS[usize::try_from(number % 16).unwrap_or(0)]);
        text.push_str(if number.is_multiple_of(7) { "\n" } else { " " });
        if number.is_multiple_of(5) {
            text.push_str(&(number % 10_000).to_string());
            text.push(' ');
        }
    }
    text
}

/// Records of many trials, and their agents.
pub fn records(count: usize) -> (Vec<Agent>, Vec<Trial>) {
    let mut random = Random(11);
    let agents: Vec<Agent> = (0..20)
        .map(|number| Agent {
            digest: format!("{number:02x}").repeat(32),
            label: format!("agent-{}", number % 5),
            version: Some("1.0.0".to_owned()),
            model: Some(format!("provider/model-{number}")),
            configuration: format!("{{\"configuration\":{{\"name\":\"agent-{}\"}}}}", number % 5),
        })
        .collect();
    let trials = (0..count)
        .map(|number| {
            let agent = &agents[number % agents.len()];
            let reward = f64::from(u8::from(random.next().is_multiple_of(3)));
            let is_complete = !random.next().is_multiple_of(20);
            Trial {
                id: format!("{}-{number}", random.letters(24)),
                experiment: Some("bench".to_owned()),
                job: Some("bench".to_owned()),
                trial_name: format!("task-{:03}__{}", number / 20 % TASKS, random.letters(7)),
                task: format!("bench/task-{:03}", number / 20 % TASKS),
                agent: agent.label.clone(),
                agent_digest: agent.digest.clone(),
                model: agent.model.clone(),
                source: Source::Import,
                status: if is_complete { Status::Complete } else { Status::Partial },
                reward: is_complete.then_some(reward),
                reward_key: is_complete.then(|| "reward".to_owned()),
                rewards: vec![Reward { key: "reward".to_owned(), value: Some(reward), ..Reward::default() }],
                reward_valid: is_complete,
                seconds: Seconds { total: Some(60.0), ..Seconds::default() },
                tokens: Tokens { input: Some(1000), cached: Some(100), output: Some(100) },
                cost_usd: Some(0.25),
                ..Trial::default()
            }
        })
        .collect();
    (agents, trials)
}

/// A generator of numbers that are the same every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn letters(&mut self, count: usize) -> String {
        const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        (0..count).map(|_| char::from(LETTERS[usize::try_from(self.next() % 36).unwrap_or(0)])).collect()
    }
}
