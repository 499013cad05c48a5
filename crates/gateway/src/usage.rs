//! What was used: by a token, and of a budget.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::money::Money;
use crate::scope::Scope;
use crate::tokens::Tokens;

/// What a token has used.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Requests that were answered, or whose answer was cut.
    pub requests: u64,
    /// Their tokens.
    pub tokens: Tokens,
    /// What they cost, in US dollars; 0 where no price is known.
    pub cost: Money,
    /// How many of them have estimated tokens.
    pub estimated: u64,
    /// Requests that the upstream failed or refused. They cost nothing.
    pub failed: u64,
    /// Requests that the gateway refused.
    pub refused: u64,
    /// Those of them that it refused because the budget did not suffice.
    #[serde(default)]
    pub spent: u64,
    /// Requests that could not be made for reasons that are nobody's who asks: the upstream cannot be reached, or does not accept the
    /// gateway's own key.
    #[serde(default)]
    pub unreachable: u64,
    /// Requests that are not finished.
    pub open: u64,
}

/// What is taken from a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Charge {
    /// Requests.
    pub requests: u64,
    /// Tokens, in and out.
    pub tokens: u64,
    /// Money.
    pub cost: Parts,
}

/// A budget, and what is left of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Whose budget it is: finalization may use that of evaluation.
    pub pool: Scope,
    /// What is spent, without what is set aside for requests under way.
    pub spent: Spent,
    /// Requests that may still be made; none if there is no limit.
    pub requests_left: Option<u64>,
    /// Tokens that may still be used; none if there is no limit.
    pub tokens_left: Option<u64>,
    /// Money that may still be spent, in US dollars; none if there is no limit.
    pub cost_left: Option<Money>,
}

/// What is spent of a budget, for people.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// Requests.
    pub requests: u64,
    /// Tokens, in and out.
    pub tokens: u64,
    /// Money, in US dollars.
    pub cost: Money,
}

impl Budget {
    /// Whether nothing more can be asked for: a limit is reached.
    pub fn is_spent(&self) -> bool {
        self.requests_left == Some(0) || self.tokens_left == Some(0) || self.cost_left == Some(Money::ZERO)
    }
}

impl AddAssign for Charge {
    fn add_assign(&mut self, other: Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost = Parts(self.cost.0 + other.cost.0);
    }
}

impl Charge {
    /// What is left after giving some back.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(other.requests),
            tokens: self.tokens.saturating_sub(other.tokens),
            cost: Parts(self.cost.0.less(other.cost.0)),
        }
    }
}

/// An amount of money in a journal: exactly, which a number of dollars is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Parts(pub Money);

impl Serialize for Parts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.parts().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(|parts| Self(Money::from_parts(parts)))
    }
}
