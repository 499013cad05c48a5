//! Asks a ledger for the comparison of two agents.

use crate::db::Ledger;
use crate::rank::leaderboard::Rules;
use crate::rank::patterns::TaskPatterns;
use crate::record::Filter;
use taskwright_base::{Error, Result};

use super::choose::{Choice, Known};
use super::model::Comparison;
use super::pair::compare;

impl Ledger {
    /// Compares two agents on the trials that a filter and patterns of task names let through.
    ///
    /// Each word is an agent's label, the beginning of its digest (six digits at least), an experiment with a single
    /// agent, or `EXPERIMENT:AGENT`. A word that may mean several is an error that lists them.
    pub fn compare(
        &self,
        words: (&str, &str),
        filter: &Filter,
        tasks: &TaskPatterns,
        rules: &Rules,
    ) -> Result<Comparison> {
        let mut pairs = self.agents_by_experiment()?;
        if let Some(experiment) = &filter.experiment {
            pairs.retain(|(_, of)| of.as_ref() == Some(experiment));
        }
        let known = Known::new(self.agents()?, &pairs);
        let (a, b) = (known.choose(words.0)?, known.choose(words.1)?);
        if a == b {
            return Err(Error::new(format!(
                "`{}` and `{}` are the same agent, {}",
                words.0.escape_debug(),
                words.1.escape_debug(),
                a.label.escape_debug()
            ))
            .hint("name two agents, or the same agent in two experiments"));
        }
        let scores = |choice: Choice| {
            let filter = Filter {
                experiment: choice.experiment.clone().or_else(|| filter.experiment.clone()),
                agent: Some(choice.agent.digest.clone()),
                ..filter.clone()
            };
            Ok::<_, Error>((choice, self.scores_for(&filter, tasks, rules)?))
        };
        Ok(compare(scores(a)?, scores(b)?, rules))
    }

    /// Each agent's digest with each experiment that it has trials in.
    fn agents_by_experiment(&self) -> Result<Vec<(String, Option<String>)>> {
        let failed = |error: rusqlite::Error| self.failed(&error);
        let sql = "SELECT DISTINCT agent_digest, experiment FROM trials ORDER BY agent_digest, experiment";
        let mut statement = self.connection.prepare(sql).map_err(failed)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.and_then(Iterator::collect).map_err(failed)
    }
}
