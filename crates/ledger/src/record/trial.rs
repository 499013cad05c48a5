//! A trial as the ledger keeps it: the same shape whether it came from `eval`, `run` or `import`.

use serde::{Deserialize, Serialize};

use super::parts::{Evidence, Exception, Provenance, Reward, Seconds, Step, Tokens};
use super::words::{Failure, Source, Status};

/// One trial.
///
/// Names and messages are what Harbor or a candidate wrote: data of any length and alphabet, to be escaped by whoever
/// prints them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Harbor's identifier of the trial, or ours where Harbor made none. Unique in a ledger.
    pub id: String,
    /// The experiment it was made for, if any.
    pub experiment: Option<String>,
    /// The name of its job, if it is known.
    pub job: Option<String>,
    /// Harbor's name of the trial: the task directory's name and a random end.
    pub trial_name: String,
    /// Harbor's name of the task: `org/name`, or the directory's name where the task has no other.
    pub task: String,
    /// The name of the task's folder, by which a job's plan knows it.
    pub task_folder: Option<String>,
    /// The content digest of the task that was run, `sha256:` and hexadecimal, if the trial's own files tell it.
    pub task_digest: Option<String>,
    /// What the task was built from, if a lock describes its digest.
    pub provenance: Option<Provenance>,
    /// The agent's display label: its name, or the import path of its class. Not an identity.
    pub agent: String,
    /// The SHA-256 of the agent's whole configuration, in hexadecimal ([`crate::record::agent`] says what enters it): the
    /// identity of an agent. Rows of a leaderboard are told apart by this and by nothing else.
    pub agent_digest: String,
    /// The agent's version, as it named itself.
    pub agent_version: Option<String>,
    /// The model, `provider/name`, if the agent has one.
    pub model: Option<String>,
    /// The environment: `docker`, another of Harbor's, or the import path of its class.
    pub environment: Option<String>,
    /// The release of Harbor, where the job's files say it.
    pub harbor_version: Option<String>,
    /// Which command made the record.
    pub source: Source,
    /// How much came of it. Statistics use the complete ones only.
    pub status: Status,
    /// What broke, if something did. A complete trial can have one: an agent that ran out of time and was graded.
    pub failure: Option<Failure>,
    /// The exception that Harbor recorded, the trial's own before its steps'.
    pub exception: Option<Exception>,
    /// The value of the reward that counts; always finite, and always there if the trial is complete.
    pub reward: Option<f64>,
    /// The key of the reward that counts: the one asked for at import, else `reward`, `pass`, or the only one there is.
    pub reward_key: Option<String>,
    /// All rewards, by key, also those without a usable value.
    pub rewards: Vec<Reward>,
    /// Whether the reward can be relied on by Harbor's own rule (as written by Harbor, or worked out by its policy).
    pub reward_valid: bool,
    /// Why no reward counts, where that is not said by the exception.
    pub note: Option<String>,
    /// When it began: RFC 3339 in UTC with a `Z` at the end, or without a zone when Harbor wrote local time.
    pub started_at: Option<String>,
    /// When it ended, written like [`Self::started_at`].
    pub finished_at: Option<String>,
    /// How long it took.
    pub seconds: Seconds,
    /// What the agent's model read and wrote.
    pub tokens: Tokens,
    /// What the model cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// The steps of a multi-step task, in order.
    pub steps: Vec<Step>,
    /// The files that the trial left, by path.
    pub evidence: Vec<Evidence>,
}
