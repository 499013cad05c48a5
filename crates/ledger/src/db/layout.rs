//! Where the files of a ledger are: the database, and the packs of evidence beside it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use taskwright_base::Result;

use crate::error::failed;

/// The name of the database in a ledger's folder.
pub(crate) const DATABASE: &str = "ledger.sqlite";

/// The folder of the packs.
pub(crate) fn evidence(ledger: &Path) -> PathBuf {
    ledger.join("evidence")
}

/// The packs of a ledger, by name, with their sizes; none if there is no folder for them.
pub(crate) fn packs(ledger: &Path) -> Result<Vec<(String, u64)>> {
    let folder = evidence(ledger);
    let mut packs = Vec::new();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(packs),
        Err(error) => return Err(failed("reading", &folder)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(failed("reading", &folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|extension| extension == "pack") {
            packs.push((name, entry.metadata().map_err(failed("reading", &folder))?.len()));
        }
    }
    packs.sort_unstable();
    Ok(packs)
}
