//! What became of each attempt at a sample that is a whole Harbor task.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::failure::ErrorClass;

/// The attempts at a sample. `expected` is `graded`, `dead` and `missing` together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Attempts {
    /// How many there should be.
    pub expected: u64,
    /// How many ended in a result, those among them that are more than expected and do not count.
    pub found: u64,
    /// How many have a reward that counts.
    pub graded: u64,
    /// How many of those had an exception all the same: the agent's time was over, say, and its work was graded.
    pub flagged: u64,
    /// How many ended without a reward that counts.
    pub dead: u64,
    /// How many have not ended, or never began.
    pub missing: u64,
    /// Those that count, in the order of their rank: graded ones first.
    pub list: Vec<Attempt>,
}

/// One attempt that ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Attempt {
    /// The trial's name.
    pub trial: String,
    /// Harbor's id of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The reward that counts; none if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reward: Option<f64>,
    /// The key that the verifier reported it under.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reward_key: Option<String>,
    /// All that the verifier reported, as far as it is finite.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, f64>,
    /// The type of what was raised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exception: Option<String>,
    /// Whose failure it is that there is no reward; none if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<ErrorClass>,
    /// What happened, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// How long each phase took.
    pub phases: Phases,
    /// How long all of it took, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// What it took of language models.
    #[serde(flatten)]
    pub claimed: Claimed,
    /// The end of what the agent left as its transcript; empty where samples may not be seen.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub transcript: String,
    /// The end of what the verifier printed; empty where samples may not be seen.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub verifier_output: String,
}

/// What an attempt took of language models: reported by the candidate's agent, not metered. A gateway has one token for all attempts of
/// an evaluation, and a candidate's agent can say what it likes.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Claimed {
    /// Tokens that were read, those from a cache among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_input_tokens: Option<u64>,
    /// Tokens that were read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_cache_tokens: Option<u64>,
    /// Tokens that were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n_output_tokens: Option<u64>,
    /// The cost in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl Claimed {
    /// In words, with who says so; none if it says nothing.
    pub fn words(&self) -> Option<String> {
        let Self { n_input_tokens, n_cache_tokens, n_output_tokens, cost_usd } = self;
        let tokens = [
            ("tokens in", n_input_tokens),
            ("of them cached", n_cache_tokens),
            ("tokens out", n_output_tokens),
        ];
        let tokens = tokens.into_iter().filter_map(|(name, count)| Some(format!("{} {name}", (*count)?)));
        let said: Vec<String> = tokens.chain(cost_usd.map(|cost| format!("{cost:.4} USD"))).collect();
        (!said.is_empty()).then(|| format!("by its agent's word {}", said.join(", ")))
    }
}

/// Seconds that the phases of a trial took; none for one that was not reached.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Phases {
    /// Building and starting the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment_setup: Option<f64>,
    /// Installing the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_setup: Option<f64>,
    /// The agent's work, over all steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_execution: Option<f64>,
    /// The verifier's work, over all steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verifier: Option<f64>,
}
