//! The parts of a trial: provenance, exceptions, rewards, times, tokens, steps, files; and its agent.

use serde::{Deserialize, Serialize};
use taskwright_base::Digest;

use super::words::Kept;
use crate::rank::statistics::Direction;

/// What the task of a trial was built from: the entry of `taskwright.lock` with the trial's task digest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The name of the spec.
    pub spec: String,
    /// The digest of the spec with everything inherited and substituted.
    pub spec_digest: Option<String>,
    /// The digest of the baseline.
    pub baseline: Option<String>,
    /// The digest of the dataset, or of the inner tasks.
    pub dataset: Option<String>,
}

/// An exception that Harbor recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exception {
    /// Its Python type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its message; the end of a very long one is left to the evidence.
    pub message: String,
    /// The step it was raised in, if it is a step's and not the trial's.
    pub step: Option<String>,
}

/// One reward of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reward {
    /// Its key.
    pub key: String,
    /// Its value, if it is a finite number. Close to what was written where that has more digits than a double.
    pub value: Option<f64>,
    /// What was written, if the value does not say it exactly.
    pub text: Option<String>,
    /// Why there is no value, if there is none.
    pub reason: Option<String>,
    /// The baseline's reward by the same key, if the verdict of the trial says it.
    #[serde(default)]
    pub baseline: Option<f64>,
    /// Which rewards are better, if the verdict of the trial says it.
    #[serde(default)]
    pub direction: Option<Direction>,
}

/// How long a trial and its phases took, in seconds. The phases of a multi-step trial are sums over its steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// Building and starting the environment.
    pub environment: Option<f64>,
    /// Setting up the agent.
    pub agent_setup: Option<f64>,
    /// The agent's work.
    pub agent: Option<f64>,
    /// The verifier.
    pub verifier: Option<f64>,
    /// From the first to the last moment.
    pub total: Option<f64>,
}

/// What a model read and wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Tokens read, those from a cache included.
    pub input: Option<u64>,
    /// Of these, tokens from a cache. Never to be added to [`Self::input`].
    pub cached: Option<u64>,
    /// Tokens written.
    pub output: Option<u64>,
}

/// One step of a multi-step trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// Its rewards.
    pub rewards: Vec<Reward>,
    /// Its exception.
    pub exception: Option<Exception>,
    /// How long it took; a step has no environment of its own.
    pub seconds: Seconds,
    /// What its model read and wrote.
    pub tokens: Tokens,
    /// What its model cost, in US dollars.
    pub cost_usd: Option<f64>,
}

/// One file that a trial left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its path in the trial's directory, with `/`; a byte that is not UTF-8 is written `\xNN`, a backslash `\\`.
    pub path: String,
    /// The SHA-256 of the bytes that are kept, in hexadecimal; none if it was not read.
    pub digest: Option<String>,
    /// Its size in bytes, after redaction.
    pub size: u64,
    /// Where it is.
    pub kept: Kept,
}

impl Evidence {
    /// The digest of a list of files, by which it is seen that one was taken out.
    pub(crate) fn digest_of(evidence: &[Self]) -> Digest {
        let mut lines: Vec<String> = evidence
            .iter()
            .map(|file| {
                let digest = file.digest.as_deref().unwrap_or_default();
                format!("{}\0{}\0{digest}\0{}\n", file.path, file.kept, file.size)
            })
            .collect();
        lines.sort_unstable();
        Digest::of(lines.concat().as_bytes())
    }
}

/// An agent that trials of the ledger were made with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Its identity.
    pub digest: String,
    /// Its display label.
    pub label: String,
    /// Its version.
    pub version: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Its whole configuration as canonical JSON, without secrets.
    pub configuration: String,
}
