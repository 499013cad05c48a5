//! An entry of a pack: how it is written, and how it is read and checked.
//!
//! ```text
//! LEDGER/evidence/NAME.pack     entry, entry, ...
//! entry:  "TwE1"  form (4 bytes)  SHA-256 (32)  size (8)  length (8)  `length` bytes: as they are (0) or Zstandard (1)
//! ```
//!
//! Numbers are little endian; `size` is that of the content, `length` that of what lies in the pack.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use taskwright_base::Digest;
use taskwright_base::digest::Hasher;

const MAGIC: &[u8; 4] = b"TwE1";
/// The bytes of an entry before its content.
pub(super) const HEADER: u64 = 56;
pub(super) const AS_IT_IS: u32 = 0;
pub(super) const ZSTANDARD: u32 = 1;

/// Where a content was put.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub digest: Digest,
    pub pack: Arc<str>,
    pub start: u64,
    pub length: u64,
    pub size: u64,
}

impl Place {
    /// From a row of digest, name of the pack, start, length and size.
    pub(super) fn from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
        Ok(Self {
            digest: Digest::from_bytes(row.get(0)?),
            pack: row.get::<_, String>(1)?.into(),
            start: number(2)?,
            length: number(3)?,
            size: number(4)?,
        })
    }
}

/// The bytes before a content.
pub(super) fn header(form: u32, digest: Digest, size: u64, length: u64) -> [u8; 56] {
    let mut header = [0; 56];
    header[..4].copy_from_slice(MAGIC);
    header[4..8].copy_from_slice(&form.to_le_bytes());
    header[8..40].copy_from_slice(&digest.bytes());
    header[40..48].copy_from_slice(&size.to_le_bytes());
    header[48..56].copy_from_slice(&length.to_le_bytes());
    header
}

/// Opens the content of an entry. It is checked while it is read: an error at the end says that it is damaged.
pub(super) fn open(file: File, place: &Place) -> io::Result<impl Read + use<>> {
    let mut found = [0; 56];
    file.read_exact_at(&mut found, place.start).map_err(ended)?;
    let form = u32::from_le_bytes([found[4], found[5], found[6], found[7]]);
    if found != header(form, place.digest, place.size, place.length) || form > ZSTANDARD {
        return Err(damaged());
    }
    let bytes = Section { file, at: place.start + HEADER, end: place.start + HEADER + place.length };
    let content: Box<dyn Read + Send> = if form == ZSTANDARD {
        Box::new(zstd::stream::Decoder::new(bytes)?.single_frame())
    } else {
        Box::new(bytes)
    };
    Ok(Checked { content, hasher: Some(Hasher::new()), digest: place.digest })
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "it is damaged: it is not what was stored")
}

/// An error of reading; a pack that ends too early is damaged, whatever who reads it calls that.
fn ended(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::UnexpectedEof { damaged() } else { error }
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
    hasher: Option<Hasher>,
    digest: Digest,
}

impl Read for Checked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.content.read(into).map_err(ended)?;
        if read > 0 {
            if let Some(hasher) = &mut self.hasher {
                hasher.update(&into[..read]);
            }
        } else if !into.is_empty()
            && let Some(hasher) = self.hasher.take()
            && hasher.finish() != self.digest
        {
            return Err(damaged());
        }
        Ok(read)
    }
}
