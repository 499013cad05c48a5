//! Files of checksummed lines that are only ever appended to: journals, and records.
//!
//! A line is a checksum, a space and JSON. The checksum covers the one before it, so a line that is changed, missing or
//! out of place is noticed. An append that was cut short leaves a last line without its end; it was never acknowledged,
//! so it is dropped.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::digest::{Hasher, hex};

/// The most bytes of a line.
const LONGEST: u64 = 64 << 20;

/// A file that does not hold what was written to it.
#[derive(Debug)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1; 0 if it is none of them.
    pub line: u64,
    /// What is wrong with it.
    pub what: String,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}: {}", self.path.display(), self.line, self.what)
    }
}

impl std::error::Error for Damage {}

/// A file of checksummed lines, open to be appended to.
#[derive(Debug)]
pub struct ChainedLog {
    file: Arc<File>,
    path: PathBuf,
    last: String,
    length: u64,
    /// Why nothing may be appended any more.
    broken: Option<String>,
}

/// A file that was opened, and all that is in it.
#[derive(Debug)]
pub struct Opened<T> {
    /// The file, ready to be appended to.
    pub log: ChainedLog,
    /// Its values, with the offset at which each line begins.
    pub values: Vec<(u64, T)>,
    /// How many bytes of an append that was cut short were dropped.
    pub torn: u64,
}

impl ChainedLog {
    /// Opens a file, or makes it, and reads all of it.
    pub fn open<T: DeserializeOwned>(path: &Path) -> Result<Opened<T>, Damage> {
        let mut values = Vec::new();
        let (log, torn) = Self::open_each(path, |offset, value| {
            values.push((offset, value));
            Ok(())
        })?;
        Ok(Opened { log, values, torn })
    }

    /// The same where the values are not all kept: each is handed over with the offset of its line, and can be refused. Returns
    /// also how many bytes of an append that was cut short were dropped.
    pub fn open_each<T: DeserializeOwned>(
        path: &Path,
        each: impl FnMut(u64, T) -> Result<(), String>,
    ) -> Result<(Self, u64), Damage> {
        let failed = |error: io::Error| Damage { path: path.to_owned(), line: 0, what: error.to_string() };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        let Parsed { last, length, torn } = parse(path, &file, each)?;
        if torn > 0 {
            file.set_len(length).and_then(|()| file.sync_all()).map_err(failed)?;
        }
        file.seek(SeekFrom::Start(length)).map_err(failed)?;
        Ok((Self { file: Arc::new(file), path: path.to_owned(), last, length, broken: None }, torn))
    }

    /// The open file, for whoever syncs it while more is appended.
    pub fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Takes nothing more, because of `why`: nobody knows what is on the disk.
    pub fn break_off(&mut self, why: &io::Error) {
        self.broken.get_or_insert_with(|| format!("{} cannot be synced: {why}", self.path.display()));
    }

    /// How many bytes the file has; the next line begins there.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The checksum of the last line; empty if there is none.
    pub fn last(&self) -> &str {
        &self.last
    }

    /// Appends a line. After an error the file is as it was.
    pub fn append<T: Serialize>(&mut self, value: &T) -> io::Result<()> {
        if let Some(why) = &self.broken {
            return Err(io::Error::other(why.clone()));
        }
        let json = serde_json::to_vec(value)?;
        let checksum = checksum_of(&self.last, &json);
        let mut line = Vec::with_capacity(json.len() + 18);
        line.extend_from_slice(checksum.as_bytes());
        line.push(b' ');
        line.extend_from_slice(&json);
        line.push(b'\n');
        let mut file = &*self.file;
        if let Err(error) = file.write_all(&line) {
            // Half a line must not stand before a complete one. The first error is the one that is reported.
            let undone = file.set_len(self.length).and_then(|()| file.seek(SeekFrom::Start(self.length)));
            if undone.is_err() {
                self.broken = Some(format!("{} cannot be written: {error}", self.path.display()));
            }
            return Err(error);
        }
        self.last = checksum;
        self.length += line.len() as u64;
        Ok(())
    }

    /// Makes sure that what was appended survives.
    pub fn sync(&mut self) -> io::Result<()> {
        if let Err(error) = self.file.sync_data() {
            self.break_off(&error);
            return Err(error);
        }
        Ok(())
    }
}

struct Parsed {
    last: String,
    length: u64,
    torn: u64,
}

fn parse<T: DeserializeOwned>(
    path: &Path,
    file: &File,
    mut each: impl FnMut(u64, T) -> Result<(), String>,
) -> Result<Parsed, Damage> {
    let damage = |line: u64, what: String| Damage { path: path.to_owned(), line, what };
    let mut last = String::new();
    let mut length = 0;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        number += 1;
        line.clear();
        let read = (&mut reader).take(LONGEST).read_until(b'\n', &mut line);
        let read = read.map_err(|error| damage(number, error.to_string()))? as u64;
        if read == 0 || line.pop() != Some(b'\n') {
            if read == LONGEST {
                return Err(damage(number, "the line is too long".into()));
            }
            return Ok(Parsed { last, length, torn: read });
        }
        let (checksum, json) = split(&line).map_err(|what| damage(number, what))?;
        if checksum != checksum_of(&last, json) {
            return Err(damage(number, "the checksum does not fit: the file was changed".into()));
        }
        let value = serde_json::from_slice(json)
            .map_err(|error| damage(number, format!("not understood: {error}")))?;
        checksum.clone_into(&mut last);
        each(length, value).map_err(|what| damage(number, what))?;
        length += read;
    }
}

