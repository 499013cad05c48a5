//! What a job planned, what came of it, and what is missing.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;

use rusqlite::{Connection, OptionalExtension, params};
use taskwright_base::Digest;
use taskwright_harbor::job::PlannedTrial;
use taskwright_harbor::time::Timestamp;

use super::find::Job;
use super::model::Options;
use crate::db::write;
use crate::evidence::paths;
use crate::record::agent::Identity;
use crate::record::from_harbor::folder_name;
use crate::record::{Origin, Status, Trial};

/// What a job's plan comes to.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub planned: Option<u64>,
    pub found: u64,
    /// The task and the agent's label of each planned trial that has no result.
    pub missing: Vec<(String, String)>,
    /// How many more are missing that nothing names.
    pub unnamed: u64,
}

/// The plan as it was when the job was last imported.
pub(super) fn known(connection: &Connection, job: &Job) -> rusqlite::Result<Plan> {
    let planned: Option<i64> = connection
        .prepare_cached("SELECT planned FROM jobs WHERE key = ?1")?
        .query_row([&job.key], |row| row.get(0))
        .optional()?
        .flatten();
    let mut statement = connection.prepare_cached(
        "SELECT task, agent FROM trials WHERE job_key = ?1 AND status = 'missing' ORDER BY task, agent",
    )?;
    let missing: Vec<_> = statement
        .query_map([&job.key], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let planned = planned.map(i64::unsigned_abs);
    let found = planned.unwrap_or(0).saturating_sub(missing.len() as u64);
    Ok(Plan { planned, found, missing, unnamed: 0 })
}

/// A trial of the job that has a result.
struct Found {
    number: i64,
    folder: String,
    task: String,
    agent: String,
    agent_digest: String,
    family: String,
    version: Option<String>,
    model: Option<String>,
}

/// Compares the plan with what is there, and records what is missing anew. `known` are trials that this import met in
/// the job's folder and that may be recorded under another job.
pub(super) fn renew(
    connection: &Connection,
    job: &Job,
    known: &[i64],
    options: &Options<'_>,
) -> rusqlite::Result<Plan> {
    let is_recorded = connection.prepare_cached("SELECT 1 FROM jobs WHERE key = ?1")?.exists([&job.key])?;
    if !job.whole && !is_recorded {
        return Ok(Plan::default());
    }
    let directory = paths::escape(job.path.as_os_str().as_bytes());
    // Before Harbor gave it an id, the job went by its folder.
    connection
        .prepare_cached(
            "DELETE FROM trials WHERE status = 'missing' AND job_key IN
                (SELECT key FROM jobs WHERE key = ?1 OR directory = ?2)",
        )?
        .execute([&job.key, &directory])?;
    connection
        .prepare_cached("DELETE FROM jobs WHERE key != ?1 AND directory = ?2")?
        .execute([&job.key, &directory])?;
    let found = found(connection, job, known)?;
    adopt(connection, &found)?;
    let mut plan = Plan { found: found.len() as u64, planned: job.total, ..Plan::default() };
    match job.lock.as_ref().map(|lock| &lock.trials) {
        Some(all) => {
            plan.planned = Some(all.len() as u64);
            let mut agents = HashMap::new();
            let planned: Vec<Planned<'_>> =
                all.iter().filter_map(|trial| Planned::new(trial, &mut agents)).collect();
            for (index, planned) in without(&planned, &found).into_iter().enumerate() {
                let trial = missing(connection, job, planned, &found, index, options)?;
                plan.missing.push((trial.task, trial.agent));
            }
            plan.missing.sort();
            // More may be there: what a job's resumption threw away was perhaps imported before.
            plan.found = (all.len() - plan.missing.len()) as u64;
        }
        None => plan.unnamed = job.total.unwrap_or(0).saturating_sub(plan.found),
    }
    if job.whole {
        connection.prepare_cached("INSERT OR REPLACE INTO jobs VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(
            params![
                job.key,
                job.name,
                directory,
                job.harbor_version(),
                plan.planned.map(|planned| i64::try_from(planned).unwrap_or(i64::MAX)),
                job.finished,
            ],
        )?;
    }
    Ok(plan)
}

/// So many trials of a job that fail so close together, in seconds, have a cause that they share.
const NEIGHBOURS: usize = 4;
const CLOSE: f64 = 3.0;

/// How many trials of a job failed within [`CLOSE`] of each other, if that is more than chance: types and phases of what they
/// raised differ where a machine dies under them.
pub(super) fn failed_together(connection: &Connection, job: &str) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached(
        "SELECT finished_at FROM trials WHERE job_key = ?1 AND exception_type IS NOT NULL
            AND failure NOT IN ('timeout', 'cancelled') AND finished_at IS NOT NULL ORDER BY finished_at",
    )?;
    let times: Vec<String> =
        statement.query_map([job], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let times: Vec<Timestamp> = times.iter().filter_map(|time| Timestamp::parse(time)).collect();
    let (mut first, mut most) = (0, 0);
    for (last, time) in times.iter().enumerate() {
        while time.since(times[first]).is_none_or(|after| after > CLOSE) {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    Ok(if most >= NEIGHBOURS { most as u64 } else { 0 })
}

/// Calls missing trials by the name that their task has in trials that ran, before or since: a plan may know only its folder.
pub(super) fn name_missing(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT trial, task_folder, task_digest FROM trials WHERE status = 'missing' AND task = task_folder",
    )?;
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let unnamed: Vec<(i64, String, Option<String>)> =
        statement.query_map([], read)?.collect::<rusqlite::Result<_>>()?;
    if unnamed.is_empty() {
        return Ok(());
    }
    let mut names: HashMap<String, Vec<(String, Option<String>)>> = HashMap::new();
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT task_folder, task, task_digest FROM trials
            WHERE status != 'missing' AND task_folder IS NOT NULL",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        names.entry(row.get(0)?).or_default().push((row.get(1)?, row.get(2)?));
    }
    for (trial, folder, digest) in unnamed {
        let all = names.get(&folder).map(Vec::as_slice).unwrap_or_default();
        let one = |of: &dyn Fn(&Option<String>) -> bool| {
            let named: BTreeSet<&str> =
                all.iter().filter(|(_, digest)| of(digest)).map(|(name, _)| name.as_str()).collect();
            named.first().copied().filter(|_| named.len() == 1)
        };
        // The same content, else the only task of that folder's name.
        let same = digest.as_ref().and_then(|_| one(&|other| *other == digest));
        if let Some(name) = same.or_else(|| one(&|_| true)) {
            connection
                .prepare_cached("UPDATE trials SET task = ?2 WHERE trial = ?1")?
                .execute(params![trial, name])?;
        }
    }
    Ok(())
}

fn found(connection: &Connection, job: &Job, known: &[i64]) -> rusqlite::Result<Vec<Found>> {
    const SELECT: &str =
        "SELECT trial, coalesce(task_folder, ''), task, agent, agent_digest, family, agent_version,
        trials.model FROM trials JOIN agents ON agents.digest = agent_digest WHERE";
    let read = |row: &rusqlite::Row<'_>| {
        Ok(Found {
            number: row.get(0)?,
            folder: row.get(1)?,
            task: row.get(2)?,
            agent: row.get(3)?,
            agent_digest: row.get(4)?,
            family: row.get(5)?,
            version: row.get(6)?,
            model: row.get(7)?,
        })
    };
    let mut statement =
        connection.prepare_cached(&format!("{SELECT} job_key = ?1 AND status != 'missing'"))?;
    let mut found: Vec<Found> = statement.query_map([&job.key], read)?.collect::<rusqlite::Result<_>>()?;
    let mut numbers: HashSet<i64> = found.iter().map(|trial| trial.number).collect();
    let mut statement = connection.prepare_cached(&format!("{SELECT} trial = ?1"))?;
    for number in known {
        if numbers.insert(*number) {
            found.push(statement.query_row([number], read)?);
        }
    }
    Ok(found)
}

