//! What was used: by a token, and of a budget.

use std::fmt;
use std::iter::Sum;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use taskwright_base::text::count;

use crate::money::Money;
use crate::scope::Scope;
use crate::tokens::Tokens;

/// What a token has used, or all tokens of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Requests that were answered, or whose answer was cut.
    pub requests: u64,
    /// Their tokens.
    pub tokens: Tokens,
    /// What those of them cost whose price is known, in US dollars.
    pub cost: Money,
    /// How many of them have estimated tokens.
    pub estimated: u64,
    /// How many of them cost what nobody knows: their model has no price, and the upstream did not say.
    #[serde(default)]
    pub unpriced: u64,
    /// Requests that the upstream failed or refused. They cost nothing.
    pub failed: u64,
    /// Requests that the gateway refused.
    pub refused: u64,
    /// Those of them that it refused because the budget did not suffice.
    #[serde(default)]
    pub spent: u64,
    /// Requests that could not be made for reasons that are nobody's who asks: the upstream cannot be reached, or does not know the
    /// gateway's own key, or the gateway cannot write its journal.
    #[serde(default)]
    pub unreachable: u64,
    /// Requests that are not finished.
    pub open: u64,
}

/// How many requests of a token were not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Refusals {
    /// Those that the gateway refused.
    pub refused: u64,
    /// Those of them that it refused because the budget did not suffice.
    #[serde(default)]
    pub spent: u64,
    /// Those that could not be made for reasons that are nobody's who asks.
    #[serde(default)]
    pub unreachable: u64,
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

impl Usage {
    /// How many requests were not made.
    pub(crate) fn refusals(&self) -> Refusals {
        Refusals { refused: self.refused, spent: self.spent, unreachable: self.unreachable }
    }

    /// Whether requests could not be made, for want of a budget or of an upstream: what was asked them for has no score.
    pub fn is_cut_off(&self) -> bool {
        self.spent + self.unreachable > 0
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tokens { input, output, .. } = self.tokens;
        write!(formatter, "{}, {input} tokens in, {output} out", count(self.requests, "request"))?;
        if self.cost > Money::ZERO {
            write!(formatter, ", {}", self.cost)?;
        }
        // What a sum is without stands beside a sum only: where nothing has a price, nobody asked for one.
        let unpriced = if self.cost > Money::ZERO { self.unpriced } else { 0 };
        for (number, what) in [
            (self.estimated, "estimated"),
            (unpriced, "without a price"),
            (self.failed, "failed upstream"),
            (self.refused, "refused"),
        ] {
            if number > 0 {
                write!(formatter, "; {number} {what}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pool, spent, requests_left, tokens_left, cost_left } = self;
        let (requests, tokens) = (count(spent.requests, "request"), count(spent.tokens, "token"));
        write!(formatter, "{requests} and {tokens} of `{pool}` used")?;
        if spent.cost > Money::ZERO {
            write!(formatter, ", {}", spent.cost)?;
        }
        for (left, what) in [
            (requests_left.map(|left| left.to_string()), "requests"),
            (tokens_left.map(|left| left.to_string()), "tokens"),
            (cost_left.map(|left| left.to_string()), "to spend"),
        ] {
            if let Some(left) = left {
                write!(formatter, "; {left} {what} left")?;
            }
        }
        Ok(())
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        // Taken apart by name, so that a new field cannot be forgotten.
        let Self { requests, tokens, cost, estimated, unpriced, failed, refused, spent, unreachable, open } =
            other;
        self.tokens += tokens;
        self.cost += cost;
        for (sum, more) in [
            (&mut self.requests, requests),
            (&mut self.estimated, estimated),
            (&mut self.unpriced, unpriced),
            (&mut self.failed, failed),
            (&mut self.refused, refused),
            (&mut self.spent, spent),
            (&mut self.unreachable, unreachable),
            (&mut self.open, open),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
        each.fold(Self::default(), |mut sum, more| {
            sum += more;
            sum
        })
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

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn usage_and_budgets_are_said_in_words() {
        let cost = Money::dollars(0.25).unwrap();
        let tokens = Tokens { input: 10, cached: 4, output: 5, ..Tokens::default() };
        let usage = Usage { requests: 1, tokens, unpriced: 1, ..Usage::default() };
        assert_eq!(usage.to_string(), "1 request, 10 tokens in, 5 out");
        let usage = Usage { requests: 3, cost, estimated: 2, failed: 1, refused: 4, ..usage };
        assert_eq!(
            usage.to_string(),
            "3 requests, 10 tokens in, 5 out, $0.2500; 2 estimated; 1 without a price; 1 failed upstream; 4 refused"
        );
        let spent = Spent { requests: 2, tokens: 15, cost };
        let budget = Budget {
            pool: Scope::Evaluation,
            spent,
            requests_left: Some(3),
            tokens_left: None,
            cost_left: Some(cost),
        };
        assert_eq!(
            budget.to_string(),
            "2 requests and 15 tokens of `evaluation` used, $0.2500; 3 requests left; $0.2500 to spend left"
        );
    }

    #[test]
    fn sums_have_every_part() {
        let one = Usage {
            requests: 1,
            tokens: Tokens { input: 2, cached: 1, written: 1, output: 3, reasoning: 1 },
            cost: Money::dollars(0.5).unwrap(),
            estimated: 4,
            unpriced: 5,
            failed: 6,
            refused: 7,
            spent: 8,
            unreachable: 9,
            open: u64::MAX,
        };
        let said = serde_json::to_value([one, one].into_iter().sum::<Usage>()).unwrap();
        let twice = serde_json::json!({
            "requests": 2, "cost": 1.0, "estimated": 8, "unpriced": 10, "failed": 12, "refused": 14, "spent": 16,
            "tokens": { "input": 4, "cached": 2, "written": 2, "output": 6, "reasoning": 2 }, "unreachable": 18,
            "open": u64::MAX,
        });
        assert_eq!(said, twice);
    }
}
