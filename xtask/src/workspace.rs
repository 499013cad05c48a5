//! Which workspace the command works in.

use anyhow::Context;
use camino::{Utf8Path, Utf8PathBuf};
use taskwright_build::Workspace;

/// The workspace that this command was compiled in, so that it works from any folder below it.
pub fn this() -> anyhow::Result<Workspace> {
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace has no root")?;
    Ok(Workspace::new(root))
}

/// A folder given on the command line, from where the command was called.
pub fn from_here(path: &Utf8Path) -> anyhow::Result<Utf8PathBuf> {
    let here = std::env::current_dir().context("finding the current folder")?;
    let here = Utf8PathBuf::from_path_buf(here).map_err(|path| {
        anyhow::anyhow!("the current folder `{}` has a name that is not UTF-8", path.display())
    })?;
    Ok(here.join(path))
}
