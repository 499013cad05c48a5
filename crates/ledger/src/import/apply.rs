//! Writes what was read, in the order in which it was found.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, params};
use taskwright_base::Result;

use super::find::Job;
use super::model::{Event, JobSeen, Options, Outcome, Report};
use super::plan;
use super::read::{Done, New};
use super::seen::Stamp;
use crate::db::query;
use crate::db::write::{self, Known};
use crate::error::database_failed;
use crate::evidence::{Place, paths};
use crate::record::difference::differences;
use crate::record::{Origin, Status};

/// Writes, and reports.
pub(super) struct Apply<'a> {
    connection: &'a mut Connection,
    database: &'a Path,
    options: &'a Options<'a>,
    tell: &'a mut dyn FnMut(Event),
    in_transaction: bool,
    /// The packs that were mentioned in this transaction, and their numbers.
    packs: HashMap<Arc<str>, i64>,
    /// The job whose trials come in.
    job: Coming,
    report: Report,
}

/// What came of a job's trials so far.
#[derive(Default)]
struct Coming {
    /// Trials that were there before: they may belong to a copy of the job.
    known: Vec<i64>,
    /// Whether anything is new.
    changed: bool,
}

impl<'a> Apply<'a> {
    pub fn new(
        connection: &'a mut Connection,
        database: &'a Path,
        options: &'a Options<'a>,
        tell: &'a mut dyn FnMut(Event),
    ) -> Self {
        Self {
            connection,
            database,
            options,
            tell,
            in_transaction: false,
            packs: HashMap::new(),
            job: Coming::default(),
            report: Report::default(),
        }
    }

    /// Writes a portion.
    pub fn take(&mut self, portion: Vec<Done>) -> Result<()> {
        let database = self.database;
        let failed = |error: rusqlite::Error| database_failed(database, &error);
        for done in portion {
            match done {
                Done::Refused { path, reason } => self.say(Outcome::Rejected, &path, None, vec![reason]),
                Done::Duplicate { path, trial, stamp } => {
                    self.duplicate(&path, trial, stamp).map_err(failed)?;
                }
                Done::Trial(new) => self.trial(*new).map_err(failed)?,
                Done::JobEnd(job) => self.job_end(&job).map_err(failed)?,
            }
        }
        Ok(())
    }

    /// Makes all of it last. The packs are on the disk.
    pub fn commit(&mut self, packs: &[(Arc<str>, u64)]) -> Result<()> {
        let write = || {
            if self.in_transaction {
                plan::name_missing(self.connection)?;
            }
            for (name, size) in packs {
                if let Some(pack) = self.packs.get(name) {
                    self.connection
                        .prepare_cached("UPDATE packs SET size = ?2 WHERE pack = ?1")?
                        .execute(params![pack, saturating(*size)])?;
                }
            }
            if self.in_transaction { self.connection.execute_batch("COMMIT") } else { Ok(()) }
        };
        write().map_err(|error| database_failed(self.database, &error))?;
        self.in_transaction = false;
        self.packs.clear();
        Ok(())
    }

