//! A trial as the ledger keeps it: the same shape whether it came from `eval`, `run` or `import`.

use serde::{Deserialize, Serialize};

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
    /// The SHA-256 of the agent's whole configuration, in hexadecimal ([`crate::agent`] says what enters it): the
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

/// Makes an enumeration whose values have one word each, in the database, in JSON and on the command line.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The word for it.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => {
                        let words: Vec<&str> = Self::ALL.iter().map(|one| one.word()).collect();
                        Err(format!("`{word}` is none of: {}", words.join(", ")))
                    }
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.word())
            }
        }
    };
}

words! {
    /// Which command made a record.
    #[derive(Default)]
    Source {
        /// `cargo xtask eval`.
        Eval = "eval",
        /// `cargo xtask run`.
        Run = "run",
        /// `cargo xtask import`.
        #[default]
        Import = "import",
    }
}

words! {
    /// How much came of a trial.
    #[derive(Default)]
    Status {
        /// Graded, with a valid reward, and not broken by infrastructure.
        Complete = "complete",
        /// It ran, and has no reward that could be used.
        #[default]
        Partial = "partial",
        /// Planned by the job, and without a result.
        Missing = "missing",
    }
}

words! {
    /// What broke a trial, by the type of its exception and the phase it was raised in; never by searching prose.
    Failure {
        /// What the trial ran on: environment, engine, network, provider of the model, credentials.
        Infrastructure = "infrastructure",
        /// What was tried: the agent, or the code it wrote.
        Candidate = "candidate",
        /// The verifier, or what it wrote.
        Verifier = "verifier",
        /// Its budget of money or tokens was used up.
        Budget = "budget",
        /// The agent's time was used up.
        Timeout = "timeout",
        /// Somebody stopped it.
        Cancelled = "cancelled",
    }
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

words! {
    /// Where a file of evidence is.
    #[derive(Default)]
    Kept {
        /// In the ledger's own store.
        Stored = "stored",
        /// Where it was when it was imported; the ledger has its digest only.
        Referenced = "referenced",
        /// Nowhere: a link, a device, a socket or the like, which is never opened.
        #[default]
        Skipped = "skipped",
    }
}

/// The few columns of a trial that statistics need.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// Harbor's name of the task.
    pub task: String,
    /// The identity of the agent.
    pub agent_digest: String,
    /// How much came of the trial.
    pub status: Status,
    /// What broke, if something did.
    pub failure: Option<Failure>,
    /// The value of the reward that counts, or of the key that was asked for.
    pub reward: Option<f64>,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// How long it took as a whole, in seconds.
    pub seconds: Option<f64>,
    /// The content digest of the task that was run, if it is known.
    pub task_digest: Option<String>,
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

/// Which trials are asked for: those that meet every condition given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this experiment.
    pub experiment: Option<String>,
    /// Of the job of this name.
    pub job: Option<String>,
    /// Of the task of this name, with or without what stands before its `/`.
    pub task: Option<String>,
    /// Of the agent with this label, or whose digest begins like this (six digits at least).
    pub agent: Option<String>,
    /// With this status.
    pub status: Option<Status>,
    /// With this class of failure.
    pub failure: Option<Failure>,
    /// Made by this command.
    pub source: Option<Source>,
    /// Scored by this reward instead of the one that counts. In [`Score`]s only; a trial without it has no reward.
    pub reward_key: Option<String>,
}
