//! Trials as Harbor 0.26 leaves them: the same files, of the same shape and size.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, ensure};
use camino::Utf8Path;
use serde_json::{Value, json};
use taskwright_eval::mode_b::collate::PlannedSample;

/// The files of a trial that collation reads.
pub const READ: [&str; 2] = ["result.json", "lock.json"];
/// All the files of a trial.
pub const ALL: [&str; 7] = [
    "result.json",
    "lock.json",
    "config.json",
    "trial.log",
    "agent/candidate.txt",
    "verifier/reward.txt",
    "verifier/test-stdout.txt",
];
/// Of so many trials one ran out of time and one failed.
const ONE_IN: usize = 20;

/// A sample by its number.
pub fn sample(number: usize) -> PlannedSample {
    PlannedSample {
        id: format!("inner-{number}"),
        name: Some(format!("bench/inner-{number}")),
        directory: format!("inner-{number}"),
        digest: Some(digest(number)),
    }
}

/// How many of so many trials have a reward.
pub fn graded(trials: usize) -> u64 {
    (0..trials).filter(|trial| trial % ONE_IN != 1).count() as u64
}

/// The paths of some files of every trial.
pub fn paths(job: &Utf8Path, trials: usize, files: &[&str]) -> Vec<PathBuf> {
    let of = |trial: usize| {
        let folder = job.join(name(trial));
        files.iter().map(move |file| folder.join(file).into_std_path_buf())
    };
    (0..trials).flat_map(of).collect()
}

/// Writes a job of so many trials, so many of each sample; returns how many bytes that is.
pub fn job(job: &Utf8Path, trials: usize, attempts: usize, stop: &AtomicBool) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for trial in 0..trials {
        ensure!(!stop.load(Ordering::Relaxed), "interrupted");
        let folder = job.join(name(trial));
        for inside in ["agent", "verifier"] {
            fs::create_dir_all(folder.join(inside)).with_context(|| format!("making {folder}"))?;
        }
        let number = trial / attempts;
        let reward = if trial % 3 == 0 { "1" } else { "0" };
        let texts = [
            pretty(&result(trial, number)),
            pretty(&lock(number)),
            pretty(&config(trial, number)),
            "the environment is started\n".repeat(20),
            "step: look at the files, then run the tests again\n".repeat(60),
            format!("{reward}\n"),
            "tests/test_outputs.py::test_answer PASSED\n".repeat(15),
        ];
        for (file, text) in ALL.iter().zip(texts) {
            let path = folder.join(file);
            bytes += text.len() as u64;
            fs::write(&path, text).with_context(|| format!("writing {path}"))?;
        }
    }
    Ok(bytes)
}

/// The name of a trial: the order of names is not that of samples.
fn name(trial: usize) -> String {
    format!("inner__{:07x}", (trial as u64).wrapping_mul(0x9E37_79B9) & 0xFFF_FFFF)
}

fn digest(number: usize) -> String {
    format!("sha256:{number:064x}")
}

fn pretty(value: &Value) -> String {
    // Harbor indents by four.
    let mut text = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut writer = serde_json::Serializer::with_formatter(&mut text, format);
    serde::Serialize::serialize(value, &mut writer)
        .map_or_else(|error| error.to_string(), |()| String::from_utf8_lossy(&text).into_owned())
}

fn span(from: usize, to: usize) -> Value {
    let at = |second: usize| format!("2026-03-04T05:{:02}:{:02}.123456Z", second / 60 % 60, second % 60);
    json!({ "started_at": at(from), "finished_at": at(to) })
}

fn result(trial: usize, number: usize) -> Value {
    let exception = match trial % ONE_IN {
        0 => exception("AgentTimeoutError", "Agent execution timed out after 600.0 seconds", true),
        1 => exception("RuntimeError", "the candidate's agent could not go on", true),
        _ => Value::Null,
    };
    let rewards = match trial % ONE_IN {
        1 => Value::Null,
        _ => json!({ "rewards": { "reward": f64::from(u8::from(trial.is_multiple_of(3))), "tests": 15 } }),
    };
    let whole = span(trial % 1000, trial % 1000 + 90);
    json!({
        "schema_version": 1,
        "id": format!("{:08x}-1111-4222-8333-{:012x}", trial % 97, trial),
        "task_name": format!("bench/inner-{number}"),
        "trial_name": name(trial),
        "trial_uri": format!("file:///srv/jobs/bench/{}", name(trial)),
        "task_id": { "path": format!("/srv/inner-tasks/inner-{number}") },
        "source": null,
        "task_checksum": format!("{number:064x}"),
        "config": config(trial, number),
        "agent_info": { "name": "candidate", "version": "1.0", "model_info": { "name": "m", "provider": "p" } },
        "agent_result": {
            "n_input_tokens": 10_000 + trial, "n_cache_tokens": 4000, "n_output_tokens": 700, "cost_usd": 0.0123,
            "model_usage": null,
            "rollout_details": null,
            "metadata": { "notes": "what the agent wants to have kept of its run, a sentence or two. ".repeat(20) },
        },
        "verifier_result": rewards,
        "verifier_environment_mode": "shared",
        "exception_info": exception,
        "started_at": whole["started_at"],
        "finished_at": whole["finished_at"],
        "environment_setup": span(trial % 1000 + 1, trial % 1000 + 20),
        "agent_setup": span(trial % 1000 + 20, trial % 1000 + 22),
        "agent_execution": span(trial % 1000 + 22, trial % 1000 + 80),
        "verifier": if rewards_of(trial) { span(trial % 1000 + 80, trial % 1000 + 88) } else { Value::Null },
        "step_results": null,
        "reward_valid": rewards_of(trial),
    })
}

