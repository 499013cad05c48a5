//! Rewards: what a verifier reported, exactly, and which of it counts.

mod choose;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::value::RawValue;

pub use choose::{Chosen, RewardError};

use crate::document::{self, NonFinite};

/// What stands under `rewards`.
#[derive(Debug, Clone, PartialEq)]
pub enum Rewards {
    /// Each key with its value, by name. May be empty: Harbor accepts that a verifier reports nothing.
    Keys(BTreeMap<String, Reward>),
    /// Something else than keys and values: what it is.
    NotAMap(&'static str),
}

/// One reward.
#[derive(Debug, Clone, PartialEq)]
pub struct Reward {
    /// The value as it was written, so that no digit is lost; cut if it is long and no number.
    pub text: String,
    /// The value as a number, which is finite, or why it is none.
    pub value: Result<f64, InvalidReward>,
}

/// Why a reward is no usable number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidReward {
    /// It is `null`; Harbor up to 0.22 wrote that for numbers that are not finite.
    Null,
    /// It is `true` or `false`.
    Bool,
    /// It is text.
    Text,
    /// It is a list or an object.
    Nested,
    /// It is `NaN`, infinite, or too large for a number.
    NotFinite,
}

impl fmt::Display for InvalidReward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Bool => "a truth value",
            Self::Text => "text",
            Self::Nested => "a list or an object",
            Self::NotFinite => "not finite",
        })
    }
}

/// How much of a reward that is no number is kept.
const SHOWN: usize = 64;

impl Rewards {
    /// Takes what stands under `rewards`; nothing for `null` and for nothing.
    pub(crate) fn take(part: Option<&RawValue>) -> Option<Self> {
        let raw = part?;
        match raw.get().as_bytes().first() {
            Some(b'{') => {}
            Some(b'n') => return None,
            Some(b'[') => return Some(Self::NotAMap("a list")),
            Some(b'"') if document::written(raw.get()).is_none() => return Some(Self::NotAMap("text")),
            Some(b't' | b'f') => return Some(Self::NotAMap("a truth value")),
            _ => return Some(Self::NotAMap("a single number")),
        }
        // Of a key with half characters the rest is its name: the other rewards count all the same.
        let Some(keys) = document::keys(part) else {
            return Some(Self::NotAMap("an object with damaged keys"));
        };
        Some(Self::Keys(keys.into_iter().map(|(key, raw)| (key, Reward::take(raw.get()))).collect()))
    }

    /// Each key and its value; none if there are no keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Reward)> {
        let keys = match self {
            Self::Keys(keys) => Some(keys),
            Self::NotAMap(_) => None,
        };
        keys.into_iter().flatten().map(|(key, reward)| (key.as_str(), reward))
    }

    /// The keys that hold a finite number.
    pub fn finite(&self) -> impl Iterator<Item = (&str, f64)> {
        self.iter().filter_map(|(key, reward)| Some((key, reward.value.ok()?)))
    }
}

impl Reward {
    fn take(raw: &str) -> Self {
        let value = match raw.as_bytes().first() {
            Some(b'n') => Err(InvalidReward::Null),
            Some(b't' | b'f') => Err(InvalidReward::Bool),
            Some(b'[' | b'{') => Err(InvalidReward::Nested),
            Some(b'"') => match document::written(raw) {
                Some(_) => Err(InvalidReward::NotFinite),
                None => Err(InvalidReward::Text),
            },
            _ => match raw.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(number),
                _ => Err(InvalidReward::NotFinite),
            },
        };
        let text = match document::written(raw) {
            Some(NonFinite::NaN) => "NaN".to_owned(),
            Some(NonFinite::Infinity) => "Infinity".to_owned(),
            Some(NonFinite::MinusInfinity) => "-Infinity".to_owned(),
            None if value.is_ok() => raw.to_owned(),
            None => raw[..raw.floor_char_boundary(SHOWN)].to_owned(),
        };
        Self { text, value }
    }

    /// A number of ours.
    #[must_use]
    pub fn of(number: f64) -> Self {
        Self {
            text: number.to_string(),
            value: if number.is_finite() { Ok(number) } else { Err(InvalidReward::NotFinite) },
        }
    }
}

#[cfg(test)]
mod tests;
