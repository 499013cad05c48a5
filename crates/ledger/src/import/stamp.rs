//! What the file system says of a file, by which one that has not changed is known without reading it.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;

/// How old a file must be before its stamp is trusted: within the resolution of a file system's clock, two versions of a
/// file can have the same times.
const SETTLED_NANOS: i128 = if cfg!(test) { 50_000_000 } else { 2_000_000_000 };

/// The size, times and number of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp([u8; 48]);

impl Stamp {
    /// The stamp of a file, if it was not changed just now; asked for before the file is read.
    pub fn of(stat: &Stat) -> Option<Self> {
        let time = |seconds: i64, nanos: i128| i128::from(seconds) * 1_000_000_000 + nanos;
        let modified = time(stat.st_mtime, i128::from(stat.st_mtime_nsec));
        let changed = time(stat.st_ctime, i128::from(stat.st_ctime_nsec));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos();
        let now = i128::try_from(now).ok()?;
        if now - modified.max(changed) < SETTLED_NANOS {
            return None;
        }
        let mut bytes = [0; 48];
        bytes[..8].copy_from_slice(&stat.st_size.to_le_bytes());
        bytes[8..24].copy_from_slice(&modified.to_le_bytes());
        bytes[24..40].copy_from_slice(&changed.to_le_bytes());
        bytes[40..].copy_from_slice(&stat.st_ino.to_le_bytes());
        Some(Self(bytes))
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}
