//! The journal: checksummed lines, and beside them a note of how far they reach.
//!
//! Each line's checksum covers the one before it, which shows every change but one: whole lines that are missing at the
//! end. With them charges would be forgotten and the budget would refill, or a seal would be undone. So after a line is
//! on the disk its end is noted in a file of its own, and a journal that is shorter than its note is damaged. The note
//! may lag behind by what was written last before a crash, never run ahead.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::events::Entry;
use taskwright_base::chained_log::{ChainedLog, Damage, Opened};

const LINES: &str = "journal.jsonl";
const NOTE: &str = "journal.end";

#[derive(Debug)]
pub struct Journal {
    log: ChainedLog,
    note: File,
}

/// Where the journal is in the folder of the state.
pub fn path(folder: &Path) -> PathBuf {
    folder.join(LINES)
}

impl Journal {
    /// Opens the journal in a folder, or begins one, and reads all of it: the entries, and how many bytes of a line that
    /// was cut short were dropped.
    pub fn open(folder: &Path) -> Result<(Self, Vec<Entry>, u64), Damage> {
        let Opened { log, values, torn } = ChainedLog::open::<Entry>(&path(folder))?;
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
        let missing =
            |what: &str| Damage { path: path(folder), line: values.len() as u64 + 1, what: what.to_owned() };
        match read_note(&text) {
            // Killed before the first note.
            None if text.is_empty() && values.len() <= 1 => {}
            None => {
                return Err(Damage {
                    path: note_path,
                    line: 1,
                    what: "the note is not understood".to_owned(),
                });
            }
            Some((length, _)) if length > log.length() => {
                return Err(missing("lines that were written are missing from here on"));
            }
            Some((length, last)) if length == log.length() && last != log.last() => {
                return Err(missing("this is not where the journal ended"));
            }
            Some(_) => {}
        }
        let journal = Self { log, note };
        journal.write_note().and_then(|()| journal.note.sync_all()).map_err(failed)?;
        Ok((journal, values.into_iter().map(|(_, entry)| entry).collect(), torn))
    }

    /// How many bytes it has.
    pub fn length(&self) -> u64 {
        self.log.length()
    }

    /// Appends an entry, durably. After an error the journal is as it was, or takes nothing more.
    pub fn append(&mut self, entry: &Entry) -> io::Result<()> {
        self.log.append(entry)?;
        self.log.sync()?;
        // The entry stands. A note that cannot be written over the one before lags behind, which is allowed.
        if let Err(error) = self.write_note() {
            eprintln!("taskwright: noting the journal's end: {error}");
        }
        Ok(())
    }

    fn write_note(&self) -> io::Result<()> {
        self.note.write_all_at(format!("{:020} {:>16}\n", self.log.length(), self.log.last()).as_bytes(), 0)
    }
}

/// A length and a checksum.
fn read_note(text: &str) -> Option<(u64, &str)> {
    let (length, last) = text.strip_suffix('\n')?.split_once(' ')?;
    Some((length.parse().ok()?, last.trim_start()))
}

/// What the tests do to a journal.
#[cfg(test)]
pub mod testing {
    use super::*;

    /// Takes whole lines from the end, as if they had never been written; with `noted`, as if they had been lost.
    pub fn cut(folder: &Path, lines: usize, noted: bool) {
        let path = super::path(folder);
        let text = std::fs::read_to_string(&path).unwrap();
        let kept: Vec<&str> = text.split_inclusive('\n').collect();
        std::fs::write(&path, kept[..kept.len() - lines].concat()).unwrap();
        if !noted {
            let log = ChainedLog::open::<Entry>(&path).unwrap().log;
            let note = OpenOptions::new().write(true).open(folder.join(NOTE)).unwrap();
            Journal { log, note }.write_note().unwrap();
        }
    }

    /// A journal on a device that is always full.
    pub fn full(folder: &Path) -> Option<Journal> {
        let log = ChainedLog::open::<Entry>(Path::new("/dev/full")).ok()?.log;
        Some(Journal { log, note: File::create(folder.join("note")).unwrap() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    fn written(entries: usize) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let (mut journal, _, _) = Journal::open(folder.path()).unwrap();
        for _ in 0..entries {
            journal.append(&Entry::Sealed).unwrap();
        }
        folder
    }

    #[test]
    fn every_loss_of_whole_lines_is_noticed() {
        for lost in 1..=5 {
            let folder = written(5);
            testing::cut(folder.path(), lost, true);
            let damage = Journal::open(folder.path()).unwrap_err().to_string();
            assert!(damage.contains("missing"), "{damage}");
        }
        let folder = written(5);
        std::fs::remove_file(folder.path().join(NOTE)).unwrap();
        assert!(Journal::open(folder.path()).is_err());
        let folder = written(5);
        std::fs::remove_file(folder.path().join(LINES)).unwrap();
        assert!(Journal::open(folder.path()).is_err());
    }

    #[test]
    fn a_note_that_lags_behind_is_no_damage() {
        let folder = written(3);
        let note = std::fs::read(folder.path().join(NOTE)).unwrap();
        Journal::open(folder.path()).unwrap().0.append(&Entry::Sealed).unwrap();
        std::fs::write(folder.path().join(NOTE), note).unwrap();
        assert_eq!(Journal::open(folder.path()).unwrap().1.len(), 4);
        // Killed before there was any.
        let folder = written(1);
        std::fs::write(folder.path().join(NOTE), "").unwrap();
        assert_eq!(Journal::open(folder.path()).unwrap().1.len(), 1);
    }
}
