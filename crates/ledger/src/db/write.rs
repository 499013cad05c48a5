//! Writing trials into the tables. Whoever calls this holds a transaction.

use rusqlite::{Connection, OptionalExtension, named_params, params};
use taskwright_base::Digest;

use crate::record::{Agent, Evidence, Reward, Trial};

/// What the database keeps of a trial beside its record.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    /// Which job it belongs to.
    pub job_key: Option<String>,
    /// What the bytes of its result were.
    pub result_digest: Option<Digest>,
    /// The folder it was imported from.
    pub directory: Option<String>,
}

/// Writes a trial that is not there yet, and returns its number.
pub(crate) fn insert(connection: &Connection, trial: &Trial, origin: &Origin) -> rusqlite::Result<i64> {
    let count = |count: Option<u64>| count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
    let provenance = trial.provenance.as_ref();
    let exception = trial.exception.as_ref();
    let number = connection
        .prepare_cached(
            "INSERT INTO trials (id, experiment, job, job_key, trial_name, task, task_folder, task_digest, spec, spec_digest,
                baseline, dataset, agent, agent_digest, agent_version, model, environment, harbor_version, source, status,
                failure, reward, reward_key, reward_valid, started_at, finished_at, seconds_environment,
                seconds_agent_setup, seconds_agent, seconds_verifier, seconds_total, input_tokens, cached_tokens,
                output_tokens, cost_usd, result_digest, directory, exception_type, exception_step, exception_message, note)
             VALUES (:id, :experiment, :job, :job_key, :trial_name, :task, :task_folder, :task_digest, :spec, :spec_digest,
                :baseline, :dataset, :agent, :agent_digest, :agent_version, :model, :environment, :harbor_version, :source,
                :status, :failure, :reward, :reward_key, :reward_valid, :started_at, :finished_at, :environment_s,
                :setup_s, :agent_s, :verifier_s, :total_s, :input, :cached, :output, :cost, :result_digest, :directory,
                :exception_type, :exception_step, :exception_message, :note)",
        )?
        .insert(named_params! {
            ":id": trial.id, ":experiment": trial.experiment, ":job": trial.job, ":job_key": origin.job_key,
            ":trial_name": trial.trial_name, ":task": trial.task, ":task_folder": trial.task_folder, ":task_digest": trial.task_digest,
            ":spec": provenance.map(|it| &it.spec), ":spec_digest": provenance.and_then(|it| it.spec_digest.as_ref()),
            ":baseline": provenance.and_then(|it| it.baseline.as_ref()),
            ":dataset": provenance.and_then(|it| it.dataset.as_ref()),
            ":agent": trial.agent, ":agent_digest": trial.agent_digest, ":agent_version": trial.agent_version,
            ":model": trial.model, ":environment": trial.environment, ":harbor_version": trial.harbor_version,
            ":source": trial.source, ":status": trial.status, ":failure": trial.failure,
            ":reward": trial.reward, ":reward_key": trial.reward_key, ":reward_valid": trial.reward_valid,
            ":started_at": trial.started_at, ":finished_at": trial.finished_at,
            ":environment_s": trial.seconds.environment, ":setup_s": trial.seconds.agent_setup,
            ":agent_s": trial.seconds.agent, ":verifier_s": trial.seconds.verifier, ":total_s": trial.seconds.total,
            ":input": count(trial.tokens.input), ":cached": count(trial.tokens.cached),
            ":output": count(trial.tokens.output), ":cost": trial.cost_usd,
            ":result_digest": origin.result_digest.map(|it| it.bytes()), ":directory": origin.directory,
            ":exception_type": exception.map(|it| &it.kind), ":exception_step": exception.and_then(|it| it.step.as_ref()),
            ":exception_message": exception.map(|it| &it.message), ":note": trial.note,
        })?;
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
                count(step.tokens.input),
                count(step.tokens.cached),
                count(step.tokens.output),
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
    let mut statement =
        connection.prepare_cached("INSERT OR REPLACE INTO rewards VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    for reward in rewards {
        statement.execute(params![number, step, reward.key, reward.value, reward.text, reward.reason])?;
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
            file.kept,
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
