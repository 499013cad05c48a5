//! Reading the trials of a ledger.

use std::str::FromStr;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, ToSql, params, params_from_iter};
use taskwright_base::digest::hex;
use taskwright_base::{Error, Result};

use super::Ledger;
use crate::record::{
    Agent, Evidence, Exception, Failure, Filter, Kept, Provenance, Reward, Score, Seconds, Source, Status,
    Step, Tokens, Trial,
};

/// The shortest beginning of an identifier or a digest that is taken for one.
const SHORTEST: usize = 6;

impl Ledger {
    /// The trials that a filter lets through, by task, agent, start and identifier.
    pub fn trials(&self, filter: &Filter) -> Result<Vec<Trial>> {
        let mut trials = Vec::new();
        self.visit(filter, |trial| {
            trials.push(trial);
            Ok(())
        })?;
        Ok(trials)
    }

    /// Hands the trials that a filter lets through to `take`, one at a time, in the order of [`Self::trials`].
    pub fn visit(&self, filter: &Filter, mut take: impl FnMut(Trial) -> Result<()>) -> Result<()> {
        let (condition, values) = condition(filter);
        let sql = format!(
            "SELECT {COLUMNS} FROM trials WHERE {condition} ORDER BY task, agent_digest, started_at, id"
        );
        let failed = |error: rusqlite::Error| self.failed(&error);
        let mut children = Children::new(&self.connection).map_err(failed)?;
        let mut statement = self.connection.prepare(&sql).map_err(failed)?;
        let mut rows = statement.query(params_from_iter(values)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let (number, mut trial) = trial(row).map_err(failed)?;
            children.add(number, &mut trial).map_err(failed)?;
            take(trial)?;
        }
        Ok(())
    }

    /// What statistics need of the trials that a filter lets through, by agent and task, then in no order.
    pub fn scores(&self, filter: &Filter) -> Result<Vec<Score>> {
        let (condition, mut values) = condition(filter);
        let reward = match &filter.reward_key {
            None => "reward",
            Some(key) => {
                values.push(key.clone());
                "(SELECT value FROM rewards WHERE rewards.trial = trials.trial AND step = -1 AND key = ?)"
            }
        };
        // The values are bound in the order of their places in the text: the key's stands before the condition's.
        if filter.reward_key.is_some() {
            values.rotate_right(1);
        }
        let sql = format!(
            "SELECT task, agent_digest, status, failure, {reward}, cost_usd, seconds_total, task_digest
             FROM trials WHERE {condition} ORDER BY agent_digest, task"
        );
        let failed = |error: rusqlite::Error| self.failed(&error);
        let mut statement = self.connection.prepare(&sql).map_err(failed)?;
        let rows = statement
            .query_map(params_from_iter(values), |row| {
                Ok(Score {
                    task: row.get(0)?,
                    agent_digest: row.get(1)?,
                    status: row.get(2)?,
                    failure: row.get(3)?,
                    reward: row.get(4)?,
                    cost_usd: row.get(5)?,
                    seconds: row.get(6)?,
                    task_digest: row.get(7)?,
                })
            })
            .map_err(failed)?;
        rows.collect::<rusqlite::Result<_>>().map_err(failed)
    }

    /// How many trials a filter lets through.
    pub fn count(&self, filter: &Filter) -> Result<u64> {
        let (condition, values) = condition(filter);
        let sql = format!("SELECT count(*) FROM trials WHERE {condition}");
        self.connection
            .query_row(&sql, params_from_iter(values), |row| row.get::<_, i64>(0))
            .map(i64::unsigned_abs)
            .map_err(|error| self.failed(&error))
    }

