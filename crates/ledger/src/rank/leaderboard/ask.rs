//! Asks a ledger for its leaderboard.

use crate::db::Ledger;
use crate::rank::patterns::TaskPatterns;
use crate::record::{Filter, Score};
use taskwright_base::Result;

use super::model::Leaderboard;
use super::rank::rank;
use super::rules::Rules;

impl Ledger {
    /// The leaderboard of the trials that a filter and patterns of task names let through. The metric of the rules takes
    /// the place of the filter's reward key.
    pub fn leaderboard(&self, filter: &Filter, tasks: &TaskPatterns, rules: &Rules) -> Result<Leaderboard> {
        let scores = self.scores_for(filter, tasks, rules)?;
        Ok(rank(scores, &self.agents()?, rules))
    }

    /// The scores of the trials that a filter and patterns of task names let through, by the metric of the rules.
    pub(crate) fn scores_for(
        &self,
        filter: &Filter,
        tasks: &TaskPatterns,
        rules: &Rules,
    ) -> Result<Vec<Score>> {
        let filter = Filter { reward_key: rules.metric.clone(), ..filter.clone() };
        let mut scores = self.scores(&filter)?;
        scores.retain(|score| tasks.matches(&score.task));
        Ok(scores)
    }
}
