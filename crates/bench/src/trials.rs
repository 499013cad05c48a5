//! Generated trials, as Harbor 0.26 leaves them: the same files, of the shape and size of real ones, all different, and the same
//! every time.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, ensure};
use camino::Utf8Path;
use serde_json::{Value, json};

/// How many agents there are.
const AGENTS: usize = 4;
/// Of so many trials one ran out of time and one failed, where some do.
const ONE_IN: usize = 20;

/// The files of a trial.
pub const FILES: [&str; 8] = [
    "result.json",
    "lock.json",
    "config.json",
    "trial.log",
    "agent/trajectory.json",
    "verifier/reward.txt",
    "verifier/test-stdout.txt",
    "artifacts/manifest.json",
];

/// The trials of a job.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// How many there are.
    pub trials: usize,
    /// How many tasks they are of.
    pub tasks: usize,
    /// Whether some have failed.
    pub some_fail: bool,
}

impl Shape {
    /// How many have a reward.
    pub fn graded(self) -> u64 {
        (0..self.trials).filter(|number| !self.is_broken(*number)).count() as u64
    }

    /// The paths of some files of every trial.
    pub fn paths(self, job: &Utf8Path, files: &[&str]) -> Vec<PathBuf> {
        let of = |number| {
            let folder = job.join(self.name(number));
            files.iter().map(move |file| folder.join(file).into_std_path_buf())
        };
        (0..self.trials).flat_map(of).collect()
    }

