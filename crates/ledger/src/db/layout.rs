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

/// What the name of a finished pack ends with, and that of one that is still written: a database speaks of finished ones only.
pub(crate) const PACK: &str = "pack";
pub(crate) const UNFINISHED: &str = "part";

/// The packs of a ledger, by name, with their sizes; none if there is no folder for them.
pub(crate) fn packs(ledger: &Path) -> Result<Vec<(String, u64)>> {
    files(ledger, PACK)
}

/// The packs that were not finished: of an import that runs, or was killed.
pub(crate) fn unfinished(ledger: &Path) -> Result<Vec<(String, u64)>> {
    files(ledger, UNFINISHED)
}

/// Removes what imports that were killed have left, and returns how many bytes that was. Whoever calls this has the ledger's
/// lock.
pub(crate) fn sweep(ledger: &Path) -> Result<u64> {
    let mut bytes = 0;
    for (name, size) in unfinished(ledger)? {
        let path = evidence(ledger).join(name);
        fs::remove_file(&path).map_err(failed("removing", &path))?;
        bytes += size;
    }
    Ok(bytes)
}

fn files(ledger: &Path, wanted: &str) -> Result<Vec<(String, u64)>> {
    let folder = evidence(ledger);
    let mut found = Vec::new();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(failed("reading", &folder)(error)),
    };
    for entry in entries {
        let entry = entry.map_err(failed("reading", &folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|extension| extension == wanted) {
            found.push((name, entry.metadata().map_err(failed("reading", &folder))?.len()));
        }
    }
    found.sort_unstable();
    Ok(found)
}
