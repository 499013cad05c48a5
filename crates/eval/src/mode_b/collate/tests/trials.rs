//! Trials as Harbor leaves them, made up.

use std::fs;
use std::path::Path;

use taskwright_language::model::{Aggregate, Direction};

use super::super::{PlannedSample, Rules};

/// Samples `s0`, `s1` ... of the tasks `acme/t0`, `acme/t1` ...
pub(super) fn planned(count: usize) -> Vec<PlannedSample> {
    let sample = |n| PlannedSample {
        id: format!("s{n}"),
        name: Some(format!("acme/t{n}")),
        directory: format!("t{n}"),
        digest: Some(format!("sha256:{n}")),
    };
    (0..count).map(sample).collect()
}

pub(super) fn rules(attempts: u64, aggregate: Aggregate) -> Rules {
    Rules {
        attempts,
        aggregate,
        direction: Direction::Maximize,
        failure_value: -1.0,
        reward_key: None,
        metric: "score".to_owned(),
        feedback_bytes: None,
    }
}

const TRIAL: &str = "/v/site-packages/harbor/trial/trial.py";

/// How a trial ended.
#[derive(Debug, Clone)]
pub(super) enum End {
    /// With a reward, and `speed` 2.
    Reward(f64),
    /// With something under `rewards`.
    Rewards(String),
    /// With an exception while the agent worked, and perhaps a reward.
    Raised(&'static str, Option<f64>),
    /// The same, raised by Harbor's own code.
    HarborRaised(&'static str, Option<f64>),
    /// With an exception of the agent's own.
    AgentError,
    /// With a verifier that left no reward.
    VerifierError,
    /// With an environment that could not be built.
    BuildError,
    /// With half a result.
    Truncated,
    /// With an empty result.
    Empty,
    /// Not yet.
    Unfinished,
}

/// A trial.
#[derive(Debug, Clone)]
pub(super) struct Trial {
    pub task: String,
    pub directory: String,
    pub digest: String,
    pub name: String,
    pub id: String,
    /// The second that it ended in, from 10 to 59.
    pub finished: u32,
    pub end: End,
}

impl Trial {
    /// The trial of a sample with a number, by which it is told from all others.
    pub fn new(sample: usize, number: usize, end: End) -> Self {
        Self {
            task: format!("acme/t{sample}"),
            directory: format!("t{sample}"),
            digest: format!("sha256:{sample}"),
            name: format!("t{sample}__{number}"),
            id: format!("id-{sample}-{number}"),
            finished: 20 + u32::try_from(number % 40).unwrap(),
            end,
        }
    }

    /// Writes it into a folder.
    pub fn write(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        let Self { directory, digest, .. } = self;
        let lock = format!(
            r#"{{"task": {{"name": "{directory}", "digest": "{digest}", "path": "/inner/{directory}"}}, "agent": {{}}}}"#
        );
        fs::write(folder.join("lock.json"), lock).unwrap();
        fs::write(folder.join("trial.log"), "").unwrap();
        let result = self.result();
        match self.end {
            End::Unfinished => {}
            End::Empty => fs::write(folder.join("result.json"), "").unwrap(),
            End::Truncated => fs::write(folder.join("result.json"), &result[..result.len() / 2]).unwrap(),
            _ => fs::write(folder.join("result.json"), result).unwrap(),
        }
    }

    fn result(&self) -> String {
        let Self { task, directory, name, id, finished, .. } = self;
        let exception = |kind: &str, files: &[&str]| {
            let frames: String =
                files.iter().map(|file| format!("  File \"{file}\", line 1, in f\n")).collect();
            let traceback =
                format!("Traceback (most recent call last):\n{frames}some.{kind}: Forbidden: quota\n");
            serde_json::json!({
                "exception_type": kind, "exception_message": "Forbidden: quota",
                "exception_traceback": traceback, "occurred_at": "2026-01-01T00:00:08Z",
            })
            .to_string()
        };
        let reward = |value: f64| format!(r#"{{"reward": {value}, "speed": 2}}"#);
        let (rewards, exception) = match &self.end {
            End::Reward(value) => (Some(reward(*value)), None),
            End::Rewards(rewards) => (Some(rewards.clone()), None),
            End::Raised(kind, value) => (value.map(reward), Some(exception(kind, &[TRIAL, "/c/agent.py"]))),
            End::HarborRaised(kind, value) => {
                let files = [TRIAL, "/c/agent.py", "/v/site-packages/harbor/environments/base.py"];
                (value.map(reward), Some(exception(kind, &files)))
            }
            End::VerifierError => (None, Some(exception("RewardFileNotFoundError", &[TRIAL]))),
            End::AgentError | End::BuildError => (None, Some(exception("RuntimeError", &[TRIAL]))),
            End::Truncated | End::Empty | End::Unfinished => (None, None),
        };
        let span = |start: u32, end: u32| {
            format!(
                r#"{{"started_at": "2026-01-01T00:00:{start:02}Z", "finished_at": "2026-01-01T00:00:{end:02}Z"}}"#
            )
        };
        let agent = if matches!(self.end, End::BuildError) { "null".to_owned() } else { span(5, 9) };
        let verifier = match (&self.end, &rewards) {
            (End::VerifierError, _) => span(7, 8),
            (_, Some(_)) => span(10, 11),
            (_, None) => "null".to_owned(),
        };
        let rewards =
            rewards.map_or_else(|| "null".to_owned(), |rewards| format!(r#"{{"rewards": {rewards}}}"#));
        let exception = exception.unwrap_or_else(|| "null".to_owned());
        format!(
            r#"{{"id": "{id}", "task_name": "{task}", "trial_name": "{name}", "task_id": {{"path": "/inner/{directory}"}},
            "task_checksum": "0", "config": {{"agent": {{"import_path": "a:B"}}}}, "verifier_result": {rewards},
            "agent_result": {{"n_input_tokens": 10}}, "exception_info": {exception},
            "environment_setup": {}, "agent_execution": {agent}, "verifier": {verifier},
            "started_at": "2026-01-01T00:00:{:02}Z", "finished_at": "2026-01-01T00:00:{finished:02}Z"}}"#,
            span(1, 4),
            finished - 10,
        )
    }
}
