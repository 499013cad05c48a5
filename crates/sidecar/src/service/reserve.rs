//! What finalizing will write is set aside as a file of that size, which sealing removes: a number that is only compared
//! with what is free would have to foresee everything that an optimizer can make us write, and a file need not.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use taskwright_language::serve::ServeConfig;

/// What is set aside besides results: for the verdict, the bundle's index and all that is small.
const SPARE: u64 = 64 << 20;
/// Less than this, and what was set aside is needed to open the state at all.
const LEAST: u64 = 1 << 20;
/// What a sample's result takes besides what the candidate and the scorer say.
const RESULT: u64 = 1 << 10;

const RESERVE: &str = "reserve";

/// Without an answer the disk itself will say when it is full.
pub(super) fn free(folder: &Path) -> u64 {
    rustix::fs::statvfs(folder).map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// What was set aside on the disk.
#[derive(Debug)]
pub(super) struct Reserve {
    path: PathBuf,
    pub size: u64,
    /// What could not be set aside as a file and has to stay free.
    pub owed: u64,
}

impl Reserve {
    /// Sets aside what finalizing will write at most, as far as there is room. A disk that is full is given room first.
    pub fn make(config: &ServeConfig, state: &Path) -> Self {
        let path = state.join(RESERVE);
        let aside = set_aside(config);
        let has = path.metadata().map_or(0, |file| file.blocks().saturating_mul(512));
        if has >= aside {
            if free(state) >= LEAST {
                return Self { path, size: aside, owed: 0 };
            }
            let _ = fs::remove_file(&path);
            return Self { path, size: aside, owed: aside };
        }
        let _ = fs::remove_file(&path);
        let wanted = aside.min(free(state) / 2);
        let owed = match fill(&path, wanted) {
            Ok(()) => aside - wanted,
            Err(error) => {
                eprintln!("taskwright: setting {} MiB of the disk aside: {error}", wanted >> 20);
                let _ = fs::remove_file(&path);
                aside
            }
        };
        Self { path, size: aside, owed }
    }

    /// Gives back what was set aside.
    pub fn release(&self) {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                eprintln!("taskwright: removing `{}`: {error}", self.path.display());
            }
            _ => {}
        }
    }
}

/// A file that takes so many bytes of the disk.
fn fill(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    if bytes == 0 {
        return Ok(());
    }
    match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        // Not every file system can; what is written is there as well.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let piece = vec![b'r'; 1 << 20];
            for at in (0..bytes).step_by(piece.len()) {
                let length = usize::try_from(bytes - at).unwrap_or(usize::MAX).min(piece.len());
                file.write_all(&piece[..length])?;
            }
            file.sync_data()
        }
        done => Ok(done?),
    }
}

/// What so many samples' results take at most.
pub(super) fn results(config: &ServeConfig, samples: u64) -> u64 {
    let each = config.feedback.max_bytes.saturating_mul(2).saturating_add(RESULT);
    samples.saturating_mul(each)
}

/// What finalizing writes at most: each sample's result, in the record and again in the evidence.
fn set_aside(config: &ServeConfig) -> u64 {
    let selection = &config.selection;
    let size = config.splits.get(&selection.split).map_or(0, |split| split.samples.len() as u64);
    let times = selection.rescore_top_k.saturating_add(u64::from(selection.baseline_floor));
    let rescored = size.saturating_mul(times).saturating_mul(selection.rescore_attempts.max(1));
    let scored = config.targets.iter().map(|target| {
        let times = 1 + u64::from(selection.score_baseline);
        (target.samples.len() as u64).saturating_mul(target.attempts.max(1)).saturating_mul(times)
    });
    let samples = scored.fold(rescored, u64::saturating_add);
    results(config, samples).saturating_mul(2).saturating_add(SPARE)
}
