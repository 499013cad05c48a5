//! Copies of files of ours, with the same rights whatever the umask is.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, symlink};
use std::path::Path;

use crate::error::{Error, Result, failed};

/// Makes a folder with exactly these rights, whatever the umask is.
///
/// # Errors
/// It cannot be made, or is something else.
pub fn make_folder(path: &Path, mode: u32) -> Result<()> {
    match DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made.map_err(failed("making", path))?,
    }
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(failed("changing", path))
}

/// Copies a file or a folder of ours so that everyone may read it who comes near. Links are copied as links.
///
/// # Errors
/// Something cannot be read or written, or is neither a file nor a folder nor a link.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    copy_without(from, to, &|_| false)
}

/// The same without some of the paths in it, each with all below it.
///
/// # Errors
/// The same.
pub fn copy_without(from: &Path, to: &Path, is_left_out: &dyn Fn(&Path) -> bool) -> Result<()> {
    if let Some(parent) = to.parent()
        && !parent.is_dir()
    {
        fs::create_dir_all(parent).map_err(failed("making", parent))?;
    }
    let metadata = from.symlink_metadata().map_err(failed("reading", from))?;
    if metadata.is_symlink() {
        let target = fs::read_link(from).map_err(failed("reading", from))?;
        return symlink(target, to).map_err(failed("making", to));
    }
    if metadata.is_dir() {
        make_folder(to, 0o755)?;
        for entry in fs::read_dir(from).map_err(failed("reading", from))? {
            let entry = entry.map_err(failed("reading", from))?;
            if !is_left_out(&entry.path()) {
                copy_without(&entry.path(), &to.join(entry.file_name()), is_left_out)?;
            }
        }
        return Ok(());
    }
    if !metadata.is_file() {
        return Err(Error::new(format!("`{}` is neither a file nor a folder nor a link", from.display())));
    }
    fs::copy(from, to).map_err(failed("copying", from))?;
    let mode = if metadata.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 };
    fs::set_permissions(to, Permissions::from_mode(mode)).map_err(failed("changing", to))
}
