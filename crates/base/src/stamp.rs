//! What the file system says of a file without reading it, and when that can be trusted to mean "unchanged".

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// File systems and kernels stamp times in ticks: a file rewritten within one tick of being looked at can look unchanged.
const FINE_TICK: Duration = Duration::from_millis(20);
/// The tick where times are whole seconds.
const COARSE_TICK: Duration = Duration::from_secs(2);

/// Size, times, inode and mode of a file, directory or symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    size: u64,
    modified: Timestamp,
    changed: Timestamp,
    /// Zero, which no file has, marks an entry that is never trusted.
    inode: u64,
    mode: u32,
}

impl From<&rustix::fs::Stat> for Stamp {
    fn from(stat: &rustix::fs::Stat) -> Self {
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: (stat.st_mtime, u32::try_from(stat.st_mtime_nsec).unwrap_or(0)),
            changed: (stat.st_ctime, u32::try_from(stat.st_ctime_nsec).unwrap_or(0)),
            inode: stat.st_ino,
            mode: stat.st_mode,
        }
    }
}

/// Seconds and nanoseconds since 1970.
type Timestamp = (i64, u32);

impl Stamp {
    /// The stamp in some metadata, which must be that of the entry itself and not of what it links to.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.size(),
            modified: (metadata.mtime(), nanoseconds(metadata.mtime_nsec())),
            changed: (metadata.ctime(), nanoseconds(metadata.ctime_nsec())),
            inode: metadata.ino(),
            mode: metadata.mode(),
        }
    }

    /// This stamp as it may be remembered: one that is too young, seen from `now`, is marked so that it never matches.
    #[must_use]
    pub fn settled(mut self, now: SystemTime) -> Self {
        let youngest = self.modified.max(self.changed);
        let tick = if youngest.1 == 0 { COARSE_TICK } else { FINE_TICK };
        let age_limit = now.checked_sub(tick).unwrap_or(UNIX_EPOCH);
        let limit = age_limit.duration_since(UNIX_EPOCH).unwrap_or_default();
        if youngest >= (i64::try_from(limit.as_secs()).unwrap_or(i64::MAX), limit.subsec_nanos()) {
            self.inode = 0;
        }
        self
    }

    /// Whether a remembered stamp says that the entry is the same as it was.
    pub fn is_still(&self, current: &Self) -> bool {
        self.inode != 0 && self == current
    }

    /// The same for a file that has other hard links: linking it once more moves its change time.
    pub fn is_still_linked(&self, current: &Self) -> bool {
        self.inode != 0 && Self { changed: current.changed, ..*self } == *current
    }

    /// Whether it was marked as too young to be remembered.
    pub fn is_young(&self) -> bool {
        self.inode == 0
    }

    /// The stamp as bytes, to be kept and compared.
    pub fn to_bytes(&self) -> [u8; 44] {
        let mut bytes = [0; 44];
        bytes[..8].copy_from_slice(&self.size.to_le_bytes());
        for (at, (seconds, nanoseconds)) in [(8, self.modified), (20, self.changed)] {
            bytes[at..at + 8].copy_from_slice(&seconds.to_le_bytes());
            bytes[at + 8..at + 12].copy_from_slice(&nanoseconds.to_le_bytes());
        }
        bytes[32..40].copy_from_slice(&self.inode.to_le_bytes());
        bytes[40..].copy_from_slice(&self.mode.to_le_bytes());
        bytes
    }

    /// The kind and permission bits.
    pub fn mode(&self) -> u32 {
        self.mode
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }
}

fn nanoseconds(value: i64) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    fn stamp(path: &std::path::Path) -> Stamp {
        Stamp::of(&fs::symlink_metadata(path).unwrap())
    }

    #[test]
    fn an_old_entry_is_trusted_and_a_young_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "one").unwrap();
        let current = stamp(&path);
        let later = SystemTime::now() + Duration::from_secs(60);
        assert!(current.settled(later).is_still(&current));
        // Seen from the moment it was made, however long ago that is by now.
        let made = fs::metadata(&path).unwrap().modified().unwrap();
        assert!(!current.settled(made).is_still(&current));
    }

    #[test]
    fn restored_times_do_not_hide_a_rewrite() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "one").unwrap();
        let before = stamp(&path);
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        std::thread::sleep(FINE_TICK);
        fs::write(&path, "two").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        let later = SystemTime::now() + Duration::from_secs(60);
        assert!(!before.settled(later).is_still(&stamp(&path)));
    }

    #[test]
    fn another_hard_link_does_not_count_as_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "one").unwrap();
        let before = stamp(&path).settled(SystemTime::now() + Duration::from_secs(60));
        std::thread::sleep(FINE_TICK);
        fs::hard_link(&path, folder.path().join("link")).unwrap();
        assert!(before.is_still_linked(&stamp(&path)));
        assert!(!before.is_still(&stamp(&path)));
    }

    #[test]
    fn whole_seconds_need_a_longer_wait() {
        let now = UNIX_EPOCH + Duration::from_secs(1000);
        let entry = |seconds, nanoseconds| Stamp {
            size: 1,
            modified: (seconds, nanoseconds),
            changed: (seconds, nanoseconds),
            inode: 5,
            mode: 0o100_644,
        };
        assert_eq!(entry(999, 0).settled(now).inode, 0);
        assert_eq!(entry(997, 0).settled(now).inode, 5);
        assert_eq!(entry(999, 500).settled(now).inode, 5);
    }
}
