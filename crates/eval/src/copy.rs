//! Copies of files of ours that candidates may read.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use taskwright_base::{Error, Result, failed};

use crate::sandbox::make_folder;

/// Copies a file or a folder of ours so that everyone may read it who comes near. Links are copied as links.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent()
        && !parent.is_dir()
    {
        std::fs::create_dir_all(parent).map_err(failed("making", parent))?;
    }
    let metadata = from.symlink_metadata().map_err(failed("reading", from))?;
    if metadata.is_symlink() {
        let target = std::fs::read_link(from).map_err(failed("reading", from))?;
        return std::os::unix::fs::symlink(target, to).map_err(failed("making", to));
    }
    if metadata.is_dir() {
        make_folder(to, 0o755)?;
        for entry in std::fs::read_dir(from).map_err(failed("reading", from))? {
            let entry = entry.map_err(failed("reading", from))?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if !metadata.is_file() {
        return Err(Error::new(format!("`{}` is neither a file nor a folder nor a link", from.display())));
    }
    std::fs::copy(from, to).map_err(failed("copying", from))?;
    let mode = if metadata.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 };
    std::fs::set_permissions(to, PermissionsExt::from_mode(mode)).map_err(failed("changing", to))
}
