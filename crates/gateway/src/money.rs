//! Money, to the millionth of a millionth of a dollar, so that sums are exact; and what a model costs.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use taskwright_language::model::MOST_DOLLARS;

use crate::tokens::Tokens;

/// Parts of a dollar. With a million times a million of them a price for a million tokens is a whole number for one.
const PARTS: f64 = 1e12;

/// An amount of US dollars, never negative. In JSON it is a number of dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Money(u64);

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// So many dollars; none if that is not an amount: negative, not a number, or more than a million.
    pub fn dollars(dollars: f64) -> Option<Self> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1e18")]
        (0.0..=MOST_DOLLARS).contains(&dollars).then(|| Self((dollars * PARTS).round() as u64))
    }

    /// How many dollars.
    #[expect(clippy::cast_precision_loss, reason = "what is shown need not be exact")]
    pub fn as_dollars(self) -> f64 {
        self.0 as f64 / PARTS
    }

    /// How many millionths of millionths of a dollar, exactly.
    pub fn parts(self) -> u64 {
        self.0
    }

    /// From [`Money::parts`].
    pub fn from_parts(parts: u64) -> Self {
        Self(parts)
    }

    /// What is left after taking some away; nothing if that is more.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Money {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "${:.4}", self.as_dollars())
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_dollars())
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Self::dollars(dollars)
            .ok_or_else(|| D::Error::custom("an amount is a number of US dollars, at most a million"))
    }
}

/// How much may be spent; written as a number of dollars, or `"unlimited"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CostLimit {
    /// As much as it takes.
    #[default]
    Unlimited,
    /// At most this.
    AtMost(Money),
}

impl CostLimit {
    /// The amount, unless there is no limit.
    pub fn at_most(self) -> Option<Money> {
        match self {
            Self::Unlimited => None,
            Self::AtMost(amount) => Some(amount),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Amount(Money),
    Word(Word),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Unlimited,
}

impl Serialize for CostLimit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unlimited => Written::Word(Word::Unlimited),
            Self::AtMost(amount) => Written::Amount(*amount),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CostLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Written::deserialize(deserializer)? {
            Written::Amount(amount) => Self::AtMost(amount),
            Written::Word(Word::Unlimited) => Self::Unlimited,
        })
    }
}

/// What a model costs, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Of the input.
    pub input: Money,
    /// Of input that the upstream had in its cache; if not given, like other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<Money>,
    /// Of input that the upstream puts into its cache; if not given, like other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Money>,
    /// Of the output, with what the model thinks.
    pub output: Money,
}

impl Price {
    /// What tokens cost.
    pub fn of(&self, tokens: &Tokens) -> Money {
        let plain = tokens.input.saturating_sub(tokens.cached).saturating_sub(tokens.written);
        [
            (Some(self.input), plain),
            (self.cached_input, tokens.cached),
            (self.cache_write, tokens.written),
            (Some(self.output), tokens.output),
        ]
        .into_iter()
        .map(|(price, count)| Money(price.unwrap_or(self.input).0.div_ceil(1_000_000)).times(count))
        .sum()
    }

    /// The most that so many tokens of input can cost, whatever the cache does, and so many of output.
    pub fn most(&self, input: u64, output: u64) -> Money {
        let dearest = [self.cached_input, self.cache_write].into_iter().flatten().fold(self.input, Ord::max);
        Self { input: dearest, cached_input: None, cache_write: None, output: self.output }.of(&Tokens {
            input,
            output,
            ..Tokens::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn a_price_for_a_million_tokens_is_exact_for_one() {
        let price: Price =
            serde_json::from_str(r#"{"input": 0.075, "cached_input": 0.01875, "output": 15}"#).unwrap();
        let tokens = Tokens { input: 1_000_000, cached: 400_000, output: 1000, ..Tokens::default() };
        assert_eq!(price.of(&tokens), Money::dollars(0.045 + 0.0075 + 0.015).unwrap());
        assert_eq!(price.of(&tokens).to_string(), "$0.0675");
        assert!(price.most(1_000_000, 1000) >= price.of(&tokens));
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for wrong in [-0.01, f64::NAN, f64::INFINITY, 1e7] {
            assert_eq!(Money::dollars(wrong), None, "{wrong}");
        }
        assert_eq!(serde_json::from_str::<CostLimit>("2.5").unwrap().at_most(), Money::dollars(2.5));
        assert_eq!(serde_json::from_str::<CostLimit>("\"unlimited\"").unwrap(), CostLimit::Unlimited);
        for wrong in ["-1", "\"5\"", "null"] {
            assert!(serde_json::from_str::<CostLimit>(wrong).is_err(), "{wrong}");
        }
    }
}