    /// Gives up what was not committed, and says what there was.
    pub fn finish(self) -> Report {
        if self.in_transaction {
            // If that fails, the connection's end has the same effect.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        self.report
    }

    fn begin(&mut self) -> rusqlite::Result<()> {
        if !self.in_transaction {
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
            self.in_transaction = true;
        }
        Ok(())
    }

    fn say(&mut self, outcome: Outcome, path: &Path, trial: Option<String>, reasons: Vec<String>) {
        self.report.count(outcome);
        (self.tell)(Event { outcome, path: paths::escape(path.as_os_str().as_bytes()), trial, reasons });
    }

    fn duplicate(&mut self, path: &Path, trial: i64, stamp: Option<Stamp>) -> rusqlite::Result<()> {
        let mut reasons = Vec::new();
        if let Some(experiment) = &self.options.experiment {
            let other: Option<String> = self
                .connection
                .prepare_cached("SELECT experiment FROM trials WHERE trial = ?1")?
                .query_row([trial], |row| row.get(0))?;
            match other.filter(|other| other != experiment) {
                Some(other) => reasons.push(format!(
                    "belongs to the experiment `{}` already, and stays there",
                    other.escape_debug()
                )),
                None => {
                    self.begin()?;
                    self.connection
                        .prepare_cached("UPDATE trials SET experiment = ?2 WHERE trial = ?1")?
                        .execute(params![trial, experiment])?;
                }
            }
        }
        if let Some(stamp) = stamp {
            self.begin()?;
            self.remember(path, Some(trial), stamp)?;
        }
        self.job.known.push(trial);
        self.say(Outcome::Duplicate, path, None, reasons);
        Ok(())
    }

    fn trial(&mut self, mut new: New) -> rusqlite::Result<()> {
        self.begin()?;
        // Also what belongs to a trial that is not taken: the next trial may rely on it being there.
        self.places(&new.places)?;
        let name = Some(new.trial.trial_name.clone());
        let known = write::known(self.connection, &new.trial.id)?;
        let mut outcome = match new.trial.status {
            Status::Complete => Outcome::Imported,
            Status::Partial | Status::Missing => Outcome::Partial,
        };
        if let Some(Known { trial, result_digest }) = known {
            let is_same = result_digest == Some(new.result_digest);
            if is_same && !new.differs {
                return self.duplicate(&new.path, trial, new.stamp);
            }
            let old = query::one(self.connection, trial)?;
            // Two that differ in one import: neither is what was there before.
            if !(self.options.replace && new.differs) {
                let mut reasons = vec![format!(
                    "a trial with its identifier `{}` is there, with other content",
                    new.trial.id
                )];
                reasons.extend(differences(&old, &new.trial));
                self.job.known.push(trial);
                self.say(Outcome::Conflict, &new.path, name, reasons);
                return Ok(());
            }
            // The same trial, only kept or scored otherwise, stays where it is.
            new.trial.experiment = if is_same {
                old.experiment.or(new.trial.experiment)
            } else {
                new.trial.experiment.or(old.experiment)
            };
            write::remove(self.connection, &new.trial.id)?;
            outcome = Outcome::Replaced;
        }
        self.job.changed = true;
        write::agent(self.connection, &new.identity.agent, &new.identity.family)?;
        let directory = if new.is_folder { Some(new.path.as_path()) } else { new.path.parent() };
        let origin = Origin {
            job_key: new.job.as_ref().map(|job| job.key.clone()),
            result_digest: Some(new.result_digest),
            directory: directory.map(|path| paths::escape(path.as_os_str().as_bytes())),
        };
        let number = write::insert(self.connection, &new.trial, &origin)?;
        if let Some(stamp) = new.stamp {
            self.remember(&new.path, Some(number), stamp)?;
        }
        let mut reasons = Vec::new();
        if outcome == Outcome::Partial {
            reasons.extend(new.trial.exception.as_ref().map(|exception| exception.kind.clone()));
            reasons.extend(new.trial.note.clone());
        }
        reasons.append(&mut new.problems);
        self.say(outcome, &new.path, name, reasons);
        Ok(())
    }

    fn places(&mut self, places: &[Place]) -> rusqlite::Result<()> {
        for place in places {
            let pack = match self.packs.get(&place.pack) {
                Some(pack) => *pack,
                None => {
                    let mut statement =
                        self.connection.prepare_cached("INSERT INTO packs (name, size) VALUES (?1, 0)")?;
                    let pack = statement.insert([&*place.pack])?;
                    self.packs.insert(Arc::clone(&place.pack), pack);
                    pack
                }
            };
            self.connection
                .prepare_cached("INSERT OR IGNORE INTO blobs VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![
                    place.digest.bytes(),
                    pack,
                    saturating(place.start),
                    saturating(place.length),
                    saturating(place.size)
                ])?;
        }
        Ok(())
    }

    /// Remembers a trial's result, or a job's lock, as it is.
    fn remember(&self, folder: &Path, trial: Option<i64>, stamp: Stamp) -> rusqlite::Result<()> {
        let path = folder.join(if trial.is_some() { "result.json" } else { "lock.json" });
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO seen VALUES (?1, ?2, ?3)")?
            .execute(params![path.as_os_str().as_bytes(), stamp.to_bytes(), trial])
            .map(|_| ())
    }

    /// Gives the trials of a job that belong to no experiment to the one that the job is of.
    fn adopt(&mut self, job: &Job) -> rusqlite::Result<()> {
        const ORPHANS: &str = "WHERE job_key = ?1 AND experiment IS NULL";
        let Some(experiment) = self.options.experiment(Some(job)) else { return Ok(()) };
        let sql = format!("SELECT 1 FROM trials {ORPHANS}");
        if self.connection.prepare_cached(&sql)?.exists([&job.key])? {
            self.begin()?;
            let sql = format!("UPDATE trials SET experiment = ?2 {ORPHANS}");
            self.connection.prepare_cached(&sql)?.execute([&job.key, &experiment])?;
        }
        Ok(())
    }

    fn job_end(&mut self, job: &Job) -> rusqlite::Result<()> {
        let coming = std::mem::take(&mut self.job);
        self.adopt(job)?;
        let plan = if job.unchanged && !coming.changed {
            plan::known(self.connection, job)?
        } else {
            self.begin()?;
            let plan = plan::renew(self.connection, job, &coming.known, self.options)?;
            if let Some(stamp) = job.lock_stamp.filter(|_| job.whole) {
                self.remember(&job.path, None, stamp)?;
            }
            plan
        };
        if !job.whole {
            return Ok(());
        }
        let state = if job.finished { "" } else { "; the job has not finished: it runs, or it was stopped" };
        for (task, agent) in &plan.missing {
            let reason = format!("planned for the agent `{agent}`, and there is no result{state}");
            self.say(Outcome::Missing, &job.path, Some(task.clone()), vec![reason]);
        }
        if plan.unnamed > 0 {
            let reason = format!(
                "{} trials that were planned have no result{state}; the job's files do not say which",
                plan.unnamed
            );
            self.say(Outcome::Missing, &job.path, None, vec![reason]);
            self.report.missing += plan.unnamed - 1;
        }
        self.report.jobs.push(JobSeen {
            name: job.name.clone(),
            path: paths::escape(job.path.as_os_str().as_bytes()),
            planned: plan.planned,
            found: plan.found,
            missing: plan.missing.len() as u64 + plan.unnamed,
            failed_together: plan::failed_together(self.connection, &job.key)?,
            finished: job.finished,
        });
        Ok(())
    }
}

fn saturating(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
