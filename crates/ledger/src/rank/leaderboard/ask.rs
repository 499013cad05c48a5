//! Asks a ledger for its leaderboard.

use crate::db::Ledger;
use crate::rank::patterns::TaskPatterns;
use crate::record::{Filter, Score};
use taskwright_base::{Error, Result};

use super::model::Leaderboard;
use super::rank::rank;
use super::rules::Rules;

/// How many keys an error lists.
const SHOWN: usize = 12;

impl Ledger {
    /// The leaderboard of the trials that a filter and patterns of task names let through. The metric of the rules takes
    /// the place of the filter's reward key.
    pub fn leaderboard(&self, filter: &Filter, tasks: &TaskPatterns, rules: &Rules) -> Result<Leaderboard> {
        let scores = self.scores_for(filter, tasks, rules)?;
        let board = rank(scores, &self.agents()?, rules);
        if board.rows.iter().any(|row| row.mean.is_some())
            && board.rows.iter().all(|row| row.by(board.ranked_by).is_none())
        {
            return Err(Error::new(format!("no agent can be ranked by `{}`", board.ranked_by))
                .hint(
                    "it takes the rewards of each task's baseline, and for a share of its solution: run the agents `nop` \
                     and `oracle` on the same tasks",
                )
                .usage());
        }
        Ok(board)
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
        self.references(rules.metric.as_deref())?.add_to(&mut scores);
        if let Some(metric) = &rules.metric
            && scores.iter().all(|score| score.reward.is_none())
        {
            self.refuse_unknown(metric, &filter)?;
        }
        Ok(scores)
    }

    /// Refuses a reward that no trial has, where they have others.
    fn refuse_unknown(&self, metric: &str, filter: &Filter) -> Result<()> {
        let keys = self.reward_keys(filter)?;
        if keys.is_empty() || keys.iter().any(|key| key == metric) {
            return Ok(());
        }
        let shown: Vec<String> =
            keys.iter().take(SHOWN).map(|key| format!("`{}`", key.escape_debug())).collect();
        let more =
            if keys.len() > SHOWN { format!(" and {} more", keys.len() - SHOWN) } else { String::new() };
        Err(Error::new(format!("no trial has the reward `{}`", metric.escape_debug()))
            .hint(format!("there are {}{more}", shown.join(", ")))
            .usage())
    }
}