/// An agent that broke before it could say its version is the one of the same configuration that did say it, if the job
/// has one: what broke must count for the same row of a leaderboard.
fn adopt(connection: &Connection, found: &[Found]) -> rusqlite::Result<()> {
    let mut versions: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for trial in found.iter().filter(|trial| trial.version.is_some()) {
        versions.entry(&trial.family).or_default().insert(&trial.agent_digest);
    }
    for trial in found.iter().filter(|trial| trial.version.is_none()) {
        if let Some(digests) = versions.get(trial.family.as_str())
            && let (1, Some(digest)) = (digests.len(), digests.first())
        {
            connection
                .prepare_cached("UPDATE trials SET agent_digest = ?2 WHERE trial = ?1")?
                .execute(params![trial.number, digest])?;
        }
    }
    Ok(())
}

/// A planned trial by what results can be told by.
struct Planned<'a> {
    folder: &'a str,
    identity: std::rc::Rc<Identity>,
    trial: &'a PlannedTrial,
}

impl<'a> Planned<'a> {
    fn new(trial: &'a PlannedTrial, agents: &mut HashMap<&'a str, std::rc::Rc<Identity>>) -> Option<Self> {
        let folder = folder_name(trial.task_folder()?);
        let key = trial.agent.whole.as_ref().map_or("", |whole| whole.get());
        let identity =
            agents.entry(key).or_insert_with(|| std::rc::Rc::new(Identity::new(&trial.agent, None)));
        Some(Self { folder, identity: std::rc::Rc::clone(identity), trial })
    }
}

