//! Checking a ledger: the database's own structure, every content of the store, every file that stayed where it was, and
//! every record against the result it was made from.

use std::collections::HashMap;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use taskwright_base::{Digest, Error, Result};
use taskwright_harbor::document::MAX_DOCUMENT;
use taskwright_harbor::result::TrialResult;

use super::entry::{self, Place};
use crate::db::{Ledger, layout, query};
use crate::error::failed;
use crate::record::agent::Identity;
use crate::record::difference::differences;
use crate::record::verdict::{self, Verdict};
use crate::record::{Evidence, Kept, Metered, Reward, Status, Trial, from_harbor};

/// What a check came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// How many trials were checked.
    pub trials: u64,
    /// How many contents of the store were read.
    pub contents: u64,
    /// How many files outside of the store were read.
    pub files: u64,
    /// How many bytes all of these have.
    pub bytes: u64,
    /// Files in the store's folder that the database does not mention: the remains of an import that was killed.
    pub orphans: Vec<String>,
    /// What is wrong.
    pub problems: Vec<String>,
}

impl Ledger {
    /// Checks everything. `tell` hears of each problem as it is found. An error means that the check could not go on.
    pub fn verify(&self, stop: Option<&AtomicBool>, mut tell: impl FnMut(&str)) -> Result<Verified> {
        let mut verified = Verified::default();
        let mut problem = |verified: &mut Verified, what: String| {
            tell(&what);
            verified.problems.push(what);
        };
        for what in self.integrity() {
            problem(&mut verified, what);
        }
        let broken = self.contents(stop, &mut verified, &mut problem)?;
        match self.digests() {
            Ok(lines) => lines.into_iter().for_each(|what| problem(&mut verified, what)),
            Err(error) => problem(&mut verified, self.failed(&error).to_string()),
        }
        let mut trials = Vec::new();
        // What can be read of a damaged database is checked, the rest is said.
        if let Err(error) = self.numbers(&mut trials) {
            problem(&mut verified, format!("the records cannot all be read: {}", self.failed(&error)));
        }
        for (number, id) in trials {
            check_stop(stop)?;
            match query::one(&self.connection, number).map_err(|error| self.failed(&error)) {
                Ok(trial) => {
                    verified.trials += 1;
                    for what in self.trial_problems(&trial, &broken, &mut verified) {
                        problem(&mut verified, format!("trial `{}`: {what}", trial.id.escape_debug()));
                    }
                }
                Err(error) => problem(&mut verified, format!("trial `{}`: {error}", id.escape_debug())),
            }
        }
        Ok(verified)
    }

