//! Files that a command is told to write: each is new or as it was, and what is no regular file is not replaced by one.
//!
//! Not by `taskwright_base::write`, whose files are of ours: a user's new file has the permissions that their umask leaves.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use taskwright_base::Error;

use anyhow::Context;
use camino::Utf8Path;

/// Writes beside the file, in a folder that is made if need be, and puts it into its place once it is whole. What is no
/// regular file, as a named pipe, is written to; a link stays one.
///
/// # Errors
/// What `content` failed with, a folder in the file's place, and whatever keeps the file from being written.
pub fn write<T>(
    file: &Utf8Path,
    content: impl FnOnce(&mut (dyn Write + Send)) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let doing = || format!("writing `{file}`");
    let place = match fs::metadata(file) {
        Ok(metadata) if metadata.is_file() => file.canonicalize_utf8().with_context(doing)?,
        Ok(metadata) if metadata.is_dir() => {
            return Err(Error::new(format!("`{file}` is a folder")).hint("name a file in it").into());
        }
        Ok(_) => {
            let mut out = BufWriter::new(File::options().write(true).open(file).with_context(doing)?);
            let said = content(&mut out)?;
            out.flush().with_context(doing)?;
            return Ok(said);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => file.to_owned(),
        Err(error) => return Err(error).with_context(doing),
    };
    let folder = place.parent().context("the file is in no folder")?;
    fs::create_dir_all(folder).with_context(|| format!("creating `{folder}`"))?;
    // As any new file: what the umask leaves.
    let mut beside = tempfile::Builder::new()
        .prefix(".taskwright-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .with_context(doing)?;
    let mut out = BufWriter::new(beside.as_file_mut());
    let said = content(&mut out)?;
    out.flush().with_context(doing)?;
    drop(out);
    beside.persist(&place).with_context(doing)?;
    Ok(said)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        let (file, link) = (path.join("trials.csv"), path.join("link"));
        symlink("trials.csv", &link).unwrap();
        let export = |out: &mut (dyn Write + Send)| {
            out.write_all(b"whole")?;
            Ok(1)
        };
        let half = |out: &mut (dyn Write + Send)| -> anyhow::Result<()> {
            out.write_all(b"half")?;
            anyhow::bail!("no more")
        };
        assert_eq!(write(&file, export).unwrap(), 1);
        assert!(write(&link, half).is_err());
        assert_eq!(fs::read(&file).unwrap(), b"whole");
        write(&link, export).unwrap();
        assert!(link.is_symlink() && fs::read_dir(path).unwrap().count() == 2);
        assert!(write(path, export).unwrap_err().to_string().ends_with("is a folder"));
        write(&path.join("new/trials.csv"), export).unwrap();
        let error = write(&path.join("link/trials.csv"), export).unwrap_err();
        assert!(format!("{error:#}").contains("/link"), "{error:#}");
    }

    /// A device that was replaced by a file would harm everybody; a socket stands for it here.
    #[test]
    fn what_is_no_regular_file_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap().join("socket");
        let _socket = UnixListener::bind(&path).unwrap();
        let error = write(&path, |_| Ok(0)).unwrap_err();
        assert!(error.to_string().contains("/socket`"), "{error}");
        assert!(fs::metadata(&path).unwrap().file_type().is_socket());
    }
}
