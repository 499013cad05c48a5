//! What a trial took of language models: as its agent claims, and as a gateway metered it.

use serde::{Deserialize, Serialize};
use taskwright_base::words;

use super::parts::Tokens;

words! {
    /// Who says what a trial cost.
    CostSource {
        /// The gateway that all requests to models went through.
        Metered = "metered",
        /// The agent itself, by way of Harbor.
        Claimed = "claimed",
    }
}

/// What an agent itself says that it took, as Harbor recorded it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Claimed {
    /// What its model read and wrote.
    pub tokens: Tokens,
    /// What that cost, in US dollars.
    pub cost_usd: Option<f64>,
}

/// What one user of a gateway took. Nothing is known of any part where there was no gateway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Used {
    /// Requests that were answered, or whose answer was cut.
    pub requests: Option<u64>,
    /// Their tokens.
    pub tokens: Tokens,
    /// What they cost, in US dollars; none where a price was missing.
    pub cost_usd: Option<f64>,
}

/// What a trial's gateway metered, by who asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Metered {
    /// The agent of the trial.
    pub producer: Used,
    /// The candidates that it had evaluated.
    pub evaluation: Used,
    /// The candidates that were scored in the end.
    pub finalization: Used,
}

impl Used {
    /// Whether a request was seen. Where none was, the agent had another way to its model, or none: nothing is known of either.
    pub(super) fn is_seen(&self) -> bool {
        self.requests.is_some_and(|requests| requests > 0)
    }

    /// What it is, in words, with counts and dollars as the caller writes them; none where no gateway counted.
    pub(crate) fn words(
        &self,
        count: impl Fn(u64) -> String,
        dollars: impl Fn(f64) -> String,
    ) -> Option<String> {
        let requests = self.requests?;
        let Tokens { input, cached, output } = self.tokens;
        let parts = [(input, "read"), (cached, "of these cached"), (output, "written")];
        let parts = parts.into_iter().filter_map(|(tokens, what)| Some(format!("{} {what}", count(tokens?))));
        let cost = self.cost_usd.map_or_else(|| "at prices that are not known".to_owned(), dollars);
        let ending = if requests == 1 { "" } else { "s" };
        let words = [format!("{} request{ending}", count(requests))].into_iter().chain(parts).chain([cost]);
        Some(words.collect::<Vec<_>>().join(", "))
    }

    /// The cost that goes before what the agent claims.
    pub(super) fn counted_cost(&self) -> Option<f64> {
        self.cost_usd.filter(|_| self.is_seen())
    }
}
