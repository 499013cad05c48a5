//! Reading the evidence of a trial, wherever it is kept.

use std::io::Read;

use crate::database::Ledger;
use crate::error::{LedgerError, Result};
use crate::folder::open_below;
use crate::paths::unescape;
use crate::record::{Evidence, Kept, Trial};

impl Ledger {
    /// Opens a file of a trial's evidence by its path as the record has it.
    ///
    /// What is kept in the store is checked while it is read. What stayed where it was may have changed since; compare
    /// [`Evidence::digest`].
    pub fn evidence(&self, trial: &Trial, path: &str) -> Result<Box<dyn Read>> {
        let Some(file) = trial.evidence.iter().find(|file| file.path == path) else {
            return Err(LedgerError::new(format!(
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
                    return Err(LedgerError::new(format!(
                        "it is not known where `{}` is",
                        file.path.escape_debug()
                    )));
                };
                match open_below(&folder, &path) {
                    Ok(file) => Ok(Box::new(file)),
                    Err(error) => Err(LedgerError::io("reading", folder.join(path), &error).hint(
                        "the trial was imported with `--reference`, so its files must stay where they were",
                    )),
                }
            }
            _ => Err(LedgerError::new(format!(
                "`{}` was not kept: it is a link, a device or the like, or could not be read",
                file.path.escape_debug()
            ))),
        }
    }
}
