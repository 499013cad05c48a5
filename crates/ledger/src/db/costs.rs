//! What attempts have cost, by who tried what.

use taskwright_base::Result;

use super::Ledger;
use super::query::expression;
use crate::rank::statistics::is_amount;

/// What one attempt cost, as far as its agent is concerned.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// The agent's label.
    pub agent: String,
    /// Its model.
    pub model: Option<String>,
    /// The folder of the task.
    pub task_folder: String,
    /// In US dollars.
    pub usd: f64,
}

impl Ledger {
    /// What each attempt cost whose cost is known, by the rule of the leaderboard: once for an attempt, however often it was graded,
    /// and no amount that nobody can have spent. In no order.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn costs(&self) -> Result<Vec<Cost>> {
        let cost = expression("cost_usd", false);
        let sql = format!(
            "SELECT agent, model, task_folder, {cost} AS usd FROM trials
             WHERE task_folder IS NOT NULL AND usd IS NOT NULL AND trial NOT IN (SELECT trial FROM superseded)"
        );
        let failed = |error: rusqlite::Error| self.failed(&error);
        let mut statement = self.connection.prepare(&sql).map_err(failed)?;
        let rows = statement.query_map([], |row| {
            Ok(Cost { agent: row.get(0)?, model: row.get(1)?, task_folder: row.get(2)?, usd: row.get(3)? })
        });
        let all: Vec<Cost> = rows.and_then(Iterator::collect).map_err(failed)?;
        Ok(all.into_iter().filter(|cost| is_amount(cost.usd)).collect())
    }
}
