//! The store of evidence: contents are appended to packs, each content once, however many trials left it.
//!
//! ```text
//!   put --> pending (memory) --> NAME.part --> seal: synced, NAME.pack --> transaction --> the database speaks of it
//!             |                    |                 |                       |
//!   killed:   lost                 |                 '------ an orphan ------'--> `gc` removes it
//!                                  '--> the next import removes it, and stores it anew
//! ```
//!
//! Packs are only appended to, by the one process that holds the ledger's lock, and each writer has packs of its own.
//! The database speaks of an entry only after its pack is on the disk: whenever the process is killed, what the
//! database says is true. Where a content lies could also be found again from the packs alone ([`super::entry`]).

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use taskwright_base::digest::Hasher;
use taskwright_base::{Digest, Result};
use zstd::bulk::Compressor;

use super::entry::{AS_IT_IS, HEADER, Place, ZSTANDARD, header};
use crate::db::layout;
use crate::error::{database_failed, failed};
use crate::redact::Scrubber;

/// The fastest level: evidence is written once, and much of it.
const LEVEL: i32 = 1;
/// Contents below this size are not worth compressing.
const TINY: usize = 64;
/// How many bytes of entries are written at a time.
const PENDING: usize = 1 << 20;
/// The size at which a pack is full.
const FULL: u64 = 256 << 20;

/// What a file came to.
#[derive(Debug, Clone)]
pub(crate) struct Put {
    pub digest: Digest,
    pub size: u64,
    /// Where it was put, if it was not there already.
    pub place: Option<Place>,
}

/// The digests that this process has put into packs and the database may not know yet: those of this batch, and those of
/// the one before, which may still be on its way.
#[derive(Debug, Default)]
pub(crate) struct Fresh(Mutex<[HashSet<Digest>; 2]>);

impl Fresh {
    /// Claims a digest; false if it was claimed before.
    fn claim(&self, digest: Digest) -> bool {
        let [current, previous] = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !previous.contains(&digest) && current.insert(digest)
    }

    /// Begins a batch: what was claimed before the last one is in the database now.
    pub fn begin_batch(&self) {
        let [current, previous] = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(current, previous);
        current.clear();
    }
}

/// Puts contents into a pack of its own. Several can work beside each other, sharing what is [`Fresh`].
pub(crate) struct Writer {
    folder: PathBuf,
    pack: Option<Pack>,
    full: Vec<Pack>,
    compressor: Compressor<'static>,
    buffer: Vec<u8>,
}

/// A pack that is written.
#[derive(Debug)]
pub(crate) struct Pack {
    /// What it will be called once it is finished.
    pub name: Arc<str>,
    /// Where it is until then.
    path: PathBuf,
    file: File,
    /// Where the next entry begins.
    end: u64,
    /// The last entries, which are not in the file yet: many are small.
    pending: Vec<u8>,
}

impl Writer {
    /// One that writes to the store of a ledger.
    pub fn new(ledger: &Path) -> Result<Self> {
        let folder = layout::evidence(ledger);
        let compressor = Compressor::new(LEVEL).map_err(failed("preparing to compress for", &folder))?;
        Ok(Self { folder, pack: None, full: Vec::new(), compressor, buffer: Vec::new() })
    }

    /// Stores what is in memory.
    pub fn put(&mut self, content: &[u8], fresh: &Fresh, known: &Connection) -> Result<Put> {
        let digest = Digest::of(content);
        let size = content.len() as u64;
        if is_known(known, digest, &self.folder)? || !fresh.claim(digest) {
            return Ok(Put { digest, size, place: None });
        }
        let mut entry = std::mem::take(&mut self.buffer);
        entry.clear();
        entry.resize(usize::try_from(HEADER).unwrap_or(56), 0);
        let mut form = AS_IT_IS;
        let begin = entry.len();
        if content.len() >= TINY {
            entry.resize(begin + zstd::zstd_safe::compress_bound(content.len()), 0);
            match self.compressor.compress_to_buffer(content, &mut entry[begin..]) {
                Ok(length) if length < content.len() => {
                    entry.truncate(begin + length);
                    form = ZSTANDARD;
                }
                _ => entry.truncate(begin),
            }
        }
        if form == AS_IT_IS {
            entry.extend_from_slice(content);
        }
        let length = (entry.len() - begin) as u64;
        entry[..begin].copy_from_slice(&header(form, digest, size, length));
        let written = self.append(&entry);
        self.buffer = entry;
        let (pack, start) = written?;
        Ok(Put { digest, size, place: Some(Place { digest, pack, start, length, size }) })
    }

