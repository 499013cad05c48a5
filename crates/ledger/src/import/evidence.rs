//! The files that a trial left: listed, read, redacted, and stored or only digested.

use std::ffi::CString;
use std::fs::File;
use std::io;

use rusqlite::Connection;
use taskwright_base::folder::{self, EntryKind, Folder};
use taskwright_base::{Digest, Result};

use crate::evidence::Place;
use crate::evidence::paths;
use crate::evidence::store::{Fresh, Put, Writer};
use crate::record::{Evidence, Kept};
use crate::redact::Scrubber;

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
    fn content(&mut self, path: String, content: &[u8]) -> Result<()> {
        if self.store.is_none() {
            return self.clean_content(path, content);
        }
        let scrubbed = self.scrubber.scrub(content);
        self.clean_content(path, &scrubbed)
    }

    /// The same, of what is without secrets already, or stays where it is.
    pub fn clean_content(&mut self, path: String, content: &[u8]) -> Result<()> {
        let put = match &mut self.store {
            Some((store, fresh, known)) => store.put(content, fresh, known)?,
            None => Put { digest: Digest::of(content), size: content.len() as u64, place: None },
        };
        self.keep(path, put);
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
        let put = match &mut self.store {
            Some((store, fresh, known)) => store.put_stream(&mut file, &self.scrubber, fresh, known)?,
            None => Digest::of_reader(&mut file).map(|(digest, size)| Put { digest, size, place: None }),
        };
        match put {
            Ok(put) => self.keep(path, put),
            Err(error) => self.problem(path, &error),
        }
        Ok(())
    }

    fn keep(&mut self, path: String, put: Put) {
        let kept = if self.store.is_some() { Kept::Stored } else { Kept::Referenced };
        self.evidence.push(Evidence { path, digest: Some(put.digest.hex()), size: put.size, kept });
        self.places.extend(put.place);
    }

    fn skip(&mut self, path: String) {
        self.evidence.push(Evidence { path, kept: Kept::Skipped, ..Evidence::default() });
    }

    fn problem(&mut self, path: String, error: &io::Error) {
        self.problems.push(format!("`{path}` was not kept: {error}"));
        self.skip(path);
    }
}
