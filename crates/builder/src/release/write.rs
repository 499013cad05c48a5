//! The folder of a release: written beside its place, and moved there when it is whole.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};
use taskwright_harbor::digest::content_digest;
use taskwright_harbor::manifest::FILE;

use super::Release;
use crate::error::{advised, failed};
use crate::workspace::Workspace;
use taskwright_base::copy::copy;
use taskwright_base::write::{Durable, atomic};
use taskwright_base::{Error, Result};

/// Writes a release.
pub(super) fn write(release: &Release, workspace: &Workspace, out: &Utf8Path) -> Result<()> {
    let text = release.manifest.to_toml()?;
    refuse_others(workspace, out)?;
    let part = Utf8PathBuf::from(format!("{out}.part"));
    remove(&part)?;
    fs::create_dir_all(&part).map_err(failed("making", &part))?;
    let names = release.rows.iter().filter_map(|row| Some((&row.name, row.new.as_ref()?)));
    for (name, issue) in names {
        copy(issue.folder.as_std_path(), part.join(name).as_std_path())?;
        let digest =
            content_digest(part.join(name).as_std_path()).map_err(|error| Error::new(error.to_string()))?;
        if digest.to_string() != issue.digest {
            return Err(Error::new(format!("`{name}` was changed while it was copied")).hint("try again"));
        }
    }
    let specs = workspace.root.join(&workspace.specs);
    for file in &release.manifest.files {
        let from = specs.join(&file.path);
        fs::copy(&from, part.join(&file.path)).map_err(failed("copying", &from))?;
    }
    atomic(part.join(FILE), Durable::Yes, text.as_bytes()).map_err(advised)?;
    let old = Utf8PathBuf::from(format!("{out}.old"));
    remove(&old)?;
    if out.exists() {
        fs::rename(out, &old).map_err(failed("moving", out))?;
    }
    fs::rename(&part, out).map_err(failed("moving", &part))?;
    remove(&old)?;
    let record = specs.join(FILE);
    if fs::read(&record).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    atomic(&record, Durable::Yes, text.as_bytes()).map_err(advised)
}

/// Refuses a folder that holds what no release left, and one where something else is kept.
fn refuse_others(workspace: &Workspace, out: &Utf8Path) -> Result<()> {
    let is_taken = [&workspace.out, &workspace.root, &workspace.root.join(&workspace.specs)]
        .into_iter()
        .any(|folder| crate::workspace::resolved(folder).starts_with(crate::workspace::resolved(out)));
    let is_empty = || fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
    if is_taken || (fs::symlink_metadata(out).is_ok() && !out.join(FILE).is_file() && !is_empty()) {
        return Err(Error::new(format!("`{out}` holds something else than a release"))
            .hint("name another folder with `--out DIR`: what is in it is replaced as a whole")
            .usage());
    }
    Ok(())
}

fn remove(folder: &Utf8Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed("removing", folder)(error)),
        _ => Ok(()),
    }
}