fn rewards_of(trial: usize) -> bool {
    trial % ONE_IN != 1
}

fn exception(kind: &str, message: &str, valid: bool) -> Value {
    let frame = "  File \"/srv/lib/python3.13/site-packages/harbor/trial/trial.py\", line 780, in run\n    await step()\n";
    json!({
        "exception_type": kind,
        "exception_message": message,
        "exception_traceback": format!("Traceback (most recent call last):\n{}{kind}: {message}\n", frame.repeat(20)),
        "occurred_at": "2026-03-04T05:00:00.123456Z",
        "policy": { "should_retry": false, "should_grade": true, "has_valid_reward": valid },
    })
}

fn config(trial: usize, number: usize) -> Value {
    json!({
        "schema_version": 1,
        "task": {
            "path": format!("/srv/inner-tasks/inner-{number}"), "git_url": null, "git_commit_id": null, "name": null,
            "ref": null, "overwrite": false, "download_dir": null, "source": null,
        },
        "trial_name": name(trial),
        "trials_dir": "/srv/jobs/bench",
        "install_only": false,
        "timeout_multiplier": 1.0,
        "agent_timeout_multiplier": null,
        "verifier_timeout_multiplier": null,
        "agent_setup_timeout_multiplier": null,
        "environment_build_timeout_multiplier": null,
        "agent": {
            "name": null, "import_path": "candidate.agent:Agent", "model_name": "p/m", "base_url": null,
            "model_api_key_name": null, "model_api_format": null, "skip_model_parsing": false, "n_concurrent": null,
            "concurrency_group": null, "skills": [], "override_timeout_sec": null, "override_setup_timeout_sec": null,
            "max_timeout_sec": null, "resume_trajectory": false, "load_trajectory": null, "extra_allowed_hosts": [],
            "kwargs": {}, "mcp_servers": [],
        },
        "user_agent": null,
        "environment": {
            "type": "docker", "import_path": null, "force_build": false, "delete": true, "stream": false,
            "cpu_enforcement_policy": "auto", "memory_enforcement_policy": "auto", "override_cpus": null,
            "override_memory_mb": null, "override_storage_mb": null, "override_gpus": null, "override_tpu": null,
            "mounts": null, "extra_docker_compose": [], "kwargs": {}, "extra_allowed_hosts": [],
        },
        "verifier": { "override_timeout_sec": null, "max_timeout_sec": null, "disable": false },
        "override_error_policy": {},
        "artifacts": [],
        "extra_instruction_paths": [],
        "extra_instructions": [],
        "job_id": "4526720a-0390-484c-9835-a89c05f62869",
        "source_trial": null,
    })
}

fn lock(number: usize) -> Value {
    json!({
        "schema_version": 2,
        "task": {
            "name": format!("inner-{number}"), "version": "1.0.0", "type": "local", "digest": digest(number),
            "source": null, "path": format!("/srv/inner-tasks/inner-{number}"),
        },
        "install_only": false,
        "timeout_multiplier": 1.0,
        "agent": {
            "import_path": "candidate.agent:Agent", "model_name": "p/m", "skip_model_parsing": false, "skills": [],
            "resume_trajectory": false, "extra_allowed_hosts": [], "kwargs": {}, "mcp_servers": [],
        },
        "bridge_inputs": {},
        "skills": [],
        "environment": {
            "type": "docker", "force_build": false, "delete": true, "stream": false,
            "cpu_enforcement_policy": "auto", "memory_enforcement_policy": "auto", "extra_docker_compose": [],
            "kwargs": {}, "extra_allowed_hosts": [],
        },
        "verifier": { "disable": false, "environment_mode": "shared" },
        "artifacts": [],
        "override_error_policy": {},
    })
}