    /// Writes them, and the job's plan; returns how many bytes that is, less the plan.
    pub fn write(self, job: &Utf8Path, stop: &AtomicBool) -> anyhow::Result<u64> {
        fs::create_dir_all(job).with_context(|| format!("making {job}"))?;
        let mut plan = BufWriter::new(File::create(job.join("lock.json"))?);
        write!(plan, r#"{{"schema_version": 3, "harbor": {{"version": "0.26.0"}}, "trials": ["#)?;
        let mut random = Random(7);
        let mut bytes = 0;
        for number in 0..self.trials {
            ensure!(!stop.load(Ordering::Relaxed), "interrupted");
            let folder = job.join(self.name(number));
            for inside in ["agent", "verifier", "artifacts"] {
                fs::create_dir_all(folder.join(inside)).with_context(|| format!("making {folder}"))?;
            }
            let (lock, texts) = self.texts(number, &mut random);
            for (file, text) in FILES.iter().zip(texts) {
                bytes += text.len() as u64;
                let path = folder.join(file);
                fs::write(&path, text).with_context(|| format!("writing {path}"))?;
            }
            write!(plan, "{}{lock:#}", if number == 0 { "\n" } else { ",\n" })?;
        }
        plan.write_all(b"\n]}\n")?;
        plan.flush()?;
        let config = json!({"job_name": "bench", "n_attempts": 1, "agents": []});
        fs::write(job.join("config.json"), pretty(&config))?;
        let done = json!({
            "id": format!("bench-{}", self.trials), "n_total_trials": self.trials,
            "stats": {"n_completed_trials": self.trials}, "finished_at": "2026-11-27T21:00:00",
        });
        fs::write(job.join("result.json"), pretty(&done))?;
        Ok(bytes)
    }

    /// What is written for a trial: its lock, and the text of each of [`FILES`].
    fn texts(self, number: usize, random: &mut Random) -> (Value, [String; 8]) {
        let task = task(number % self.tasks);
        let name = self.name(number);
        let config = config(&name, &task, number / self.tasks);
        let lock = lock(number % self.tasks, &config);
        let reward = f64::from(u8::from(random.next().is_multiple_of(3)));
        let manifest = json!([
            {"source": "/logs/artifacts", "destination": "artifacts", "type": "directory", "status": "ok"}
        ]);
        let texts = [
            pretty(&self.result(number, &config, reward, random)),
            pretty(&lock),
            pretty(&config),
            format!("collecting artifacts of {name}\n").repeat(3),
            pretty(&trajectory(random)),
            format!("{reward}\n"),
            words(150, random),
            pretty(&manifest),
        ];
        (lock, texts)
    }

    /// The name of a trial: the order of names is not that of trials.
    fn name(self, number: usize) -> String {
        let end = (number as u64).wrapping_mul(0x9E37_79B9) & 0xFFF_FFFF;
        format!("{}__{end:07x}", task(number % self.tasks))
    }

    /// Whether a trial has no reward.
    fn is_broken(self, number: usize) -> bool {
        self.some_fail && number % ONE_IN == 1
    }

    fn result(self, number: usize, config: &Value, reward: f64, random: &mut Random) -> Value {
        let second = |second: u64| {
            format!("2026-11-27T20:{:02}:{:02}.{:06}Z", second / 60, second % 60, second * 7919 % 1_000_000)
        };
        let phase = |from: u64, to: u64| json!({"started_at": second(from), "finished_at": second(to)});
        let is_broken = self.is_broken(number);
        let exception = match number % ONE_IN {
            0 if self.some_fail => {
                exception("AgentTimeoutError", "Agent execution timed out after 600.0 seconds")
            }
            1 if self.some_fail => exception("RuntimeError", "the candidate's agent could not go on"),
            _ => Value::Null,
        };
        let metadata: Vec<String> = (0..30).map(|_| format!("gen-{}", random.letters(24))).collect();
        let task = task(number % self.tasks);
        let name = &config["trial_name"];
        json!({
            "schema_version": 1, "id": format!("{}-{}", random.letters(8), random.letters(12)),
            "task_name": format!("bench/{task}"), "trial_name": name,
            "trial_uri": format!("file:///srv/jobs/bench/{}", name.as_str().unwrap_or_default()),
            "task_id": {"path": format!("tasks/{task}")}, "source": "bench", "task_checksum": "0".repeat(64),
            "config": config,
            "agent_info": {
                "name": "terminus-2", "version": "2.0.0", "model_info": {"name": "model", "provider": "provider"},
            },
            "agent_result": {
                "n_input_tokens": random.next() % 1_000_000, "n_cache_tokens": random.next() % 1000,
                "n_output_tokens": random.next() % 10_000, "cost_usd": 0.25, "model_usage": null,
                "rollout_details": null, "metadata": {"generation_ids": metadata},
            },
            "verifier_result": if is_broken { Value::Null } else { json!({"rewards": {"reward": reward}}) },
            "verifier_environment_mode": "separate", "exception_info": exception,
            "started_at": second(0), "finished_at": second(600), "environment_setup": phase(1, 20),
            "agent_setup": phase(20, 25), "agent_execution": phase(25, 500),
            "verifier": if is_broken { Value::Null } else { phase(500, 590) },
            "step_results": null, "reward_valid": !is_broken,
        })
    }
}

/// The name of a task.
pub fn task(number: usize) -> String {
    format!("task-{number:03}")
}

/// The digest of a task.
pub fn digest(number: usize) -> String {
    format!("sha256:{number:064}")
}

fn exception(kind: &str, message: &str) -> Value {
    let frame = "  File \"/srv/lib/python3.13/site-packages/harbor/trial/trial.py\", line 780, in run\n    await step()\n";
    json!({
        "exception_type": kind,
        "exception_message": message,
        "exception_traceback": format!("Traceback (most recent call last):\n{}{kind}: {message}\n", frame.repeat(20)),
        "occurred_at": "2026-11-27T20:00:00.123456Z",
        "policy": {"should_retry": false, "should_grade": true, "has_valid_reward": true},
    })
}

fn agent(number: usize) -> Value {
    json!({
        "name": "terminus-2", "import_path": null, "model_name": format!("provider/model-{}", number % AGENTS),
        "override_timeout_sec": null, "override_setup_timeout_sec": null, "max_timeout_sec": null, "skills": [],
        "extra_allowed_hosts": [], "kwargs": {"temperature": 0.7, "max_turns": 100}, "mcp_servers": [],
        "env": {"MODEL_API_KEY": "${MODEL_API_KEY}"},
    })
}

fn config(name: &str, task: &str, number: usize) -> Value {
    json!({
        "schema_version": 1,
        "task": {
            "path": format!("tasks/{task}"), "git_url": null, "git_commit_id": null, "name": null, "ref": null,
            "overwrite": false, "download_dir": null, "source": null,
        },
        "trial_name": name, "trials_dir": "/srv/jobs/bench", "install_only": false, "timeout_multiplier": 1.0,
        "agent_timeout_multiplier": null, "verifier_timeout_multiplier": null,
        "agent_setup_timeout_multiplier": null, "environment_build_timeout_multiplier": null,
        "agent": agent(number), "user_agent": null,
        "environment": {
            "type": "docker", "import_path": null, "force_build": false, "delete": true, "stream": false,
            "cpu_enforcement_policy": "auto", "memory_enforcement_policy": "auto", "override_cpus": null,
            "override_memory_mb": null, "mounts": null, "extra_docker_compose": [], "kwargs": {},
            "extra_allowed_hosts": [],
        },
        "verifier": {"override_timeout_sec": null, "max_timeout_sec": null, "disable": false}, "artifacts": [],
        "override_error_policy": {}, "job_id": "bench", "source_trial": null,
    })
}

fn lock(number: usize, config: &Value) -> Value {
    let task = task(number);
    json!({
        "schema_version": 2,
        "task": {
            "name": task, "version": "1.0.0", "type": "local", "digest": digest(number), "source": "bench",
            "path": format!("tasks/{task}"),
        },
        "install_only": false, "timeout_multiplier": 1.0, "agent": config["agent"], "bridge_inputs": {},
        "skills": [], "environment": config["environment"],
        "verifier": {"disable": false, "environment_mode": "separate"}, "artifacts": [],
        "override_error_policy": {},
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

/// A generator of numbers that are the same every time.
pub struct Random(pub u64);

impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// So many small letters and digits.
    pub fn letters(&mut self, count: usize) -> String {
        const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        (0..count).map(|_| char::from(LETTERS[usize::try_from(self.next() % 36).unwrap_or(0)])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_the_same_every_time() {
        let room = tempfile::tempdir().unwrap();
        let room = Utf8Path::from_path(room.path()).unwrap();
        let shape = Shape { trials: 40, tasks: 4, some_fail: true };
        let sizes = ["one", "two"].map(|job| shape.write(&room.join(job), &AtomicBool::new(false)).unwrap());
        assert_eq!(sizes[0], sizes[1]);
        assert_eq!(shape.graded(), 38);
        for (one, two) in
            shape.paths(&room.join("one"), &FILES).iter().zip(shape.paths(&room.join("two"), &FILES))
        {
            assert_eq!(fs::read(one).unwrap(), fs::read(two).unwrap());
        }
    }
}
