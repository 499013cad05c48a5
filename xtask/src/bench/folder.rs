//! A fresh folder that is removed when it goes out of use, however that comes.

use std::fs;
use std::io::ErrorKind;
use std::ops::Deref;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use camino::{Utf8Path, Utf8PathBuf};

use crate::output::say;

/// A fresh folder.
#[derive(Debug)]
pub struct Folder(Utf8PathBuf);

impl Folder {
    /// Makes one.
    pub fn new_in(parent: &Utf8Path) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("taskwright-bench-")
            .tempdir_in(parent)
            .with_context(|| format!("creating a folder in {parent}"))?;
        let path = Utf8PathBuf::try_from(folder.path().to_owned())?;
        let _ = folder.keep();
        Ok(Self(path))
    }
}

impl Deref for Folder {
    type Target = Utf8Path;

    fn deref(&self) -> &Utf8Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A process that has just been killed may still be writing its last file.
        for _ in 0..20 {
            match fs::remove_dir_all(&self.0) {
                Err(error) if error.kind() != ErrorKind::NotFound => {}
                _ => return,
            }
            thread::sleep(Duration::from_millis(100));
        }
        say(&format!("{} could not be removed", self.0));
    }
}