/// The planned trials that no result answers to: results answer by task and whole agent, what is then left by task, label
/// and model, and the rest by task, since versions of Harbor differ in what they write of an agent.
fn without<'a, 'b>(planned: &'b [Planned<'a>], found: &[Found]) -> Vec<&'b Planned<'a>> {
    let mut open: Vec<&Planned<'_>> = planned.iter().collect();
    let mut left: Vec<&Found> = found.iter().collect();
    for pass in 0..3 {
        let key_of_found = |trial: &Found| match pass {
            0 => format!("{}\0{}", trial.folder, trial.family),
            1 => format!("{}\0{}\0{}", trial.folder, trial.agent, trial.model.as_deref().unwrap_or_default()),
            _ => trial.folder.clone(),
        };
        let key_of_planned = |trial: &Planned<'_>| match pass {
            0 => format!("{}\0{}", trial.folder, trial.identity.family),
            1 => {
                let agent = &trial.identity.agent;
                format!("{}\0{}\0{}", trial.folder, agent.label, agent.model.as_deref().unwrap_or_default())
            }
            _ => trial.folder.to_owned(),
        };
        let mut answers: HashMap<String, Vec<&Found>> = HashMap::new();
        for trial in left.drain(..) {
            answers.entry(key_of_found(trial)).or_default().push(trial);
        }
        open.retain(|trial| answers.get_mut(&key_of_planned(trial)).and_then(Vec::pop).is_none());
        left.extend(answers.into_values().flatten());
        if open.is_empty() {
            break;
        }
    }
    open
}

/// Records a planned trial that has no result.
fn missing(
    connection: &Connection,
    job: &Job,
    planned: &Planned<'_>,
    found: &[Found],
    index: usize,
    options: &Options<'_>,
) -> rusqlite::Result<Trial> {
    let agent = &planned.identity.agent;
    let family = &planned.identity.family;
    // What is missing stays with the trials of its job that are there.
    let of_job: Option<String> = connection
        .prepare_cached(
            "SELECT experiment FROM trials WHERE job_key = ?1 AND experiment IS NOT NULL LIMIT 1",
        )?
        .query_row([&job.key], |row| row.get(0))
        .optional()?;
    let in_job = found.iter().filter(|trial| trial.family == *family).map(|trial| &trial.agent_digest).min();
    let mut digest = in_job.cloned();
    if digest.is_none() {
        let mut statement = connection.prepare_cached("SELECT digest FROM agents WHERE family = ?1")?;
        let mut all: Vec<String> =
            statement.query_map([family], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        digest = all.pop().filter(|_| all.is_empty());
    }
    if digest.is_none() {
        write::agent(connection, agent, family)?;
    }
    let task = found.iter().find(|trial| trial.folder == planned.folder).map(|trial| trial.task.clone());
    let task_digest = planned.trial.task_digest.clone();
    // By place in the list of what is missing: it is made anew as a whole.
    let id = Digest::of(format!("{}\0{index}", job.key).as_bytes()).hex();
    let trial = Trial {
        id: format!("missing-{}", &id[..32]),
        experiment: of_job.or_else(|| options.experiment(Some(job))),
        job: Some(job.name.clone()),
        trial_name: planned.folder.to_owned(),
        task: task.or_else(|| planned.trial.task_name.clone()).unwrap_or_else(|| planned.folder.to_owned()),
        task_folder: Some(planned.folder.to_owned()),
        provenance: options.provenance(Some(job), task_digest.as_deref()),
        task_digest,
        agent: agent.label.clone(),
        agent_digest: digest.unwrap_or_else(|| agent.digest.clone()),
        model: agent.model.clone(),
        environment: planned.trial.environment.kind.clone().or(planned.trial.environment.import_path.clone()),
        harbor_version: job.harbor_version().map(str::to_owned),
        source: options.source,
        status: Status::Missing,
        note: Some("planned, and there is no result".to_owned()),
        ..Trial::default()
    };
    let origin = Origin {
        job_key: Some(job.key.clone()),
        result_digest: None,
        directory: Some(paths::escape(job.path.as_os_str().as_bytes())),
    };
    write::insert(connection, &trial, &origin)?;
    Ok(trial)
}
