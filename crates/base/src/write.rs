//! Files that are whole or as they were: written beside their place first, then moved there by a rename.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::{Error, Result, failed};

/// What the name of a file begins and ends with that is being written.
const PREFIX: &str = ".taskwright-";
const SUFFIX: &str = ".part";
/// How much is gathered before it is written.
const BUFFER: usize = 256 * 1024;

/// What a disk gives out at a time, mostly.
const BLOCK: u64 = 4 << 10;

/// What a file of so many bytes takes of a disk: whole blocks, however little is in the last one.
pub fn on_disk(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK).saturating_mul(BLOCK)
}

/// Whether a file must be there after the machine has lost its power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    /// It must: the bytes and the name are on the disk before this returns.
    Yes,
    /// It can be made again, and whoever reads it takes a damaged one for none: waiting for the disk would be in vain.
    No,
}

/// Writes a file of mode 644, or leaves what was there. Folders above it are made.
///
/// # Errors
/// What the operating system said, at the path.
pub fn atomic(path: impl AsRef<Path>, durable: Durable, bytes: &[u8]) -> Result<()> {
    atomic_with(path, durable, |out| out.write_all(bytes))
}

/// The same for a file that is written piece by piece.
///
/// # Errors
/// What the operating system or `content` said, at the path.
pub fn atomic_with(
    path: impl AsRef<Path>,
    durable: Durable,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let path = path.as_ref();
    settle(part(path, durable, content)?, path, durable)
}

/// Puts other content into a file that is there, or leaves it as it was: with its mode and, as far as we may, its owner.
///
/// # Errors
/// There is no such file, or what is there is a link or a folder; what the operating system said, at the path.
pub fn anew(path: impl AsRef<Path>, durable: Durable, bytes: &[u8]) -> Result<()> {
    let path = path.as_ref();
    let there = fs::symlink_metadata(path).map_err(failed("reading", path))?;
    if !there.is_file() {
        return Err(Error::new(format!("`{}` is no file, and is left as it is", path.display())));
    }
    let part = part(path, durable, |out| out.write_all(bytes))?;
    let file = part.as_file();
    // Who is not root can give nothing away.
    let _ = fchown(file, Some(there.uid()), Some(there.gid()));
    file.set_permissions(there.permissions()).map_err(failed("protecting", path))?;
    settle(part, path, durable)
}

/// Moves what was written beside a place into it.
fn settle(part: NamedTempFile, path: &Path, durable: Durable) -> Result<()> {
    part.persist(path).map_err(|error| failed("renaming to", path)(error.error))?;
    match durable {
        Durable::Yes => {
            let folder = folder_of(path);
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("writing", path))
        }
        Durable::No => Ok(()),
    }
}

/// The same, unless the file is there already: of several who write it, the first one does. Says whether this was it. It
/// need not outlast a loss of power.
///
/// # Errors
/// What the operating system or `content` said, at the path.
pub fn first_with(
    path: impl AsRef<Path>,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<bool> {
    let path = path.as_ref();
    if path.exists() {
        return Ok(false);
    }
    match part(path, Durable::No, content)?.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed("renaming to", path)(error.error)),
    }
}

/// Removes what writers that were killed have left in a folder. Nobody may be writing there.
///
/// # Errors
/// The folder cannot be read, or something in it not be removed.
pub fn sweep(folder: impl AsRef<Path>) -> Result<()> {
    let folder = folder.as_ref();
    for entry in fs::read_dir(folder).map_err(failed("listing", folder))? {
        let path = entry.map_err(failed("listing", folder))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) {
            fs::remove_file(&path).map_err(failed("removing", &path))?;
        }
    }
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// The content in a file beside its place.
fn part(
    path: &Path,
    durable: Durable,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<NamedTempFile> {
    let folder = folder_of(path);
    fs::create_dir_all(folder).map_err(failed("making", folder))?;
    let mut file = tempfile::Builder::new()
        .prefix(PREFIX)
        .suffix(SUFFIX)
        .tempfile_in(folder)
        .map_err(failed("writing", path))?;
    let mut out = BufWriter::with_capacity(BUFFER, file.as_file_mut());
    content(&mut out).and_then(|()| out.flush()).map_err(failed("writing", path))?;
    drop(out);
    // Whatever the umask is: who may enter the folder may read it.
    file.as_file().set_permissions(Permissions::from_mode(0o644)).map_err(failed("protecting", path))?;
    if durable == Durable::Yes {
        file.as_file().sync_all().map_err(failed("writing", path))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/file");
        for durable in [Durable::Yes, Durable::No] {
            atomic(&path, durable, b"one").unwrap();
            let failed = atomic_with(&path, durable, |out| {
                out.write_all(b"tw")?;
                Err(io::Error::from_raw_os_error(28))
            });
            assert!(failed.unwrap_err().to_string().ends_with("new/file`: no space left on device"));
            assert_eq!(fs::read(&path).unwrap(), b"one");
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
            assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_file_that_is_there_keeps_its_mode_and_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.sh");
        assert!(anew(&path, Durable::No, b"one").is_err());
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o4750)).unwrap();
        let _ = std::os::unix::fs::chown(&path, Some(54_321), Some(54_322));
        let owner = || fs::metadata(&path).map(|now| (now.uid(), now.gid(), now.mode() & 0o7777)).unwrap();
        let before = owner();
        anew(&path, Durable::Yes, b"new").unwrap();
        assert_eq!((fs::read(&path).unwrap().as_slice(), owner()), (&b"new"[..], before));
        // What a link leads to is somebody else's.
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("run.sh", &link).unwrap();
        assert!(anew(&link, Durable::No, b"other").unwrap_err().to_string().contains("is no file"));
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn of_several_who_write_a_file_the_first_one_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert!(first_with(&path, |out| out.write_all(b"one")).unwrap());
        assert!(!first_with(&path, |_| unreachable!()).unwrap());
        fs::remove_file(&path).unwrap();
        // Somebody else is faster.
        let late = first_with(&path, |out| {
            fs::write(&path, "two")?;
            out.write_all(b"three")
        });
        assert!(!late.unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"two");
    }

    #[test]
    fn what_a_killed_writer_left_is_swept_away_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".taskwright-x1.part", "a.part", ".taskwright-lock", "file"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        sweep(folder.path()).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".taskwright-lock", "a.part", "file"]);
    }
}
