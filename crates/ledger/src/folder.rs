//! Opens and lists the folders of others: no link is followed, and nothing but a regular file is opened.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, SeekFrom, Stat};

/// A folder that was opened, so that what is read in it lies in it, whatever happens to its name meanwhile.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub name: CString,
    pub kind: EntryKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Folder,
    File,
    /// A link, a device, a pipe, a socket.
    Other,
}

impl Folder {
    /// Opens a folder that somebody named: a link to it will do.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    /// Opens a folder in this one, which must not be a link.
    pub fn folder(&self, name: &CStr) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    /// What is in it, by name.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let mut buffer = [const { MaybeUninit::uninit() }; 8192];
        // What was listed before is listed again.
        rustix::fs::seek(&self.0, SeekFrom::Start(0))?;
        let mut listing = RawDir::new(&self.0, &mut buffer);
        while let Some(entry) = listing.next() {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let mut kind = entry.file_type();
            // Some file systems do not say.
            if kind == FileType::Unknown {
                kind =
                    self.stat(name).map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode));
            }
            let kind = match kind {
                FileType::Directory => EntryKind::Folder,
                FileType::RegularFile => EntryKind::File,
                _ => EntryKind::Other,
            };
            entries.push(Entry { name: name.to_owned(), kind });
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Opens a regular file in it.
    pub fn file(&self, name: &CStr) -> io::Result<(File, Stat)> {
        // Without NONBLOCK a pipe that took the file's place would be waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.0, name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((file.into(), stat)),
            FileType::Directory => {
                Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder, not a file"))
            }
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "is a pipe, a socket or a device, not a file",
            )),
        }
    }

    /// What the file system says of something in it, not following a link.
    pub fn stat(&self, name: &CStr) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

impl Entry {
    /// Its name.
    pub fn name(&self) -> &OsStr {
        OsStr::from_bytes(self.name.to_bytes())
    }
}

/// Reads a file to its end, but no more than `most` bytes. With its size known no byte is moved twice and the end is
/// seen without asking again.
pub(crate) fn read(file: &File, size: u64, most: u64, into: &mut Vec<u8>) -> io::Result<()> {
    let limit = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let (size, most) = (limit(size.min(most)), limit(most));
    into.reserve_exact(size + 1);
    while into.len() < most {
        into.reserve(1);
        let asked = into.capacity() - into.len();
        let read = rustix::io::read(file, spare_capacity(into))?;
        if read == 0 || read < asked && into.len() >= size {
            break;
        }
    }
    into.truncate(most);
    Ok(())
}

/// Opens a file by a path in a folder, no part of which may be a link.
pub(crate) fn open_below(root: &Path, path: &Path) -> io::Result<File> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "is not a path in the folder");
    let mut folder = Folder::open(root)?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let std::path::Component::Normal(name) = part else { return Err(invalid()) };
        let name = CString::new(name.as_bytes()).map_err(|_| invalid())?;
        if parts.peek().is_none() {
            return Ok(folder.file(&name)?.0);
        }
        folder = folder.folder(&name)?;
    }
    Err(invalid())
}
