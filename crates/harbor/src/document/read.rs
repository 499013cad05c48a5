//! Opens folders and files without following a link, and reads no more than a bound.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::Problem;

/// A folder that was opened, so that what is read in it lies in it, whatever happens to its name meanwhile.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder that somebody named: a link to it will do.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
    }

    /// Opens a folder in this one, which must not be a link.
    pub fn folder(&self, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    /// What is in it.
    pub fn entries(&self) -> io::Result<rustix::fs::Dir> {
        Ok(rustix::fs::Dir::read_from(&self.0)?)
    }

    /// The size of a regular file; none if there is no such.
    pub fn size(&self, name: &str) -> Option<u64> {
        let stat = rustix::fs::statat(&self.0, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        regular.then(|| u64::try_from(stat.st_size).unwrap_or(0))
    }

    /// Reads a file into a buffer, whose earlier content is lost.
    pub fn read(&self, name: &str, limit: u64, into: &mut Vec<u8>) -> Result<(), Problem> {
        into.clear();
        let (file, size) = self.open_file(name)?;
        if size > limit {
            return Err(Problem::TooLarge { limit });
        }
        into.reserve(usize::try_from(size).unwrap_or(0) + 1);
        file.take(limit + 1).read_to_end(into).map_err(Problem::Io)?;
        if into.len() as u64 > limit {
            return Err(Problem::TooLarge { limit });
        }
        Ok(())
    }

    /// Opens a regular file, and says how many bytes it has now.
    pub fn open_file(&self, name: &str) -> Result<(File, u64), Problem> {
        // Without NONBLOCK a pipe in the file's place would be waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Err(Problem::Missing),
            Err(rustix::io::Errno::LOOP) => return Err(Problem::NotHarbors("a link")),
            Err(rustix::io::Errno::NXIO) => return Err(Problem::NotHarbors("a socket")),
            Err(error) => return Err(Problem::Io(error.into())),
        };
        let stat = rustix::fs::fstat(&file).map_err(|error| Problem::Io(error.into()))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((file.into(), u64::try_from(stat.st_size).unwrap_or(0))),
            FileType::Directory => Err(Problem::NotHarbors("a folder")),
            _ => Err(Problem::NotHarbors("a pipe or a device")),
        }
    }
}
