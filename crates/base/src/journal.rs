//! A journal: checksummed lines, and beside them a note of how far they reach.
//!
//! Each line's checksum covers the one before it, which shows every change but one: whole lines that are missing at the
//! end. With them charges would be forgotten and a budget would refill. So after lines are on the disk their end is noted
//! in a file of its own, and a journal that is shorter than its note is damaged. The note may lag behind by what was written
//! last before a crash, never run ahead.
//!
//! A journal that has grown long is replaced by a short one that says the same. Its first line says which end it stands for,
//! so that a crash between the replacement and the next note is told from a loss.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::marker::PhantomData;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::chained_log::{ChainedLog, Damage};
use crate::write::{self, Durable};

const LINES: &str = "journal.jsonl";
const NOTE: &str = "journal.end";

/// A journal of entries, open to be appended to.
#[derive(Debug)]
pub struct Journal<E> {
    log: ChainedLog,
    note: Arc<File>,
    folder: PathBuf,
    entries: PhantomData<fn(E)>,
}

/// How far a journal reached at some moment: what to sync while more is appended.
#[derive(Debug)]
pub struct Reach {
    file: Arc<File>,
    note: Arc<File>,
    end: End,
}

/// An end: so many bytes, and the checksum of the last line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct End {
    length: u64,
    last: String,
}

/// What stands in a line.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line<E> {
    Replaces { replaces: End },
    Entry(E),
}

impl<E: Serialize + DeserializeOwned> Journal<E> {
    /// Opens the journal in a folder, or begins one, and hands over its entries, each of which can be refused. Returns also how
    /// many bytes of a line that was cut short were dropped.
    pub fn open(folder: &Path, mut each: impl FnMut(E) -> Result<(), String>) -> Result<(Self, u64), Damage> {
        let path = folder.join(LINES);
        let (mut count, mut replaced) = (0_u64, None);
        let (log, torn) = ChainedLog::open_each(&path, |_, line| {
            count += 1;
            match line {
                Line::Replaces { replaces } if count == 1 => replaced = Some(replaces),
                Line::Replaces { .. } => return Err("this can only be the first line".to_owned()),
                Line::Entry(entry) => each(entry)?,
            }
            Ok(())
        })?;
        let note_path = folder.join(NOTE);
        let failed = |error: io::Error| Damage { path: note_path.clone(), line: 0, what: error.to_string() };
        let mut note = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&note_path)
            .map_err(failed)?;
        let mut text = String::new();
        note.read_to_string(&mut text).map_err(failed)?;
        let missing = |what: &str| Damage { path: path.clone(), line: count + 1, what: what.to_owned() };
        match End::read(&text) {
            // Killed before the first note.
            None if text.is_empty() && count <= 1 => {}
            None => {
                let what = "the note is not understood".to_owned();
                return Err(Damage { path: note_path, line: 1, what });
            }
            // Killed before the note of a journal that had just been replaced.
            Some(end) if replaced.as_ref() == Some(&end) => {}
            Some(end) if end.length > log.length() => {
                return Err(missing("lines that were written are missing from here on"));
            }
            Some(end) if end.length == log.length() && end.last != log.last() => {
                return Err(missing("this is not where the journal ended"));
            }
            Some(_) => {}
        }
        let journal = Self { log, note: Arc::new(note), folder: folder.to_owned(), entries: PhantomData };
        journal.reach().note().and_then(|()| journal.note.sync_all()).map_err(failed)?;
        Ok((journal, torn))
    }

    /// How many bytes it has.
    pub fn length(&self) -> u64 {
        self.log.length()
    }

    /// Appends an entry. It outlives this process, and a loss of power once what [`Journal::reach`] returns next is
    /// synced. After an error the journal is as it was, or takes nothing more.
    pub fn append(&mut self, entry: &E) -> io::Result<()> {
        self.log.append(entry)
    }

    /// How far it reaches now.
    pub fn reach(&self) -> Reach {
        let end = End { length: self.log.length(), last: self.log.last().to_owned() };
        Reach { file: self.log.file(), note: Arc::clone(&self.note), end }
    }

    /// Takes nothing more, because a sync failed.
    pub fn break_off(&mut self, why: &io::Error) {
        self.log.break_off(why);
    }

    /// Puts other entries in place of those that there are, durably.
    pub fn replace(&mut self, entries: impl IntoIterator<Item = E>) -> crate::Result<()> {
        let path = self.folder.join(LINES);
        let reach = self.reach();
        // Written beside it as any journal is, so that the checksums are made in one place.
        let folder = tempfile::Builder::new()
            .prefix(".taskwright-")
            .tempdir_in(&self.folder)
            .map_err(crate::failed("writing in", &self.folder))?;
        let beside = folder.path().join(LINES);
        let failed = |error: &dyn std::fmt::Display| {
            crate::Error::new(format!("replacing `{}`: {error}", path.display()))
        };
        let (mut log, _) =
            ChainedLog::open_each(&beside, |_, _: Line<E>| Ok(())).map_err(|damage| failed(&damage))?;
        log.append(&Line::<E>::Replaces { replaces: reach.end }).map_err(|error| failed(&error))?;
        for entry in entries {
            log.append(&Line::Entry(entry)).map_err(|error| failed(&error))?;
        }
        let bytes = std::fs::read(&beside).map_err(crate::failed("reading", &beside))?;
        write::atomic_with(&path, Durable::Yes, |out| out.write_all(&bytes))?;
        let (log, _) =
            ChainedLog::open_each(&path, |_, _: Line<E>| Ok(())).map_err(|damage| failed(&damage))?;
        self.log = log;
        self.reach().note().map_err(|error| failed(&error))
    }
}

