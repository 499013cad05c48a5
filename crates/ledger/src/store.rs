//! The store of evidence: files called packs, each a sequence of compressed contents.
//!
//! ```text
//! LEDGER/evidence/NAME.pack     entry, entry, ...
//! entry:  "TwE1"  form (4 bytes)  SHA-256 (32)  size (8)  length (8)  `length` bytes: as they are (0) or Zstandard (1)
//! ```
//!
//! Numbers are little endian. A content is stored once, however many trials left it. Where it lies stands in the
//! database, and could be found again from the packs alone. Packs are only appended to, by the one process whose turn it
//! is, and the database speaks of an entry only after its pack is on the disk: whenever the process is killed, what the
//! database says is true, and what it does not mention is swept by `gc`.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension};
use sha2::{Digest, Sha256};
use zstd::bulk::Compressor;

use crate::database::Ledger;
use crate::error::{LedgerError, Result};
use crate::redact::Scrubber;

/// The digest of a content.
pub(crate) type Sha = [u8; 32];

const MAGIC: &[u8; 4] = b"TwE1";
/// The bytes of an entry before its content.
pub(crate) const HEADER: u64 = 56;
const AS_IT_IS: u32 = 0;
const ZSTANDARD: u32 = 1;
/// The fastest level: evidence is written once, and much of it.
const LEVEL: i32 = 1;
/// Contents below this size are not worth compressing.
const TINY: usize = 64;
/// How many bytes of entries are written at a time.
const PENDING: usize = 1 << 20;
/// The size at which a pack is full.
const FULL: u64 = 256 << 20;

/// Where a content was put.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub digest: Sha,
    pub pack: Arc<str>,
    pub start: u64,
    pub length: u64,
    pub size: u64,
}

/// What a file came to.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub digest: Sha,
    pub size: u64,
    /// Where it was put, if it was not there already.
    pub place: Option<Place>,
}

/// The digests that this process has put into packs and the database may not know yet: those of this batch, and those of
/// the one before, which may still be on its way.
#[derive(Debug, Default)]
pub(crate) struct Fresh(Mutex<[HashSet<Sha>; 2]>);

impl Fresh {
    /// Claims a digest; false if it was claimed before.
    fn claim(&self, digest: Sha) -> bool {
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
    pub name: Arc<str>,
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
        let folder = ledger.join("evidence");
        let compressor = Compressor::new(LEVEL)
            .map_err(|error| LedgerError::io("preparing to compress for", &folder, &error))?;
        Ok(Self { folder, pack: None, full: Vec::new(), compressor, buffer: Vec::new() })
    }

    /// Stores what is in memory.
    pub fn put(&mut self, content: &[u8], fresh: &Fresh, known: &Connection) -> Result<Taken> {
        let digest: Sha = Sha256::digest(content).into();
        let size = content.len() as u64;
        if is_known(known, &digest, &self.folder)? || !fresh.claim(digest) {
            return Ok(Taken { digest, size, place: None });
        }
        let mut entry = std::mem::take(&mut self.buffer);
        entry.clear();
        entry.resize(usize::try_from(HEADER).unwrap_or(56), 0);
        let mut form = AS_IT_IS;
        let header = entry.len();
        if content.len() >= TINY {
            entry.resize(header + zstd::zstd_safe::compress_bound(content.len()), 0);
            match self.compressor.compress_to_buffer(content, &mut entry[header..]) {
                Ok(length) if length < content.len() => {
                    entry.truncate(header + length);
                    form = ZSTANDARD;
                }
                _ => entry.truncate(header),
            }
        }
        if form == AS_IT_IS {
            entry.extend_from_slice(content);
        }
        let length = (entry.len() - header) as u64;
        entry[..header].copy_from_slice(&header_of(form, &digest, size, length));
        let written = self.append(&entry);
        self.buffer = entry;
        let (pack, start) = written?;
        Ok(Taken { digest, size, place: Some(Place { digest, pack, start, length, size }) })
    }

    /// Stores a stream in flat memory. The inner error is that of reading it, and then nothing was stored.
    pub fn put_stream(
        &mut self,
        from: &mut impl Read,
        scrubber: &Scrubber,
        fresh: &Fresh,
        known: &Connection,
    ) -> Result<io::Result<Taken>> {
        let folder = self.folder.clone();
        let pack = self.pack()?;
        pack.flush()?;
        let (name, start, path) = (Arc::clone(&pack.name), pack.end, pack.path.clone());
        let failed = |error: io::Error| LedgerError::io("writing", &path, &error);
        let mut hasher = Sha256::new();
        let mut size = 0_u64;
        let mut at = Appending { file: &pack.file, at: start + HEADER };
        let mut encoder = zstd::stream::Encoder::new(&mut at, LEVEL).map_err(failed)?;
        let mut unwritten = None;
        let streamed = scrubber.stream(from, |part| {
            hasher.update(part);
            size += part.len() as u64;
            encoder.write_all(part).inspect_err(|error| unwritten = Some(error.kind()))
        });
        if let Err(error) = streamed {
            drop(encoder);
            pack.file.set_len(start).map_err(failed)?;
            return if unwritten.is_some() { Err(failed(error)) } else { Ok(Err(error)) };
        }
        encoder.finish().map_err(failed)?;
        let length = at.at - start - HEADER;
        let digest: Sha = hasher.finalize().into();
        if is_known(known, &digest, &folder)? || !fresh.claim(digest) {
            pack.file.set_len(start).map_err(failed)?;
            return Ok(Ok(Taken { digest, size, place: None }));
        }
        pack.file.write_all_at(&header_of(ZSTANDARD, &digest, size, length), start).map_err(failed)?;
        pack.end = start + HEADER + length;
        Ok(Ok(Taken { digest, size, place: Some(Place { digest, pack: name, start, length, size }) }))
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
            pack.file.sync_all().map_err(|error| LedgerError::io("writing", &pack.path, &error))?;
            sealed.push((pack.name, pack.end));
        }
        if !sealed.is_empty() {
            // So that the names of the packs are on the disk, too.
            File::open(&self.folder)
                .and_then(|folder| folder.sync_all())
                .map_err(|error| LedgerError::io("writing", &self.folder, &error))?;
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
            let name = format!("{:x}-{:x}-{next:x}.pack", now.as_nanos(), std::process::id());
            let path = folder.join(&name);
            match File::options().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { name: name.into(), path, file, end: 0, pending: Vec::new() }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(LedgerError::io("creating", &path, &error)),
            }
        }
    }
}

