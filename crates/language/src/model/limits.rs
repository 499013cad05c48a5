//! Timeouts and limits of evaluations.

#[cfg(feature = "language")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A count with an explicit way to say "no limit".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Limit {
    /// No limit; written `"unlimited"`.
    #[default]
    Unlimited,
    /// At most this many.
    AtMost(u64),
}

impl Limit {
    /// The number, unless there is no limit.
    pub fn at_most(self) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::AtMost(count) => Some(count),
        }
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unlimited => serializer.serialize_str("unlimited"),
            Self::AtMost(count) => serializer.serialize_u64(*count),
        }
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Count(u64),
            Word(Word),
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Word {
            Unlimited,
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Count(count) => Self::AtMost(count),
            Written::Word(Word::Unlimited) => Self::Unlimited,
        })
    }
}

#[cfg(feature = "language")]
impl JsonSchema for Limit {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A count, or \"unlimited\".",
            "anyOf": [
                { "type": "integer", "format": "uint64", "minimum": 0 },
                { "type": "string", "const": "unlimited" },
            ],
        })
    }
}

/// How long one sample may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(untagged)]
pub enum SampleTime {
    /// So many seconds.
    Seconds(u64),
    /// As long as the sample itself says.
    Own(OwnTime),
}

/// The word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OwnTime {
    /// Each inner task has the time of its own.
    Task,
}

impl SampleTime {
    /// The seconds, unless each sample has a time of its own.
    pub fn seconds(self) -> Option<u64> {
        match self {
            Self::Seconds(seconds) => Some(seconds),
            Self::Own(OwnTime::Task) => None,
        }
    }
}

/// Timeouts and limits of evaluations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "language", derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Seconds that one evaluation may take.
    pub evaluation_timeout_sec: u64,
    /// Seconds that one sample may take; in Mode B, one trial with its set-up and verifier, whatever longer time its inner
    /// task gives it. `"task"` leaves each inner task the times of its own task.toml.
    pub sample_timeout_sec: SampleTime,
    /// Seconds that choosing and scoring the final candidate may take. It must cover the rescoring of the best
    /// candidates and every attempt at every target.
    pub finalize_timeout_sec: u64,
    /// How many samples, or inner trials, run at once.
    pub concurrency: u64,
    /// The share of samples, 0 to 1, that may fail because of infrastructure before the whole evaluation counts as failed and
    /// its budget is given back.
    pub error_rate_threshold: f64,
    /// How often a sample that failed because of infrastructure is tried in all.
    pub infrastructure_max_attempts: u64,
    /// Seconds to wait before it is tried again.
    pub infrastructure_retry_delay_sec: u64,
    /// Mode A: mebibytes of memory for one `run` process and its children.
    #[cfg_attr(feature = "language", schemars(extend("x-taskwright-mode" = "a")))]
    pub memory_mb: u64,
    /// Mode A: processes and threads that one `run` may have at once.
    #[cfg_attr(feature = "language", schemars(extend("x-taskwright-mode" = "a")))]
    pub processes: u64,
    /// Mode A: mebibytes that one file written by `run` may have.
    #[cfg_attr(feature = "language", schemars(extend("x-taskwright-mode" = "a")))]
    pub file_size_mb: u64,
    /// Mode A: mebibytes of output that one `run` may print.
    #[cfg_attr(feature = "language", schemars(extend("x-taskwright-mode" = "a")))]
    pub output_mb: u64,
    /// Mebibytes that a candidate's repository may add to the baseline.
    pub candidate_mb: u64,
    /// Mebibytes that the eval sidecar may keep of all candidates and results together. When they are used up, nothing
    /// more is uploaded or evaluated, and the final candidate is chosen from what is there.
    pub state_mb: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            evaluation_timeout_sec: 3600,
            sample_timeout_sec: SampleTime::Seconds(60),
            finalize_timeout_sec: 7200,
            concurrency: 2,
            error_rate_threshold: 0.1,
            infrastructure_max_attempts: 1,
            infrastructure_retry_delay_sec: 5,
            memory_mb: 2048,
            processes: 64,
            file_size_mb: 256,
            output_mb: 16,
            candidate_mb: 256,
            state_mb: 2048,
        }
    }
}

impl Limits {
    /// Seconds that one sample may take at most: where each has a time of its own, those of the whole evaluation.
    pub fn sample_seconds(&self) -> u64 {
        self.sample_timeout_sec.seconds().unwrap_or(self.evaluation_timeout_sec)
    }
}
