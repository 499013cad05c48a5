//! The files that a trial left: listed, read, redacted, and stored or only digested.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};

use rusqlite::Connection;
use sha2::{Digest, Sha256};

use crate::error::Result;
use crate::folder::{self, EntryKind, Folder};
use crate::paths;
use crate::query::hex;
use crate::record::{Evidence, Kept};
use crate::redact::Scrubber;
use crate::store::{Fresh, Place, Taken, Writer};

/// How deep folders may lie in a trial's; deeper ones are not looked into.
const DEEPEST: usize = 48;
/// Files up to this size are read as a whole, larger ones in parts.
const WHOLE: u64 = 4 << 20;

/// Gathers the evidence of one trial.
pub(super) struct Gather<'a> {
    /// Where contents go; none if they stay where they are.
    pub store: Option<(&'a mut Writer, &'a Fresh, &'a Connection)>,
    pub scrubber: Scrubber,
    pub evidence: Vec<Evidence>,
    pub places: Vec<Place>,
    /// What could not be read, and why.
    pub problems: Vec<String>,
    pub buffer: &'a mut Vec<u8>,
}

impl Gather<'_> {
    /// Takes what is in memory as the content of a file.
    pub fn content(&mut self, path: String, content: &[u8]) -> Result<()> {
        let taken = match &mut self.store {
            Some((store, fresh, known)) => store.put(&self.scrubber.scrub(content), fresh, known)?,
            None => Taken { digest: Sha256::digest(content).into(), size: content.len() as u64, place: None },
        };
        self.keep(path, taken);
        Ok(())
    }

    /// Takes everything in a folder but what was taken already.
    pub fn folder(&mut self, folder: &Folder, prefix: &str, depth: usize, but: &[&str]) -> Result<()> {
        let entries = match folder.entries() {
            Ok(entries) => entries,
            Err(error) => {
                self.problem(prefix.trim_end_matches('/').to_owned(), &error);
                return Ok(());
            }
        };
        for entry in entries {
            let name = paths::escape(entry.name.to_bytes());
            if but.contains(&name.as_str()) {
                continue;
            }
            let path = format!("{prefix}{name}");
            match entry.kind {
                EntryKind::File => self.file(folder, &entry.name, path)?,
                EntryKind::Other => self.skip(path),
                EntryKind::Folder if depth == DEEPEST => {
                    self.problem(path, &io::Error::other(format!("lies more than {DEEPEST} folders deep")));
                }
                EntryKind::Folder => match folder.folder(&entry.name) {
                    Ok(inner) => self.folder(&inner, &format!("{path}/"), depth + 1, &[])?,
                    Err(error) => self.problem(path, &error),
                },
            }
        }
        Ok(())
    }

    fn file(&mut self, folder: &Folder, name: &CString, path: String) -> Result<()> {
        let (file, stat) = match folder.file(name) {
            Ok(opened) => opened,
            Err(error) => {
                self.problem(path, &error);
                return Ok(());
            }
        };
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size <= WHOLE {
            let mut buffer = std::mem::take(self.buffer);
            buffer.clear();
            // One that grows meanwhile is taken as it was.
            let taken = match folder::read(&file, size, WHOLE, &mut buffer) {
                Ok(()) => self.content(path, &buffer),
                Err(error) => {
                    self.problem(path, &error);
                    Ok(())
                }
            };
            *self.buffer = buffer;
            return taken;
        }
        self.large(file, path)
    }

    fn large(&mut self, mut file: File, path: String) -> Result<()> {
        let taken = match &mut self.store {
            Some((store, fresh, known)) => store.put_stream(&mut file, &self.scrubber, fresh, known)?,
            None => digest(&mut file),
        };
        match taken {
            Ok(taken) => self.keep(path, taken),
            Err(error) => self.problem(path, &error),
        }
        Ok(())
    }

    fn keep(&mut self, path: String, taken: Taken) {
        let kept = if self.store.is_some() { Kept::Stored } else { Kept::Referenced };
        self.evidence.push(Evidence { path, digest: Some(hex(&taken.digest)), size: taken.size, kept });
        self.places.extend(taken.place);
    }

    fn skip(&mut self, path: String) {
        self.evidence.push(Evidence { path, kept: Kept::Skipped, ..Evidence::default() });
    }

    fn problem(&mut self, path: String, error: &io::Error) {
        self.problems.push(format!("`{path}` was not kept: {error}"));
        self.skip(path);
    }
}

/// The digest of a stream.
pub(crate) fn digest(from: &mut impl Read) -> io::Result<Taken> {
    let mut hasher = Sha256::new();
    let mut size = 0;
    Scrubber::default().stream(from, |part| {
        hasher.update(part);
        size += part.len() as u64;
        Ok(())
    })?;
    Ok(Taken { digest: hasher.finalize().into(), size, place: None })
}
