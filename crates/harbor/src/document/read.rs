//! Reads Harbor's files below a folder that was opened, no more than a bound, and says what stands in their place.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use rustix::fs::FileType;
use taskwright_base::folder::{self, Folder};

use super::{DocumentError, Problem};

/// Reads a file into a buffer, whose earlier content is lost.
pub(crate) fn read(folder: &Folder, name: &str, limit: u64, into: &mut Vec<u8>) -> Result<(), Problem> {
    into.clear();
    let (file, size) = open(folder, name)?;
    if size <= limit {
        folder::read(&file, size, limit + 1, into).map_err(Problem::Io)?;
    }
    if size > limit || into.len() as u64 > limit {
        return Err(Problem::TooLarge { limit });
    }
    Ok(())
}

/// Opens a regular file, and says how many bytes it has now.
pub(crate) fn open(folder: &Folder, name: &str) -> Result<(File, u64), Problem> {
    match folder.file(name) {
        Ok((file, stat)) => Ok((file, u64::try_from(stat.st_size).unwrap_or(0))),
        Err(error) => Err(match folder.stat(name).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::Symlink) => Problem::NotHarbors("a link"),
            Ok(FileType::Directory) => Problem::NotHarbors("a folder"),
            Ok(FileType::Socket) => Problem::NotHarbors("a socket"),
            Ok(FileType::Fifo | FileType::CharacterDevice | FileType::BlockDevice) => {
                Problem::NotHarbors("a pipe or a device")
            }
            _ => Problem::of(error),
        }),
    }
}

/// The size of a regular file; none if there is no such.
pub(crate) fn size(folder: &Folder, name: &str) -> Option<u64> {
    let stat = folder.stat(name).ok()?;
    let regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    regular.then(|| u64::try_from(stat.st_size).unwrap_or(0))
}

/// Why a folder could not be opened.
pub(crate) fn refused(path: PathBuf, error: io::Error) -> DocumentError {
    let problem = match error.kind() {
        // What the kernel says of a link depends on what else was asked of it.
        kind if kind != io::ErrorKind::NotFound && path.is_symlink() => Problem::NotHarbors("a link"),
        io::ErrorKind::NotADirectory => Problem::NotHarbors("no folder"),
        _ => Problem::of(error),
    };
    DocumentError { path, problem }
}

impl Problem {
    fn of(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::Io(error),
        }
    }
}