impl Pack {
    fn append(&mut self, entry: &[u8]) -> Result<()> {
        self.pending.extend_from_slice(entry);
        self.end += entry.len() as u64;
        if self.pending.len() >= PENDING { self.flush() } else { Ok(()) }
    }

    /// Writes what is pending.
    fn flush(&mut self) -> Result<()> {
        let start = self.end - self.pending.len() as u64;
        self.file
            .write_all_at(&self.pending, start)
            .map_err(|error| LedgerError::io("writing", &self.path, &error))?;
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

fn header_of(form: u32, digest: &Sha, size: u64, length: u64) -> [u8; 56] {
    let mut header = [0; 56];
    header[..4].copy_from_slice(MAGIC);
    header[4..8].copy_from_slice(&form.to_le_bytes());
    header[8..40].copy_from_slice(digest);
    header[40..48].copy_from_slice(&size.to_le_bytes());
    header[48..56].copy_from_slice(&length.to_le_bytes());
    header
}

/// Whether the database knows a content.
fn is_known(connection: &Connection, digest: &Sha, folder: &Path) -> Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM blobs WHERE digest = ?1")
        .and_then(|mut statement| statement.exists([digest]))
        .map_err(|error| LedgerError::database(folder.with_file_name(crate::database::DATABASE), &error))
}

impl Ledger {
    /// Reads a content of the store. What it gives is checked as it is read: an error at the end says that it is damaged.
    pub fn content(&self, digest: &str) -> Result<impl Read + use<>> {
        let unknown = || LedgerError::new(format!("the store holds no content `{}`", digest.escape_debug()));
        let sha = crate::write::unhex(digest).ok_or_else(unknown)?;
        let place = self
            .connection
            .prepare_cached(
                "SELECT name, start, length, blobs.size FROM blobs JOIN packs USING (pack) WHERE digest = ?1",
            )
            .and_then(|mut statement| {
                let place = |row: &rusqlite::Row<'_>| {
                    let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
                    Ok(Place {
                        digest: sha,
                        pack: row.get::<_, String>(0)?.into(),
                        start: number(1)?,
                        length: number(2)?,
                        size: number(3)?,
                    })
                };
                statement.query_row([sha], place).optional()
            })
            .map_err(|error| self.failed(&error))?
            .ok_or_else(unknown)?;
        let path = self.directory().join("evidence").join(&*place.pack);
        let file = File::open(&path).map_err(|error| LedgerError::io("reading", &path, &error))?;
        open(file, &place).map_err(|error| LedgerError::io("reading", &path, &error))
    }
}

/// Opens the content of an entry.
pub(crate) fn open(file: File, place: &Place) -> io::Result<impl Read + use<>> {
    let mut header = [0; 56];
    file.read_exact_at(&mut header, place.start)?;
    let form = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
    let expected = header_of(form, &place.digest, place.size, place.length);
    if header != expected || form > ZSTANDARD {
        return Err(damaged());
    }
    let bytes = Section { file, at: place.start + HEADER, end: place.start + HEADER + place.length };
    let content: Box<dyn Read + Send> = if form == ZSTANDARD {
        Box::new(zstd::stream::Decoder::new(bytes)?.single_frame())
    } else {
        Box::new(bytes)
    };
    Ok(Checked { content, hasher: Some(Sha256::new()), digest: place.digest })
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is damaged: it is not what was stored")
}

/// A part of a file.
struct Section {
    file: File,
    at: u64,
    end: u64,
}

impl Read for Section {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.end - self.at).unwrap_or(usize::MAX).min(into.len());
        let read = self.file.read_at(&mut into[..most], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// A content whose digest is compared at its end.
struct Checked {
    content: Box<dyn Read + Send>,
    hasher: Option<Sha256>,
    digest: Sha,
}

impl Read for Checked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(into)?;
        if read > 0 {
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&into[..read]);
            }
        } else if !into.is_empty()
            && let Some(hasher) = self.hasher.take()
            && Sha::from(hasher.finalize()) != self.digest
        {
            return Err(damaged());
        }
        Ok(read)
    }
}

/// The packs in a store's folder, by name, with their sizes; none if there is no such folder.
pub(crate) fn packs(ledger: &Path) -> Result<Vec<(String, u64)>> {
    let folder = ledger.join("evidence");
    let failed = |error: io::Error| LedgerError::io("reading", &folder, &error);
    let mut packs = Vec::new();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(packs),
        Err(error) => return Err(failed(error)),
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|extension| extension == "pack") {
            packs.push((name, entry.metadata().map_err(failed)?.len()));
        }
    }
    packs.sort_unstable();
    Ok(packs)
}