    /// What the database's own checks say.
    fn integrity(&self) -> Vec<String> {
        let ask = |sql: &str| -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare(sql)?;
            statement.query_map([], |row| row.get::<_, String>(0))?.collect()
        };
        let mut found = Vec::new();
        match ask("PRAGMA integrity_check(20)") {
            Ok(lines) => found.extend(
                lines.into_iter().filter(|line| line != "ok").map(|line| format!("database: {line}")),
            ),
            Err(error) => found.push(self.failed(&error).to_string()),
        }
        match ask("PRAGMA foreign_key_check") {
            Ok(tables) => {
                let mut counts: HashMap<String, u64> = HashMap::new();
                for table in tables {
                    *counts.entry(table).or_default() += 1;
                }
                let mut counts: Vec<_> = counts.into_iter().collect();
                counts.sort();
                found.extend(
                    counts.into_iter().map(|(table, count)| {
                        format!("database: {count} rows of `{table}` belong to nothing")
                    }),
                );
            }
            Err(error) => found.push(self.failed(&error).to_string()),
        }
        found
    }

    /// Reads every content of the store, and returns those that are not what was stored, with what is wrong.
    fn contents(
        &self,
        stop: Option<&AtomicBool>,
        verified: &mut Verified,
        problem: &mut impl FnMut(&mut Verified, String),
    ) -> Result<HashMap<String, String>> {
        let mut broken = HashMap::new();
        let mut lost: HashMap<String, u64> = HashMap::new();
        let on_disk: HashMap<String, u64> = layout::packs(self.directory())?.into_iter().collect();
        let (packs, places) = match self.places() {
            Ok(places) => places,
            Err(error) => {
                problem(verified, self.failed(&error).to_string());
                return Ok(broken);
            }
        };
        let mut orphans: Vec<_> = on_disk.keys().filter(|name| !packs.contains(name)).cloned().collect();
        orphans.extend(layout::unfinished(self.directory())?.into_iter().map(|(name, _)| name));
        orphans.sort();
        verified.orphans = orphans;
        let mut open: Option<(std::sync::Arc<str>, std::fs::File)> = None;
        for place in places {
            check_stop(stop)?;
            verified.contents += 1;
            if !on_disk.contains_key(&*place.pack) {
                *lost.entry(place.pack.to_string()).or_default() += 1;
                broken.insert(place.digest.hex(), "its pack is gone".to_owned());
                continue;
            }
            let mut read = || -> std::io::Result<u64> {
                if open.as_ref().is_none_or(|(name, _)| *name != place.pack) {
                    let path = layout::evidence(self.directory()).join(&*place.pack);
                    open = Some((place.pack.clone(), std::fs::File::open(path)?));
                }
                let Some((_, file)) = &open else { return Ok(0) };
                std::io::copy(&mut entry::open(file.try_clone()?, &place)?, &mut std::io::sink())
            };
            match read() {
                Ok(size) => verified.bytes += size,
                Err(error) => {
                    let digest = place.digest.hex();
                    problem(
                        verified,
                        format!("content {} in `evidence/{}`: {error}", &digest[..12], place.pack),
                    );
                    broken.insert(digest, error.to_string());
                }
            }
        }
        let mut lost: Vec<_> = lost.into_iter().collect();
        lost.sort();
        for (pack, contents) in lost {
            problem(verified, format!("`evidence/{pack}` is gone, and with it {contents} contents"));
        }
        Ok(broken)
    }

    /// Forgets contents that are not what was stored, so that an import stores them anew. What they were is lost already.
    pub(crate) fn forget_damaged(&mut self, stop: Option<&AtomicBool>) -> Result<()> {
        let broken = self.contents(stop, &mut Verified::default(), &mut |_: &mut Verified, _| {})?;
        let mut digests: Vec<Digest> = broken.keys().filter_map(|digest| digest.parse().ok()).collect();
        digests.sort_unstable_by_key(Digest::bytes);
        for digest in digests {
            self.connection
                .prepare_cached("DELETE FROM blobs WHERE digest = ?1")
                .and_then(|mut statement| statement.execute([digest.bytes()]))
                .map_err(|error| self.failed(&error))?;
        }
        Ok(())
    }

    /// The names of the packs, and every content in the order in which they lie.
    fn places(&self) -> rusqlite::Result<(Vec<String>, Vec<Place>)> {
        let mut statement = self.connection.prepare("SELECT name FROM packs")?;
        let packs = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let mut statement = self.connection.prepare(
            "SELECT digest, name, start, length, blobs.size FROM blobs JOIN packs USING (pack) ORDER BY name, start",
        )?;
        let places = statement.query_map([], Place::from_row)?.collect::<rusqlite::Result<_>>()?;
        Ok((packs, places))
    }

    /// Agents whose configuration is not what their digest was made of, and trials whose list of files is not the one that
    /// was recorded.
    fn digests(&self) -> rusqlite::Result<Vec<String>> {
        let mut found = Vec::new();
        let mut statement =
            self.connection.prepare("SELECT digest, label, configuration FROM agents ORDER BY digest")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (digest, label, configuration): (String, String, String) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            if digest.len() == 64 && Digest::of(configuration.as_bytes()).hex() != digest {
                found.push(format!(
                    "agent `{}`: its configuration is not the one that its digest {} was made of",
                    label.escape_debug(),
                    &digest[..12]
                ));
            }
        }
        let mut statement = self.connection.prepare(
            "SELECT trial, id, evidence_digest FROM trials WHERE evidence_digest IS NOT NULL ORDER BY trial",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (number, id): (i64, String) = (row.get(0)?, row.get(1)?);
            if Evidence::digest_of(&query::one(&self.connection, number)?.evidence).bytes()[..]
                != row.get::<_, Vec<u8>>(2)?[..]
            {
                found.push(format!(
                    "trial `{}`: the list of its files is not the one that was recorded",
                    id.escape_debug()
                ));
            }
        }
        Ok(found)
    }

    /// The number and the identifier of each trial; of a damaged database as many as can be read before the error.
    fn numbers(&self, into: &mut Vec<(i64, String)>) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare("SELECT trial, id FROM trials ORDER BY trial")?;
        for row in statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))? {
            into.push(row?);
        }
        Ok(())
    }

    fn trial_problems(
        &self,
        trial: &Trial,
        broken: &HashMap<String, String>,
        verified: &mut Verified,
    ) -> Vec<String> {
        let stored = |digest: &str| match broken.get(digest) {
            Some(what) => Some(what.clone()),
            None => (!self.holds(digest)).then(|| "the store does not hold it".to_owned()),
        };
        let mut problems = self.file_problems(trial, stored, verified);
        if problems.is_empty() && trial.status != Status::Missing {
            problems.extend(self.record_problems(trial));
        }
        problems
    }

    /// Which files of a trial are not what was recorded, and why; all of them are read.
    pub fn damage(&self, trial: &Trial) -> Vec<String> {
        let stored = |digest: &str| {
            let read = self.content(digest).map_err(|error| error.to_string()).and_then(|mut content| {
                std::io::copy(&mut content, &mut std::io::sink()).map_err(|error| error.to_string())
            });
            read.err()
        };
        self.file_problems(trial, stored, &mut Verified::default())
    }

    /// What is wrong with the files of a trial; `stored` tells what is wrong with a content of the store.
    fn file_problems(
        &self,
        trial: &Trial,
        stored: impl Fn(&str) -> Option<String>,
        verified: &mut Verified,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        for file in &trial.evidence {
            let path = file.path.escape_debug();
            match (file.kept, &file.digest) {
                (Kept::Stored, Some(digest)) => {
                    problems.extend(stored(digest).map(|what| format!("`{path}`: {what}")));
                }
                (Kept::Referenced, Some(digest)) => match self.digest_of(trial, file) {
                    Ok((found, size)) => {
                        verified.files += 1;
                        verified.bytes += size;
                        if found != *digest {
                            problems.push(format!("`{path}` has changed since it was imported"));
                        }
                    }
                    Err(error) => problems.push(error.to_string()),
                },
                (Kept::Skipped, None) => {}
                _ => problems.push(format!("`{path}`: the record contradicts itself")),
            }
        }
        problems
    }

    fn holds(&self, digest: &str) -> bool {
        let Ok(digest) = digest.parse::<Digest>() else { return false };
        let known = self
            .connection
            .prepare_cached("SELECT 1 FROM blobs WHERE digest = ?1")
            .and_then(|mut statement| statement.exists([digest.bytes()]));
        known.unwrap_or(false)
    }

    fn digest_of(&self, trial: &Trial, file: &Evidence) -> Result<(String, u64)> {
        let mut content = self.open_evidence(&trial.id, file)?;
        let name = file.path.escape_debug().to_string();
        let (digest, size) = Digest::of_reader(&mut content).map_err(failed("reading", &name))?;
        Ok((digest.hex(), size))
    }

    /// A document among the evidence of a trial, without secrets; none if it is not there.
    fn document(&self, trial: &Trial, path: &str) -> Result<Option<Vec<u8>>> {
        let Some(file) = trial.evidence.iter().find(|file| file.path == path) else { return Ok(None) };
        let mut bytes = Vec::new();
        let content = self.open_evidence(&trial.id, file)?;
        content.take(MAX_DOCUMENT).read_to_end(&mut bytes).map_err(failed("reading", path))?;
        Ok(Some(if file.kept == Kept::Referenced { crate::redact::clean(&bytes) } else { bytes }))
    }

    /// Where a record is not what its result says.
    fn record_problems(&self, trial: &Trial) -> Vec<String> {
        let bytes = match self.document(trial, "result.json") {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Vec::new(),
            Err(error) => return vec![error.to_string()],
        };
        let result = match TrialResult::parse(&bytes) {
            Ok(result) => result,
            Err(error) => return vec![format!("its result {error}")],
        };
        let identity = Identity::new(&result.config().agent, Some(&result.agent_info));
        let mut said = match self.document(trial, verdict::PATH) {
            Ok(bytes) => Verdict::read(&bytes.unwrap_or_default()),
            Err(error) => return vec![error.to_string()],
        };
        // A record of an earlier release was told nothing of its baseline, or of what was metered.
        let is_told = |reward: &Reward| reward.baseline.is_some() || reward.direction.is_some();
        if !trial.rewards.iter().any(is_told) {
            said.targets.clear();
        }
        if trial.metered == Metered::default() {
            said.metered = Metered::default();
        }
        let mut again = from_harbor::record(&result, &identity, trial.reward_key.as_deref(), &said);
        // What the result alone does not say: see `import`.
        again.task_digest.clone_from(&trial.task_digest);
        if trial.agent_version.is_none() {
            again.agent_digest.clone_from(&trial.agent_digest);
        }
        if trial.reward.is_none() {
            // Without a reward it is not known which one was asked for. What was raised has its class all the same.
            let class = if again.exception.is_some() { again.failure } else { trial.failure };
            (again.status, again.failure, again.reward, again.reward_key, again.note) =
                (trial.status, class, None, None, trial.note.clone());
        }
        if again == *trial {
            return Vec::new();
        }
        let mut same = trial.clone();
        same.evidence.clear();
        let lines = differences(&same, &again);
        let differ = lines.iter().filter(|line| line.contains(" -> "));
        differ.map(|line| format!("the record differs from its result: {line}")).collect()
    }
}

fn check_stop(stop: Option<&AtomicBool>) -> Result<()> {
    match stop {
        Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::interrupted()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
