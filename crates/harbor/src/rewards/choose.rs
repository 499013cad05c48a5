//! Which of a verifier's rewards counts.

use super::{InvalidReward, Rewards};

/// The keys that are looked for when none is asked for.
const USUAL: [&str; 2] = ["reward", "pass"];

/// How many keys an error names.
const NAMED: usize = 12;

/// The reward that counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chosen<'a> {
    /// Its key.
    pub key: &'a str,
    /// Its value; always finite.
    pub value: f64,
}

/// Why no reward counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewardError {
    /// The verifier reported no key at all.
    #[error("the verifier reported no reward: its rewards are empty")]
    Empty,
    /// The verifier reported no keys but something else.
    #[error("the rewards are {0}, not keys with numbers")]
    NotAMap(&'static str),
    /// The key that was asked for is not there.
    #[error("the verifier reported no `{wanted}`; it reported {}", list(.found))]
    NoSuchKey {
        /// The key that was asked for.
        wanted: String,
        /// The keys there are, by name.
        found: Vec<String>,
    },
    /// There are several keys and none of the usual ones.
    #[error("it is unclear which reward counts: the verifier reported {}; name one with `reward_key`, or `--reward-key` of an import", list(.found))]
    Unclear {
        /// The keys there are, by name.
        found: Vec<String>,
    },
    /// The one that counts is no usable number.
    #[error("the reward `{key}` is {reason}: {text}")]
    Invalid {
        /// Its key.
        key: String,
        /// What it is instead.
        reason: InvalidReward,
        /// How it was written.
        text: String,
    },
}

impl Rewards {
    /// The reward that counts: the one under `key` if a key is asked for, and never another; otherwise `reward`, else
    /// `pass`, else the only one there is.
    pub fn choose(&self, key: Option<&str>) -> Result<Chosen<'_>, RewardError> {
        let keys = match self {
            Self::Keys(keys) => keys,
            Self::NotAMap(what) => return Err(RewardError::NotAMap(what)),
        };
        let found = || keys.keys().cloned().collect();
        let chosen = match key {
            Some(wanted) => keys.get_key_value(wanted),
            None => USUAL
                .iter()
                .find_map(|usual| keys.get_key_value(*usual))
                .or_else(|| keys.first_key_value().filter(|_| keys.len() == 1)),
        };
        match (chosen, key) {
            (Some((key, reward)), _) => match reward.value {
                Ok(value) => Ok(Chosen { key, value }),
                Err(reason) => {
                    Err(RewardError::Invalid { key: key.clone(), reason, text: reward.text.clone() })
                }
            },
            (None, _) if keys.is_empty() => Err(RewardError::Empty),
            (None, Some(wanted)) => Err(RewardError::NoSuchKey { wanted: wanted.to_owned(), found: found() }),
            (None, None) => Err(RewardError::Unclear { found: found() }),
        }
    }
}

fn list(keys: &[String]) -> String {
    let named: Vec<_> = keys.iter().take(NAMED).map(|key| format!("`{}`", key.escape_debug())).collect();
    let more = keys.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    named.join(", ") + &more
}