    /// The agents that trials of the ledger were made with, by label and digest.
    pub fn agents(&self) -> Result<Vec<Agent>> {
        let failed = |error: rusqlite::Error| self.failed(&error);
        let sql = "SELECT digest, label, version, model, configuration FROM agents
            WHERE digest IN (SELECT agent_digest FROM trials) ORDER BY label, digest";
        let mut statement = self.connection.prepare(sql).map_err(failed)?;
        let rows = statement.query_map([], |row| {
            Ok(Agent {
                digest: row.get(0)?,
                label: row.get(1)?,
                version: row.get(2)?,
                model: row.get(3)?,
                configuration: row.get(4)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(failed)
    }

    /// The trial with an identifier, a beginning of it, or a name. An error if there is none, or more than one.
    pub fn find(&self, word: &str) -> Result<Trial> {
        let failed = |error: rusqlite::Error| self.failed(&error);
        let exact = self.find_where("id = ?1", word).map_err(failed)?;
        let mut found =
            if exact.is_empty() { self.find_where("trial_name = ?1", word).map_err(failed)? } else { exact };
        if found.is_empty() && word.len() >= SHORTEST {
            found = self.find_where("substr(id, 1, length(?1)) = ?1", word).map_err(failed)?;
        }
        match found.len() {
            0 => {
                Err(Error::new(format!("no trial has the identifier or the name `{}`", word.escape_debug()))
                    .hint(format!(
                        "`cargo xtask trials` lists them; {SHORTEST} letters of an identifier are enough"
                    ))
                    .usage())
            }
            1 => {
                let (number, mut trial) = found.remove(0);
                Children::new(&self.connection)
                    .and_then(|mut children| children.add(number, &mut trial))
                    .map_err(failed)?;
                Ok(trial)
            }
            _ => {
                let ids: Vec<&str> = found.iter().map(|(_, trial)| trial.id.as_str()).take(8).collect();
                Err(Error::new(format!("{} trials go by `{}`", found.len(), word.escape_debug()))
                    .hint(format!("say which by its identifier: {}", ids.join(", ")))
                    .usage())
            }
        }
    }

    fn find_where(&self, condition: &str, word: &str) -> rusqlite::Result<Vec<(i64, Trial)>> {
        let sql = format!("SELECT {COLUMNS} FROM trials WHERE {condition} ORDER BY id LIMIT 100");
        self.connection.prepare(&sql)?.query_map([word], trial)?.collect()
    }

    /// The folder that a trial was imported from, as it was then; none if it came from nowhere.
    pub fn origin(&self, id: &str) -> Result<Option<String>> {
        self.connection
            .query_row("SELECT directory FROM trials WHERE id = ?1", [id], |row| row.get(0))
            .optional()
            .map(Option::flatten)
            .map_err(|error| self.failed(&error))
    }
}

/// The columns of a trial, in the order in which [`trial`] reads them.
pub(crate) const COLUMNS: &str = "trial, id, experiment, job, trial_name, task, task_folder, task_digest, spec, spec_digest, baseline, \
    dataset, agent, agent_digest, agent_version, model, environment, harbor_version, source, status, failure, reward, \
    reward_key, reward_valid, started_at, finished_at, seconds_environment, seconds_agent_setup, seconds_agent, \
    seconds_verifier, seconds_total, input_tokens, cached_tokens, output_tokens, cost_usd, exception_type, \
    exception_step, exception_message, note";

/// The trial of a number.
pub(crate) fn one(connection: &Connection, number: i64) -> rusqlite::Result<Trial> {
    let sql = format!("SELECT {COLUMNS} FROM trials WHERE trial = ?1");
    let (number, mut trial) = connection.prepare_cached(&sql)?.query_row([number], trial)?;
    Children::new(connection)?.add(number, &mut trial)?;
    Ok(trial)
}

/// A row of `trials`, without what stands in other tables.
pub(crate) fn trial(row: &Row<'_>) -> rusqlite::Result<(i64, Trial)> {
    let spec: Option<String> = row.get("spec")?;
    let provenance = match spec {
        Some(spec) => Some(Provenance {
            spec,
            spec_digest: row.get("spec_digest")?,
            baseline: row.get("baseline")?,
            dataset: row.get("dataset")?,
        }),
        None => None,
    };
    let trial = Trial {
        id: row.get(1)?,
        experiment: row.get(2)?,
        job: row.get(3)?,
        trial_name: row.get(4)?,
        task: row.get(5)?,
        task_folder: row.get(6)?,
        task_digest: row.get(7)?,
        provenance,
        agent: row.get(12)?,
        agent_digest: row.get(13)?,
        agent_version: row.get(14)?,
        model: row.get(15)?,
        environment: row.get(16)?,
        harbor_version: row.get(17)?,
        source: row.get(18)?,
        status: row.get(19)?,
        failure: row.get(20)?,
        exception: exception(row, "exception_step")?,
        reward: row.get(21)?,
        reward_key: row.get(22)?,
        rewards: Vec::new(),
        reward_valid: row.get(23)?,
        note: row.get("note")?,
        started_at: row.get(24)?,
        finished_at: row.get(25)?,
        seconds: Seconds {
            environment: row.get(26)?,
            agent_setup: row.get(27)?,
            agent: row.get(28)?,
            verifier: row.get(29)?,
            total: row.get(30)?,
        },
        tokens: tokens(row)?,
        cost_usd: row.get(34)?,
        steps: Vec::new(),
        evidence: Vec::new(),
    };
    Ok((row.get(0)?, trial))
}

fn exception(row: &Row<'_>, step: &str) -> rusqlite::Result<Option<Exception>> {
    let kind: Option<String> = row.get("exception_type")?;
    let Some(kind) = kind else { return Ok(None) };
    let message: Option<String> = row.get("exception_message")?;
    let step = if step.is_empty() { None } else { row.get(step)? };
    Ok(Some(Exception { kind, message: message.unwrap_or_default(), step }))
}

fn tokens(row: &Row<'_>) -> rusqlite::Result<Tokens> {
    let count = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(i64::unsigned_abs));
    Ok(Tokens {
        input: count("input_tokens")?,
        cached: count("cached_tokens")?,
        output: count("output_tokens")?,
    })
}

/// What stands in other tables about a trial.
struct Children<'a> {
    rewards: CachedStatement<'a>,
    steps: CachedStatement<'a>,
    evidence: CachedStatement<'a>,
}

impl<'a> Children<'a> {
    fn new(connection: &'a Connection) -> rusqlite::Result<Self> {
        let prepare = |sql| connection.prepare_cached(sql);
        Ok(Self {
            rewards: prepare(
                "SELECT step, key, value, text, reason FROM rewards WHERE trial = ?1 ORDER BY step, key",
            )?,
            steps: prepare("SELECT * FROM steps WHERE trial = ?1 ORDER BY position")?,
            evidence: prepare(
                "SELECT path, kept, digest, size FROM evidence WHERE trial = ?1 ORDER BY path",
            )?,
        })
    }

    fn add(&mut self, number: i64, trial: &mut Trial) -> rusqlite::Result<()> {
        let mut rows = self.steps.query([number])?;
        while let Some(row) = rows.next()? {
            trial.steps.push(Step {
                name: row.get("name")?,
                rewards: Vec::new(),
                exception: exception(row, "")?,
                seconds: Seconds {
                    agent: row.get("seconds_agent")?,
                    verifier: row.get("seconds_verifier")?,
                    ..Seconds::default()
                },
                tokens: tokens(row)?,
                cost_usd: row.get("cost_usd")?,
            });
        }
        let mut rows = self.rewards.query([number])?;
        while let Some(row) = rows.next()? {
            let reward =
                Reward { key: row.get(1)?, value: row.get(2)?, text: row.get(3)?, reason: row.get(4)? };
            // The trial's own stand under no position, a step's under its own.
            let position = row.get::<_, i64>(0)?;
            match usize::try_from(position).ok().and_then(|position| trial.steps.get_mut(position)) {
                Some(step) => step.rewards.push(reward),
                None => trial.rewards.push(reward),
            }
        }
        let mut rows = self.evidence.query(params![number])?;
        while let Some(row) = rows.next()? {
            trial.evidence.push(Evidence {
                path: row.get(0)?,
                kept: row.get(1)?,
                digest: row.get::<_, Option<Vec<u8>>>(2)?.map(|bytes| hex(&bytes)),
                size: row.get::<_, i64>(3)?.unsigned_abs(),
            });
        }
        Ok(())
    }
}

/// The condition of a filter, and the values of its places.
fn condition(filter: &Filter) -> (String, Vec<String>) {
    let mut conditions = Vec::new();
    let mut values = Vec::new();
    let mut add = |sql: &'static str, value: &str| {
        conditions.push(sql);
        values.extend(std::iter::repeat_n(value.to_owned(), sql.matches('?').count()));
    };
    for (sql, value) in [
        ("experiment = ?", filter.experiment.as_deref()),
        ("job = ?", filter.job.as_deref()),
        ("(task = ? OR substr(task, instr(task, '/') + 1) = ?)", filter.task.as_deref()),
        ("status = ?", filter.status.map(Status::word)),
        ("failure = ?", filter.failure.map(Failure::word)),
        ("source = ?", filter.source.map(Source::word)),
    ] {
        if let Some(value) = value {
            add(sql, value);
        }
    }
    match filter.agent.as_deref() {
        Some(agent) if agent.len() >= SHORTEST => {
            add("(agent = ? OR substr(agent_digest, 1, length(?)) = ?)", agent);
        }
        Some(agent) => add("agent = ?", agent),
        None => {}
    }
    if conditions.is_empty() { ("true".to_owned(), values) } else { (conditions.join(" AND "), values) }
}

/// Words of the database are those of the record.
macro_rules! stored_as_words {
    ($($name:ty),+) => {
        $(
            impl FromSql for $name {
                fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                    Self::from_str(value.as_str()?).map_err(|message| FromSqlError::Other(message.into()))
                }
            }

            impl ToSql for $name {
                fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                    Ok(ToSqlOutput::from(self.word()))
                }
            }
        )+
    };
}
stored_as_words!(Source, Status, Failure, Kept);
