//! Reading the trials of a ledger.

use std::sync::LazyLock;

use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params, params_from_iter};
use taskwright_base::digest::hex;
use taskwright_base::{Error, Result};

use super::Ledger;
use crate::record::{
    Agent, COLUMNS, Column, Evidence, Exception, Failure, Filter, Reward, Score, Seconds, Source, Status,
    Step, Tokens, Trial, score, word,
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
            "SELECT {} FROM trials WHERE {condition} ORDER BY task, agent_digest, started_at, id",
            *SELECTED
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

    /// What statistics need of the trials that a filter lets through, by agent and task, then in no order. What they are held
    /// against is not among it.
    pub fn scores(&self, filter: &Filter) -> Result<Vec<Score>> {
        let (condition, values) = condition(filter);
        self.scores_where(&condition, values, filter.reward_key.as_deref())
    }

    /// The same of the trials that meet a condition, with the values of its places.
    pub(crate) fn scores_where(
        &self,
        condition: &str,
        conditions: Vec<String>,
        metric: Option<&str>,
    ) -> Result<Vec<Score>> {
        // Values are bound in the order of their places in the text: that of the key stands before the condition's.
        let values: Vec<String> = metric.map(str::to_owned).into_iter().chain(conditions).collect();
        let reward = match metric {
            None => "reward",
            Some(_) => {
                "(SELECT value FROM rewards WHERE rewards.trial = trials.trial AND step = -1 AND key = ?)"
            }
        };
        let columns = score::COLUMNS.map(|name| read().find(|column| column.stored == Some(name)));
        let expressions = score::COLUMNS.map(|name| expression(name, metric.is_some()));
        let sql = format!(
            "SELECT {reward}, {} FROM trials WHERE {condition} AND trial NOT IN (SELECT trial FROM superseded)
             ORDER BY agent_digest, task",
            expressions.join(", ")
        );
        let failed = |error: rusqlite::Error| self.failed(&error);
        let mut statement = self.connection.prepare(&sql).map_err(failed)?;
        // Read into one record again and again, whose memory is kept.
        let mut trial = Trial::default();
        let rows = statement
            .query_map(params_from_iter(values), |row| {
                for (column, place) in columns.iter().flatten().zip(1..) {
                    set(&mut trial, column, row, place)?;
                }
                Ok(Score::of(&trial, row.get(0)?))
            })
            .map_err(failed)?;
        rows.collect::<rusqlite::Result<_>>().map_err(failed)
    }

    /// The keys of the rewards that the trials that a filter lets through have, in order.
    pub(crate) fn reward_keys(&self, filter: &Filter) -> Result<Vec<String>> {
        let (condition, values) = condition(filter);
        let sql = format!(
            "SELECT DISTINCT key FROM rewards WHERE step = -1 AND trial IN (SELECT trial FROM trials WHERE {condition})
             ORDER BY key"
        );
        let failed = |error: rusqlite::Error| self.failed(&error);
        let mut statement = self.connection.prepare(&sql).map_err(failed)?;
        let rows = statement.query_map(params_from_iter(values), |row| row.get(0));
        rows.and_then(Iterator::collect).map_err(failed)
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
        let sql = format!("SELECT {} FROM trials WHERE {condition} ORDER BY id LIMIT 100", *SELECTED);
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

/// How a column of a score is read. A regrade ran no agent: what its attempt took stands in the trial that it is of. By
/// another reward than the one that counts, a trial is complete by what `Trial::status_by` says.
pub(super) fn expression(column: &'static str, has_metric: bool) -> String {
    match column {
        "seconds_total" => format!(
            "CASE WHEN regrade_of IS NULL THEN {column} ELSE coalesce((SELECT old.{column} FROM trials AS old WHERE \
             old.id = trials.regrade_of), {column}) END"
        ),
        // All from one of the two: who says what the cost is hangs on what was metered in the same trial.
        spent if spent == "cost_usd" || spent.starts_with("metered_") => format!(
            "CASE WHEN regrade_of IS NULL THEN {column} WHEN (SELECT coalesce(old.cost_usd, \
             old.metered_producer_requests, old.metered_evaluation_requests, old.metered_finalization_requests) FROM \
             trials AS old WHERE old.id = trials.regrade_of) IS NULL THEN {column} ELSE (SELECT old.{column} FROM \
             trials AS old WHERE old.id = trials.regrade_of) END"
        ),
        "status" if has_metric => "CASE WHEN status = 'missing' THEN status WHEN reward_valid AND coalesce(failure, '') \
                                   NOT IN ('infrastructure', 'verifier', 'cancelled') THEN 'complete' ELSE 'partial' END"
            .to_owned(),
        other => other.to_owned(),
    }
}

/// What is read of a trial from its table: the number, then every column that becomes part of the record.
static SELECTED: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<&str> = read().filter_map(|column| column.stored).collect();
    format!("trial, {}", names.join(", "))
});

/// The columns of the database that become part of a record.
fn read() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(|column| column.stored.is_some() && column.access.set.is_some())
}

/// Puts the value at a place of a row into a trial.
fn set(trial: &mut Trial, column: &Column, row: &Row<'_>, place: usize) -> rusqlite::Result<()> {
    let (Some(set), value) = (column.access.set, row.get_ref(place)?) else { return Ok(()) };
    set(trial, value)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(place, value.data_type(), Box::new(error)))
}

/// The trial of a number.
pub(crate) fn one(connection: &Connection, number: i64) -> rusqlite::Result<Trial> {
    let sql = format!("SELECT {} FROM trials WHERE trial = ?1", *SELECTED);
    let (number, mut trial) = connection.prepare_cached(&sql)?.query_row([number], trial)?;
    Children::new(connection)?.add(number, &mut trial)?;
    Ok(trial)
}

/// A row of `trials`, without what stands in other tables.
pub(crate) fn trial(row: &Row<'_>) -> rusqlite::Result<(i64, Trial)> {
    let mut trial = Trial::default();
    for (column, place) in read().zip(1..) {
        set(&mut trial, column, row, place)?;
    }
    Ok((row.get(0)?, trial))
}

fn step_exception(row: &Row<'_>) -> rusqlite::Result<Option<Exception>> {
    let kind: Option<String> = row.get("exception_type")?;
    let Some(kind) = kind else { return Ok(None) };
    let message: Option<String> = row.get("exception_message")?;
    Ok(Some(Exception { kind, message: message.unwrap_or_default(), step: None }))
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
                "SELECT step, key, value, text, reason, baseline, direction FROM rewards WHERE trial = ?1
                    ORDER BY step, key",
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
                exception: step_exception(row)?,
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
            let direction = row.get_ref(6)?;
            let reward = Reward {
                key: row.get(1)?,
                value: row.get(2)?,
                text: row.get(3)?,
                reason: row.get(4)?,
                baseline: row.get(5)?,
                direction: (direction != ValueRef::Null).then(|| word(direction)).transpose()?,
            };
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
                kept: word(row.get_ref(1)?)?,
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