    /// Stores a stream in flat memory. The inner error is that of reading it, and then nothing was stored.
    pub fn put_stream(
        &mut self,
        from: &mut impl Read,
        scrubber: &Scrubber,
        fresh: &Fresh,
        known: &Connection,
    ) -> Result<io::Result<Put>> {
        let folder = self.folder.clone();
        let pack = self.pack()?;
        pack.flush()?;
        let (name, start, path) = (Arc::clone(&pack.name), pack.end, pack.path.clone());
        let mut hasher = Hasher::new();
        let mut size = 0_u64;
        let mut at = Appending { file: &pack.file, at: start + HEADER };
        let mut encoder = zstd::stream::Encoder::new(&mut at, LEVEL).map_err(failed("writing", &path))?;
        let mut unwritten = None;
        let streamed = scrubber.stream(from, |part| {
            hasher.update(part);
            size += part.len() as u64;
            encoder.write_all(part).inspect_err(|error| unwritten = Some(error.kind()))
        });
        if let Err(error) = streamed {
            drop(encoder);
            pack.file.set_len(start).map_err(failed("writing", &path))?;
            return if unwritten.is_some() { Err(failed("writing", &path)(error)) } else { Ok(Err(error)) };
        }
        encoder.finish().map_err(failed("writing", &path))?;
        let length = at.at - start - HEADER;
        let digest = hasher.finish();
        if is_known(known, digest, &folder)? || !fresh.claim(digest) {
            pack.file.set_len(start).map_err(failed("writing", &path))?;
            return Ok(Ok(Put { digest, size, place: None }));
        }
        pack.file
            .write_all_at(&header(ZSTANDARD, digest, size, length), start)
            .map_err(failed("writing", &path))?;
        pack.end = start + HEADER + length;
        Ok(Ok(Put { digest, size, place: Some(Place { digest, pack: name, start, length, size }) }))
    }

    /// Copies an entry of another pack as it is: `read` fills a buffer with its bytes from a place in it on.
    pub fn copy(
        &mut self,
        length: u64,
        mut read: impl FnMut(&mut [u8], u64) -> Result<()>,
    ) -> Result<(Arc<str>, u64)> {
        let pack = self.pack()?;
        let start = pack.end;
        let mut buffer = vec![0; usize::try_from(length.min(PENDING as u64)).unwrap_or(PENDING)];
        let mut at = 0;
        while at < length {
            let part = usize::try_from(length - at).unwrap_or(usize::MAX).min(buffer.len());
            read(&mut buffer[..part], at)?;
            pack.append(&buffer[..part])?;
            at += part as u64;
        }
        Ok((Arc::clone(&pack.name), start))
    }

    /// Brings what was written to the disk, and gives the packs away; the next content begins a new one.
    pub fn seal(&mut self) -> Result<Vec<(Arc<str>, u64)>> {
        self.full.extend(self.pack.take());
        let mut sealed = Vec::new();
        for mut pack in self.full.drain(..) {
            pack.flush()?;
            pack.file.sync_all().map_err(failed("writing", &pack.path))?;
            let finished = self.folder.join(&*pack.name);
            std::fs::rename(&pack.path, &finished).map_err(failed("naming", &finished))?;
            sealed.push((pack.name, pack.end));
        }
        if !sealed.is_empty() {
            // So that the names of the packs are on the disk, too.
            File::open(&self.folder)
                .and_then(|folder| folder.sync_all())
                .map_err(failed("writing", &self.folder))?;
        }
        Ok(sealed)
    }

    fn append(&mut self, entry: &[u8]) -> Result<(Arc<str>, u64)> {
        let pack = self.pack()?;
        let start = pack.end;
        pack.append(entry)?;
        Ok((Arc::clone(&pack.name), start))
    }

    /// The pack to write to.
    fn pack(&mut self) -> Result<&mut Pack> {
        if self.pack.as_ref().is_some_and(|pack| pack.end >= FULL) {
            self.full.extend(self.pack.take());
        }
        match &mut self.pack {
            Some(pack) => Ok(pack),
            none => Ok(none.insert(Pack::new(&self.folder)?)),
        }
    }
}

impl Pack {
    fn new(folder: &Path) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
            let next = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{:x}-{:x}-{next:x}.{}", now.as_nanos(), std::process::id(), layout::PACK);
            let path = folder.join(&name).with_extension(layout::UNFINISHED);
            match File::options().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { name: name.into(), path, file, end: 0, pending: Vec::new() }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed("creating", &path)(error)),
            }
        }
    }

    fn append(&mut self, entry: &[u8]) -> Result<()> {
        self.pending.extend_from_slice(entry);
        self.end += entry.len() as u64;
        if self.pending.len() >= PENDING { self.flush() } else { Ok(()) }
    }

    /// Writes what is pending.
    fn flush(&mut self) -> Result<()> {
        let start = self.end - self.pending.len() as u64;
        self.file.write_all_at(&self.pending, start).map_err(failed("writing", &self.path))?;
        self.pending.clear();
        Ok(())
    }
}

/// Writes on from a place in a file.
struct Appending<'a> {
    file: &'a File,
    at: u64,
}

impl Write for Appending<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write_at(bytes, self.at)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether the database knows a content.
fn is_known(connection: &Connection, digest: Digest, folder: &Path) -> Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM blobs WHERE digest = ?1")
        .and_then(|mut statement| statement.exists([digest.bytes()]))
        .map_err(|error| database_failed(folder.with_file_name(layout::DATABASE), &error))
}
