//! Writing trials into the tables. Whoever calls this holds a transaction.

use std::sync::LazyLock;

use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use taskwright_base::Digest;

use crate::rank::statistics::Direction;
use crate::record::{Agent, COLUMNS, Evidence, Field, Origin, Reward, Row, Trial};

/// Puts a trial into its table.
static INSERT: LazyLock<String> = LazyLock::new(|| {
    let names: Vec<&str> = COLUMNS.iter().filter_map(|column| column.stored).collect();
    let places: Vec<String> = (1..=names.len()).map(|place| format!("?{place}")).collect();
    format!("INSERT INTO trials ({}) VALUES ({})", names.join(", "), places.join(", "))
});

/// Writes a trial that is not there yet, and returns its number.
pub(crate) fn insert(connection: &Connection, trial: &Trial, origin: &Origin) -> rusqlite::Result<i64> {
    let row = Row { trial, origin: Some(origin), agent: None, metric: None };
    let stored = COLUMNS.iter().filter(|column| column.stored.is_some());
    let number = connection
        .prepare_cached(&INSERT)?
        .insert(params_from_iter(stored.map(|column| column.value(&row))))?;
    rewards(connection, number, -1, &trial.rewards)?;
    for (position, step) in (0_i64..).zip(&trial.steps) {
        let exception = step.exception.as_ref();
        connection
            .prepare_cached("INSERT INTO steps VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)")?
            .execute(params![
                number,
                position,
                step.name,
                step.seconds.agent,
                step.seconds.verifier,
                step.tokens.input.value(),
                step.tokens.cached.value(),
                step.tokens.output.value(),
                step.cost_usd,
                exception.map(|it| &it.kind),
                exception.map(|it| &it.message),
            ])?;
        rewards(connection, number, position, &step.rewards)?;
    }
    evidence(connection, number, &trial.evidence)?;
    Ok(number)
}

fn rewards(connection: &Connection, number: i64, step: i64, rewards: &[Reward]) -> rusqlite::Result<()> {
    if rewards.is_empty() {
        return Ok(());
    }
    let mut statement = connection
        .prepare_cached("INSERT OR REPLACE INTO rewards VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?;
    for reward in rewards {
        statement.execute(params![
            number,
            step,
            reward.key,
            reward.value,
            reward.text,
            reward.reason,
            reward.baseline,
            reward.direction.map(Direction::word),
        ])?;
    }
    Ok(())
}

fn evidence(connection: &Connection, number: i64, evidence: &[Evidence]) -> rusqlite::Result<()> {
    if evidence.is_empty() {
        return Ok(());
    }
    let mut statement =
        connection.prepare_cached("INSERT OR REPLACE INTO evidence VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for file in evidence {
        let size = i64::try_from(file.size).unwrap_or(i64::MAX);
        statement.execute(params![
            number,
            file.path,
            file.kept.value(),
            file.digest.as_deref().and_then(|digest| digest.parse::<Digest>().ok()).map(|it| it.bytes()),
            size
        ])?;
    }
    Ok(())
}

/// Removes a trial and what belongs to it.
pub(crate) fn remove(connection: &Connection, id: &str) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM trials WHERE id = ?1")?.execute([id]).map(|_| ())
}

/// Writes an agent if it is not there yet.
pub(crate) fn agent(connection: &Connection, agent: &Agent, family: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR IGNORE INTO agents VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![agent.digest, family, agent.label, agent.version, agent.model, agent.configuration])
        .map(|_| ())
}

/// A trial that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    /// Its number.
    pub trial: i64,
    /// What the bytes of its result were.
    pub result_digest: Option<Digest>,
}

/// The trial of an identifier, if it is there.
pub(crate) fn known(connection: &Connection, id: &str) -> rusqlite::Result<Option<Known>> {
    connection
        .prepare_cached("SELECT trial, result_digest FROM trials WHERE id = ?1")?
        .query_row([id], |row| {
            Ok(Known {
                trial: row.get(0)?,
                result_digest: row.get::<_, Option<_>>(1)?.map(Digest::from_bytes),
            })
        })
        .optional()
}
