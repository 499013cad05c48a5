//! Opens and lists the folders of others: no link is followed, and nothing but a regular file is opened.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, SeekFrom, Stat};
use rustix::path::Arg;

/// A folder that was opened, so that what is read in it lies in it, whatever happens to its name meanwhile.
#[derive(Debug)]
pub struct Folder(OwnedFd);

/// Something in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name, as the file system has it.
    pub name: CString,
    /// What it is, itself and not what it links to.
    pub kind: EntryKind,
}

/// What stands in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A link, a device, a pipe, a socket.
    Other,
}

impl Folder {
    /// Opens a folder that somebody named: a link to it will do.
    pub fn open(path: impl Arg) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    /// Opens a folder by its path, whose last part must not be a link.
    pub fn open_itself(path: impl Arg) -> io::Result<Self> {
        Self::below(CWD, path)
    }

    /// Opens a folder in this one, which must not be a link.
    pub fn folder(&self, name: impl Arg) -> io::Result<Self> {
        Self::below(self.0.as_fd(), name)
    }

    fn below(at: BorrowedFd<'_>, name: impl Arg) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(at, name, flags, Mode::empty())?))
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
    ///
    /// # Errors
    /// `IsADirectory` for a folder, `InvalidInput` for a link, a pipe, a socket or a device, each with words that say so, and
    /// what the operating system said.
    pub fn file(&self, name: impl Arg) -> io::Result<(File, Stat)> {
        // Without NONBLOCK a pipe that took the file's place would be waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let special =
            || io::Error::new(io::ErrorKind::InvalidInput, "is a pipe, a socket or a device, not a file");
        let file = match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            Err(rustix::io::Errno::NXIO) => return Err(special()),
            Err(rustix::io::Errno::LOOP) => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "is a link, not a file"));
            }
            opened => opened?,
        };
        let stat = rustix::fs::fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((file.into(), stat)),
            FileType::Directory => {
                Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder, not a file"))
            }
            _ => Err(special()),
        }
    }

    /// What the file system says of something in it, not following a link.
    pub fn stat(&self, name: impl Arg) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// The open folder.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Entry {
    /// Its name.
    pub fn name(&self) -> &OsStr {
        OsStr::from_bytes(self.name.to_bytes())
    }
}

/// Opens a file by a path in a folder, no part of which may be a link.
pub fn open_below(root: &Path, path: &Path) -> io::Result<File> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "is not a path in the folder");
    let mut folder = Folder::open(root)?;
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let Component::Normal(name) = part else { return Err(invalid()) };
        if parts.peek().is_none() {
            return Ok(folder.file(name)?.0);
        }
        folder = folder.folder(name)?;
    }
    Err(invalid())
}

/// Reads a file to its end, but no more than `most` bytes. With its size known no byte is moved twice and the end is
/// seen without asking again.
pub fn read(file: &File, size: u64, most: u64, into: &mut Vec<u8>) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn no_link_is_followed_and_nothing_special_is_opened() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path();
        fs::create_dir_all(path.join("in/deep")).unwrap();
        fs::write(path.join("in/deep/file"), "words").unwrap();
        symlink("in", path.join("to")).unwrap();
        symlink("file", path.join("in/deep/link")).unwrap();
        let _socket = UnixListener::bind(path.join("in/socket")).unwrap();
        rustix::fs::mkfifoat(CWD, path.join("in/pipe"), Mode::RUSR).unwrap();

        let mut words = Vec::new();
        read(&open_below(path, Path::new("in/deep/file")).unwrap(), 5, 3, &mut words).unwrap();
        assert_eq!(words, b"wor");
        for (below, kind) in [
            ("to/deep/file", io::ErrorKind::NotADirectory),
            ("in/deep/link", io::ErrorKind::InvalidInput),
            ("in/deep", io::ErrorKind::IsADirectory),
            ("in/socket", io::ErrorKind::InvalidInput),
            ("in/pipe", io::ErrorKind::InvalidInput),
            ("../in", io::ErrorKind::InvalidInput),
            ("", io::ErrorKind::InvalidInput),
            ("in/nothing", io::ErrorKind::NotFound),
        ] {
            assert_eq!(open_below(path, Path::new(below)).unwrap_err().kind(), kind, "{below}");
        }
        let folder = Folder::open(path.join("to")).unwrap();
        let kinds: Vec<_> = folder.entries().unwrap().into_iter().map(|entry| entry.kind).collect();
        assert_eq!(kinds, [EntryKind::Folder, EntryKind::Other, EntryKind::Other]);
        assert!(Folder::open_itself(path.join("to")).is_err());
    }
}