impl Reach {
    /// Makes sure that the journal survives as far as it reached, and notes it.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()?;
        // The entries stand. A note that cannot be written over the one before lags behind, which is allowed.
        let _ = self.note();
        Ok(())
    }

    fn note(&self) -> io::Result<()> {
        self.note.write_all_at(format!("{:020} {:>16}\n", self.end.length, self.end.last).as_bytes(), 0)
    }
}

impl End {
    fn read(text: &str) -> Option<Self> {
        let (length, last) = text.strip_suffix('\n')?.split_once(' ')?;
        Some(Self { length: length.parse().ok()?, last: last.trim_start().to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(folder: &Path) -> Result<Vec<u64>, Damage> {
        let mut all = Vec::new();
        Journal::open(folder, |entry| {
            all.push(entry);
            Ok(())
        })?;
        Ok(all)
    }

    fn open(folder: &Path) -> Journal<u64> {
        Journal::open(folder, |_| Ok(())).unwrap().0
    }

    fn written(count: u64) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(folder.path());
        for entry in 0..count {
            journal.append(&entry).unwrap();
            journal.reach().sync().unwrap();
        }
        folder
    }

    fn cut(folder: &Path, lines: usize) {
        let path = folder.join(LINES);
        let text = std::fs::read_to_string(&path).unwrap();
        let kept: Vec<&str> = text.split_inclusive('\n').collect();
        std::fs::write(&path, kept[..kept.len() - lines].concat()).unwrap();
    }

    #[test]
    fn every_loss_of_whole_lines_is_noticed() {
        for lost in 1..=5 {
            let folder = written(5);
            cut(folder.path(), lost);
            let damage = entries(folder.path()).unwrap_err().to_string();
            assert!(damage.contains("missing"), "{damage}");
        }
        for lost in [NOTE, LINES] {
            let folder = written(5);
            std::fs::remove_file(folder.path().join(lost)).unwrap();
            assert!(entries(folder.path()).is_err(), "{lost}");
        }
    }

    #[test]
    fn a_note_that_lags_behind_is_no_damage() {
        let folder = written(3);
        open(folder.path()).append(&3).unwrap();
        assert_eq!(entries(folder.path()).unwrap(), [0, 1, 2, 3]);
        // Killed before there was any.
        let folder = written(1);
        std::fs::write(folder.path().join(NOTE), "").unwrap();
        assert_eq!(entries(folder.path()).unwrap(), [0]);
    }

    #[test]
    fn a_journal_is_replaced_by_a_shorter_one_and_a_crash_in_between_is_no_damage() {
        let folder = written(50);
        let mut journal = open(folder.path());
        let note = std::fs::read(folder.path().join(NOTE)).unwrap();
        let before = journal.length();
        journal.replace([7, 8]).unwrap();
        journal.append(&9).unwrap();
        assert!(journal.length() < before);
        assert_eq!(entries(folder.path()).unwrap(), [7, 8, 9]);
        // Killed before the note.
        std::fs::write(folder.path().join(NOTE), note).unwrap();
        assert_eq!(entries(folder.path()).unwrap(), [7, 8, 9]);
        // And a loss is noticed as before.
        cut(folder.path(), 1);
        assert!(entries(folder.path()).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
