//! Reading the evidence of a trial, wherever it is kept.

use std::fs::File;
use std::io::Read;

use rusqlite::OptionalExtension;
use taskwright_base::folder::open_below;
use taskwright_base::{Digest, Error, Result};

use super::entry::{self, Place};
use super::paths::unescape;
use crate::db::{Ledger, layout};
use crate::error::failed;
use crate::record::{Evidence, Kept, Trial};

impl Ledger {
    /// Reads a content of the store. What it gives is checked as it is read: an error at the end says that it is damaged.
    pub fn content(&self, digest: &str) -> Result<impl Read + use<>> {
        let unknown = || Error::new(format!("the store holds no content `{}`", digest.escape_debug()));
        let digest: Digest = digest.parse().map_err(|()| unknown())?;
        let place = self
            .connection
            .prepare_cached(
                "SELECT digest, name, start, length, blobs.size FROM blobs JOIN packs USING (pack) WHERE digest = ?1",
            )
            .and_then(|mut statement| statement.query_row([digest.bytes()], Place::from_row).optional())
            .map_err(|error| self.failed(&error))?
            .ok_or_else(unknown)?;
        let path = layout::evidence(self.directory()).join(&*place.pack);
        let file = File::open(&path).map_err(failed("reading", &path))?;
        entry::open(file, &place).map_err(failed("reading", &path))
    }

    /// Opens a file of a trial's evidence by its path as the record has it.
    ///
    /// What is kept in the store is checked while it is read. What stayed where it was may have changed since; compare
    /// [`Evidence::digest`].
    pub fn evidence(&self, trial: &Trial, path: &str) -> Result<Box<dyn Read>> {
        let Some(file) = trial.evidence.iter().find(|file| file.path == path) else {
            return Err(Error::new(format!(
                "the trial `{}` left no file `{}`",
                trial.id.escape_debug(),
                path.escape_debug()
            ))
            .hint("`cargo xtask show TRIAL` lists its files"));
        };
        self.open_evidence(&trial.id, file)
    }

    pub(crate) fn open_evidence(&self, trial: &str, file: &Evidence) -> Result<Box<dyn Read>> {
        match (file.kept, &file.digest) {
            (Kept::Stored, Some(digest)) => Ok(Box::new(self.content(digest)?)),
            (Kept::Referenced, _) => {
                let place =
                    self.origin(trial)?.and_then(|folder| unescape(&folder)).zip(unescape(&file.path));
                let Some((folder, path)) = place else {
                    return Err(Error::new(format!(
                        "it is not known where `{}` is",
                        file.path.escape_debug()
                    )));
                };
                match open_below(&folder, &path) {
                    Ok(file) => Ok(Box::new(file)),
                    Err(error) => Err(failed("reading", &folder.join(path))(error).hint(
                        "the trial was imported with `--reference`, so its files must stay where they were",
                    )),
                }
            }
            _ => Err(Error::new(format!(
                "`{}` was not kept: it is a link, a device or the like, or could not be read",
                file.path.escape_debug()
            ))),
        }
    }
}
