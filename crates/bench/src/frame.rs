//! What every measurement needs: where to work, when to begin, when to stop, how to print.

use std::fs;
use std::io::ErrorKind;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use camino::{Utf8Path, Utf8PathBuf};
use taskwright::exit::{self, Status};
use taskwright::output::say;
use taskwright::{interrupt, workspace};

use crate::rows::Section;
use crate::{quiet, table};

/// Where a fresh folder costs what memory costs, and not what the disk has lived through.
const MEMORY: &str = "/dev/shm";

/// Options of every measurement.
#[derive(clap::Args)]
pub struct Common {
    /// How many seconds to wait for a quiet machine before each series.
    #[arg(long, default_value_t = 60)]
    wait: u64,
    /// Print a list of {name, value, unit, limit, ratio}.
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print tables for docs/performance.md.
    #[arg(long)]
    markdown: bool,
}

/// When to begin a series, and when to stop.
#[derive(Clone)]
pub struct Clock {
    patience: Duration,
    /// Set when the command is asked to stop.
    pub stop: Arc<AtomicBool>,
}

impl Common {
    /// Measures and prints what was found. When it is asked to stop, what was made is removed and nothing is printed.
    pub fn run(
        &self,
        measure: impl FnOnce(&Clock) -> anyhow::Result<Vec<Section>>,
    ) -> anyhow::Result<Status> {
        let clock = Clock { patience: Duration::from_secs(self.wait), stop: interrupt::flag()? };
        let sections = measure(&clock);
        if clock.stop.load(Ordering::Relaxed) {
            say("interrupted: what was made is removed");
            return Ok(exit::INTERRUPTED);
        }
        table::print(&sections?, self.json, self.markdown)?;
        Ok(exit::SUCCESS)
    }
}

impl Clock {
    /// Measures when the machine is quiet. Returns how busy it was with other things, before or after.
    pub fn series<T>(
        &self,
        what: &str,
        measure: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<(T, f64)> {
        let before = quiet::wait(self.patience, &self.stop)?;
        say(&format!("measuring {what}"));
        let found = measure()?;
        Ok((found, before.max(quiet::busy()?)))
    }
}

/// Where the folder of what is generated is made.
#[derive(clap::Args)]
pub struct Place {
    /// Where the folder of what is generated is made; in memory, where there is such a place, if not given.
    #[arg(long)]
    dir: Option<Utf8PathBuf>,
}

impl Place {
    /// A fresh folder there.
    pub fn folder(&self) -> anyhow::Result<Folder> {
        Folder::new_in(&match &self.dir {
            Some(folder) => workspace::from_here(folder)?,
            None if Utf8Path::new(MEMORY).is_dir() => MEMORY.into(),
            None => Utf8PathBuf::try_from(std::env::temp_dir())?,
        })
    }
}

/// A fresh folder that is removed when it goes out of use, however that comes.
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

/// The largest resident memory of this process, in bytes, since it began or since [`forget_peak`].
pub fn peak() -> anyhow::Result<f64> {
    let status = fs::read_to_string("/proc/self/status").context("reading /proc/self/status")?;
    memory(&status, "VmHWM:")
}

/// A field of a process's status, in bytes.
pub fn memory(status: &str, field: &str) -> anyhow::Result<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib: Option<u32> = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    Ok(f64::from(kib.with_context(|| format!("a process's status does not say {field}"))?) * 1024.0)
}

/// Lets [`peak`] begin anew.
pub fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}
