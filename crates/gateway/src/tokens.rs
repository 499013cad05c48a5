//! How many tokens a request took: what goes in, what comes out, and the parts of either that have a price of their own.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Tokens of one request, or of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tokens {
    /// All that went in.
    pub input: u64,
    /// What of it the upstream had in its cache.
    #[serde(default)]
    pub cached: u64,
    /// What of it the upstream put into its cache.
    #[serde(default)]
    pub written: u64,
    /// All that came out, with what the model thought.
    pub output: u64,
    /// What of it the model thought.
    #[serde(default)]
    pub reasoning: u64,
}

impl Tokens {
    /// What a budget counts.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// The same with no part larger than the whole.
    #[must_use]
    pub fn consistent(mut self) -> Self {
        self.cached = self.cached.min(self.input);
        self.written = self.written.min(self.input - self.cached);
        self.reasoning = self.reasoning.min(self.output);
        self
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        // Taken apart by name, so that a new field cannot be forgotten.
        let Self { input, cached, written, output, reasoning } = other;
        for (sum, more) in [
            (&mut self.input, input),
            (&mut self.cached, cached),
            (&mut self.written, written),
            (&mut self.output, output),
            (&mut self.reasoning, reasoning),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}