/// Reads the complete lines of a file that somebody else may be appending to.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<(u64, T)>, Damage> {
    let failed = |error: io::Error| Damage { path: path.to_owned(), line: 0, what: error.to_string() };
    let mut values = Vec::new();
    parse(path, &File::open(path).map_err(failed)?, |offset, value| {
        values.push((offset, value));
        Ok(())
    })?;
    Ok(values)
}

/// Reads the line that begins at an offset, checking its form but not its place.
pub fn read_at<T: DeserializeOwned>(path: &Path, offset: u64) -> io::Result<T> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut line = Vec::new();
    BufReader::new(file).take(LONGEST).read_until(b'\n', &mut line)?;
    line.pop();
    let (_, json) = split(&line).map_err(io::Error::other)?;
    Ok(serde_json::from_slice(json)?)
}

/// Where the first line begins that begins at an offset or after it, but not after an end.
pub fn next_line(path: &Path, offset: u64, end: u64) -> io::Result<u64> {
    if offset == 0 || offset >= end {
        return Ok(offset.min(end));
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset - 1))?;
    let mut rest = Vec::new();
    let skipped = BufReader::new(file).take(LONGEST).read_until(b'\n', &mut rest)? as u64;
    Ok((offset - 1 + skipped).min(end))
}

/// The values of the complete lines between two offsets.
pub fn read_between<T: DeserializeOwned>(path: &Path, from: u64, to: u64) -> io::Result<Vec<T>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(to.saturating_sub(from)).read_to_end(&mut bytes)?;
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_suffix(b"\n"))
        .map(|line| {
            let (_, json) = split(line).map_err(io::Error::other)?;
            Ok(serde_json::from_slice(json)?)
        })
        .collect()
}

fn split(line: &[u8]) -> Result<(&str, &[u8]), String> {
    let bad = || "no checksum: the file was changed".to_owned();
    let (checksum, rest) = line.split_at_checked(16).ok_or_else(bad)?;
    let json = rest.strip_prefix(b" ").ok_or_else(bad)?;
    Ok((std::str::from_utf8(checksum).map_err(|_| bad())?, json))
}

fn checksum_of(last: &str, json: &[u8]) -> String {
    let mut hasher = Hasher::new();
    for part in [last.as_bytes(), b"\n", json] {
        hasher.update(part);
    }
    hex(&hasher.finish().bytes()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(values: &[u64]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let mut opened = ChainedLog::open::<u64>(&path).unwrap();
        for value in values {
            opened.log.append(value).unwrap();
        }
        opened.log.sync().unwrap();
        (folder, path)
    }

    fn values(path: &Path) -> Result<Vec<u64>, Damage> {
        Ok(ChainedLog::open::<u64>(path)?.values.into_iter().map(|(_, value)| value).collect())
    }

    #[test]
    fn what_was_appended_is_read_again() {
        let (_folder, path) = written(&[1, 2, 3]);
        assert_eq!(values(&path).unwrap(), [1, 2, 3]);
        let opened = ChainedLog::open::<u64>(&path).unwrap();
        assert_eq!(read_at::<u64>(&path, opened.values[1].0).unwrap(), 2);
        assert_eq!(read_between::<u64>(&path, opened.values[1].0, opened.log.length()).unwrap(), [2, 3]);
    }

    #[test]
    fn every_cut_leaves_the_whole_lines_before_it() {
        let (_folder, path) = written(&[10, 20, 30]);
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let lines = whole[..cut].split(|byte| *byte == b'\n').count() - 1;
            assert_eq!(values(&path).unwrap(), [10, 20, 30][..lines]);
            // The file can be appended to afterwards.
            let mut opened = ChainedLog::open::<u64>(&path).unwrap();
            opened.log.append(&99u64).unwrap();
            assert_eq!(values(&path).unwrap().last(), Some(&99));
        }
    }

    #[test]
    fn a_change_anywhere_is_damage() {
        let (_folder, path) = written(&[10, 20, 30]);
        let whole = std::fs::read(&path).unwrap();
        for place in 0..whole.len() - 1 {
            let mut changed = whole.clone();
            changed[place] ^= 1;
            std::fs::write(&path, &changed).unwrap();
            assert!(values(&path).is_err(), "byte {place}");
        }
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        for order in [[0, 2, 1].as_slice(), &[1, 2], &[0, 2], &[0, 0, 1, 2]] {
            std::fs::write(&path, order.iter().map(|i| lines[*i]).collect::<Vec<_>>().concat()).unwrap();
            assert!(values(&path).is_err(), "{order:?}");
        }
    }

    #[test]
    fn a_failed_append_leaves_the_file_as_it_was() {
        let (_folder, path) = written(&[1]);
        let mut opened = ChainedLog::open::<u64>(&path).unwrap();
        // A file that is open for reading only cannot be written.
        opened.log.file = Arc::new(File::open(&path).unwrap());
        assert!(opened.log.append(&2u64).is_err());
        assert_eq!(values(&path).unwrap(), [1]);
    }
}
