//! Who is believed where an agent claims what it took of language models and a gateway metered it.

use super::spending::{Claimed, CostSource, Metered};
use super::trial::Trial;

impl Trial {
    /// The trial with what it took. This is the one rule of what counts where both are known: what was metered of the agent
    /// goes before what it claims, its tokens and its cost each for itself, as far as the gateway saw a request of it.
    #[must_use]
    pub fn spending(self, claimed: Claimed, metered: Metered) -> Self {
        let agent = &metered.producer;
        Self {
            tokens: if agent.is_seen() { agent.tokens } else { claimed.tokens },
            cost_usd: agent.counted_cost().or(claimed.cost_usd),
            claimed,
            metered,
            ..self
        }
    }

    /// Who says what counts as the cost; none where it is not known.
    pub fn cost_source(&self) -> Option<CostSource> {
        self.cost_usd.map(|_| match self.metered.producer.counted_cost() {
            Some(_) => CostSource::Metered,
            None => CostSource::Claimed,
        })
    }

    /// What counts as the cost and who says so, with what the agent claims where a gateway metered it; dollars as the caller
    /// writes them.
    pub(crate) fn cost_words(&self, dollars: impl Fn(f64) -> String) -> Option<String> {
        let cost = dollars(self.cost_usd?);
        Some(match (self.cost_source()?, self.claimed.cost_usd) {
            (CostSource::Claimed, _) => format!("{cost} claimed by the agent"),
            (CostSource::Metered, None) => format!("{cost} metered"),
            (CostSource::Metered, Some(claimed)) => {
                format!("{cost} metered, {} claimed by the agent", dollars(claimed))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;
    use crate::record::{Tokens, Used};

    fn used(requests: u64, input: u64, cost_usd: Option<f64>) -> Used {
        Used {
            requests: Some(requests),
            tokens: Tokens { input: Some(input), ..Tokens::default() },
            cost_usd,
        }
    }

    #[test]
    fn what_was_metered_of_the_agent_goes_before_what_it_claims() {
        let claimed = Claimed { tokens: Tokens { input: Some(7), ..Tokens::default() }, cost_usd: Some(0.5) };
        let (metered, claim) = (Some(CostSource::Metered), Some(CostSource::Claimed));
        for (producer, claimed, counts) in [
            (Used::default(), claimed, (Some(7), Some(0.5), claim)),
            (used(2, 30, Some(0.25)), claimed, (Some(30), Some(0.25), metered)),
            (used(2, 30, Some(0.25)), Claimed::default(), (Some(30), Some(0.25), metered)),
            // Without a price tokens are metered, and the cost is not.
            (used(2, 30, None), claimed, (Some(30), Some(0.5), claim)),
            // It had another way.
            (used(0, 0, Some(0.0)), claimed, (Some(7), Some(0.5), claim)),
            (used(0, 0, Some(0.0)), Claimed::default(), (None, None, None)),
            (used(2, 30, Some(0.0)), claimed, (Some(30), Some(0.0), metered)),
        ] {
            // What candidates took is not the agent's.
            let metered =
                Metered { producer, evaluation: used(9, 9, Some(9.0)), finalization: used(9, 9, Some(9.0)) };
            let trial = Trial::default().spending(claimed, metered);
            assert_eq!((trial.tokens.input, trial.cost_usd, trial.cost_source()), counts, "{producer:?}");
            assert_eq!((trial.claimed, trial.metered), (claimed, metered));
        }
    }
}
