//! Files that are whole or as they were: written beside their place first, then moved there by a rename.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::{Result, failed};

/// How much is gathered before it is written.
const BUFFER: usize = 256 * 1024;

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
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder).map_err(failed("making", folder))?;
    let mut file = tempfile::Builder::new()
        .prefix(".taskwright-")
        .suffix(".part")
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
    file.persist(path).map_err(|error| failed("renaming to", path)(error.error))?;
    match durable {
        Durable::Yes => {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("writing", path))
        }
        Durable::No => Ok(()),
    }
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
}
