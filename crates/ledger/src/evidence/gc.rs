//! Removing evidence that no trial refers to: packs of imports that were killed, and contents of replaced trials.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rusqlite::{TransactionBehavior, params};
use serde::Serialize;
use taskwright_base::Result;

use super::entry::HEADER;
use super::store::Writer;
use crate::db::{Ledger, layout};
use crate::error::failed;

/// What was removed, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// How many contents no trial referred to.
    pub contents: u64,
    /// How many packs went, or were written anew without what nothing refers to.
    pub packs: u64,
    /// How many bytes that frees.
    pub bytes: u64,
}

/// A pack that the database knows.
struct Known {
    pack: i64,
    name: String,
    /// What of it is still referred to: digest, start, length.
    alive: Vec<(Vec<u8>, u64, u64)>,
}

impl Ledger {
    /// Removes what no trial refers to; with `dry_run` it only says what that is. Killed at any point, it leaves a ledger
    /// that is whole.
    pub fn gc(&mut self, dry_run: bool) -> Result<Collected> {
        let _lock = self.lock(&|_| {}, &|| false)?;
        let on_disk = layout::packs(self.directory())?;
        let unfinished = layout::unfinished(self.directory())?;
        if !dry_run {
            layout::sweep(self.directory())?;
        }
        let (mut collected, known) = self.garbage().map_err(|error| self.failed(&error))?;
        let mut writer = Writer::new(self.directory())?;
        let mut moved: Vec<(Vec<u8>, Arc<str>, u64)> = Vec::new();
        let mut emptied = Vec::new();
        for pack in &known {
            let alive: u64 = pack.alive.iter().map(|(.., length)| length + HEADER).sum();
            let Some((_, size)) = on_disk.iter().find(|(name, _)| *name == pack.name) else {
                // Its contents are lost; without a place they can be imported again.
                emptied.push(pack);
                continue;
            };
            if alive == *size {
                continue;
            }
            collected.packs += 1;
            collected.bytes += size.saturating_sub(alive);
            emptied.push(pack);
            if !dry_run {
                self.copy(pack, &mut writer, &mut moved)?;
            }
        }
        let orphans: Vec<_> =
            on_disk.iter().filter(|(name, _)| !known.iter().any(|pack| pack.name == *name)).collect();
        collected.packs += (orphans.len() + unfinished.len()) as u64;
        collected.bytes += unfinished.iter().map(|(_, size)| size).sum::<u64>();
        collected.bytes += orphans.iter().map(|(_, size)| size).sum::<u64>();
        if dry_run {
            return Ok(collected);
        }
        // New packs are on the disk before the database speaks of them, and old ones go only after it does not any more.
        let sealed = writer.seal()?;
        self.forget(&emptied, &moved, &sealed).map_err(|error| self.failed(&error))?;
        let gone = emptied.iter().map(|pack| &pack.name).chain(orphans.iter().map(|(name, _)| name));
        for name in gone {
            let path = layout::evidence(self.directory()).join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(failed("removing", &path)(error));
                }
                _ => {}
            }
        }
        Ok(collected)
    }

    /// How many contents nothing refers to, and what is alive in each pack.
    fn garbage(&self) -> rusqlite::Result<(Collected, Vec<Known>)> {
        let mut statement = self.connection.prepare("SELECT pack, name FROM packs ORDER BY pack")?;
        let mut packs: Vec<Known> = statement
            .query_map([], |row| Ok(Known { pack: row.get(0)?, name: row.get(1)?, alive: Vec::new() }))?
            .collect::<rusqlite::Result<_>>()?;
        let mut statement = self.connection.prepare(
            "SELECT digest, pack, start, length, digest IN (SELECT digest FROM evidence WHERE kept = 'stored')
             FROM blobs ORDER BY pack, start",
        )?;
        let mut rows = statement.query([])?;
        let mut collected = Collected::default();
        while let Some(row) = rows.next()? {
            let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
            let pack: i64 = row.get(1)?;
            if !row.get::<_, bool>(4)? {
                collected.contents += 1;
            } else if let Ok(index) = packs.binary_search_by_key(&pack, |known| known.pack) {
                packs[index].alive.push((row.get(0)?, number(2)?, number(3)?));
            }
        }
        Ok((collected, packs))
    }

    /// Copies what is alive in a pack to a new one.
    fn copy(
        &self,
        pack: &Known,
        writer: &mut Writer,
        moved: &mut Vec<(Vec<u8>, Arc<str>, u64)>,
    ) -> Result<()> {
        let path = layout::evidence(self.directory()).join(&pack.name);
        let file = File::open(&path).map_err(failed("reading", &path))?;
        for (digest, start, length) in &pack.alive {
            let (name, at) = writer.copy(length + HEADER, |buffer, from| {
                file.read_exact_at(buffer, start + from).map_err(failed("reading", &path))
            })?;
            moved.push((digest.clone(), name, at));
        }
        Ok(())
    }

    fn forget(
        &mut self,
        emptied: &[&Known],
        moved: &[(Vec<u8>, Arc<str>, u64)],
        sealed: &[(Arc<str>, u64)],
    ) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut numbers = Vec::new();
        for (name, size) in sealed {
            let size = i64::try_from(*size).unwrap_or(i64::MAX);
            let mut insert = transaction.prepare_cached("INSERT INTO packs (name, size) VALUES (?1, ?2)")?;
            numbers.push((name, insert.insert(params![name, size])?));
        }
        for (digest, name, start) in moved {
            let pack = numbers.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
            transaction
                .prepare_cached("UPDATE blobs SET pack = ?2, start = ?3 WHERE digest = ?1")?
                .execute(params![digest, pack, i64::try_from(*start).unwrap_or(i64::MAX)])?;
        }
        for pack in emptied {
            transaction.prepare_cached("DELETE FROM blobs WHERE pack = ?1")?.execute([pack.pack])?;
            transaction.prepare_cached("DELETE FROM packs WHERE pack = ?1")?.execute([pack.pack])?;
        }
        transaction.commit()
    }
}

#[cfg(test)]
mod tests;
