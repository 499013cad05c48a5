//! What the rewards of each task are held against: its baseline, its own solution, and the way that is better.
//!
//! All of a ledger speaks of it, whichever trials are asked for: the verdicts of trials say what their baseline came to and
//! which way is better; where none does, the agent that does nothing has shown the baseline's reward. The agent that runs the
//! task's own solution shows what that comes to. Only trials of the very same content count.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::ValueRef;
use taskwright_base::Result;

use super::statistics::{Direction, Reference, is_reward, mean};
use crate::db::Ledger;
use crate::record::{Score, Status, word};

/// Harbor's agent that runs the task's own solution, and the one that does nothing.
const ORACLE: &str = "oracle";
const NOP: &str = "nop";

/// What the rewards of tasks are held against, by a task's name and content.
#[derive(Debug, Clone, Default)]
pub struct References(BTreeMap<(String, String), Reference>);

impl References {
    /// What is known of the task of a score.
    pub fn of(&self, task: &str, task_digest: Option<&str>) -> Reference {
        let known = task_digest.and_then(|digest| self.0.get(&(task.to_owned(), digest.to_owned())));
        known.copied().unwrap_or_default()
    }

    /// Adds to scores what their rewards are held against.
    pub(crate) fn add_to(&self, scores: &mut [Score]) {
        if self.0.is_empty() {
            return;
        }
        for score in scores {
            score.reference = self.of(&score.task, score.task_digest.as_deref());
        }
    }
}

/// What trials say of a task of one content.
#[derive(Default)]
struct Told {
    baselines: Vec<f64>,
    nop: Vec<f64>,
    oracle: Vec<f64>,
    directions: Vec<Direction>,
}

impl Told {
    fn reference(self) -> Reference {
        let baseline = if self.baselines.is_empty() { self.nop } else { self.baselines };
        let directions: BTreeSet<Direction> = self.directions.into_iter().collect();
        Reference {
            baseline: mean(baseline),
            oracle: mean(self.oracle),
            // The same content says the same; of what contradicts itself nothing is known.
            direction: directions.first().copied().filter(|_| directions.len() == 1),
        }
    }
}

impl Ledger {
    /// What the rewards of each task are held against, by the reward that counts or the one of this key.
    pub fn references(&self, metric: Option<&str>) -> Result<References> {
        let mut told: BTreeMap<(String, String), Told> = BTreeMap::new();
        self.verdicts(metric, &mut told).map_err(|error| self.failed(&error))?;
        for agent in [ORACLE, NOP] {
            let condition = "agent_digest IN (SELECT digest FROM agents WHERE label = ?)";
            for score in self.scores_where(condition, vec![agent.to_owned()], metric)? {
                let reward = score.reward.filter(|reward| is_reward(*reward));
                let (Some(digest), Some(reward), Status::Complete) =
                    (score.task_digest, reward, score.status)
                else {
                    continue;
                };
                let told = told.entry((score.task, digest)).or_default();
                if agent == ORACLE { &mut told.oracle } else { &mut told.nop }.push(reward);
            }
        }
        Ok(References(told.into_iter().map(|(task, told)| (task, told.reference())).collect()))
    }

    /// What the verdicts of trials say. Most of them say the same, and are read as one.
    fn verdicts(
        &self,
        metric: Option<&str>,
        told: &mut BTreeMap<(String, String), Told>,
    ) -> rusqlite::Result<()> {
        let sql = "SELECT task, task_digest, told.baseline, direction, count(*)
            FROM rewards AS told JOIN trials USING (trial)
            WHERE step = -1 AND (told.baseline IS NOT NULL OR direction IS NOT NULL)
                AND key = coalesce(?1, reward_key) AND task_digest IS NOT NULL
            GROUP BY task, task_digest, told.baseline, direction";
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([metric])?;
        while let Some(row) = rows.next()? {
            let told = told.entry((row.get(0)?, row.get(1)?)).or_default();
            let direction = row.get_ref(3)?;
            if direction != ValueRef::Null {
                told.directions.push(word(direction)?);
            }
            let baseline: Option<f64> = row.get(2)?;
            let times = usize::try_from(row.get::<_, i64>(4)?).unwrap_or_default();
            let baseline = baseline.filter(|baseline| is_reward(*baseline));
            told.baselines.extend(baseline.into_iter().flat_map(|one| std::iter::repeat_n(one, times)));
        }
        Ok(())
    }
}
