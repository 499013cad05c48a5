//! Landlock: the kernel keeps a process, and all it starts, to the files that were named.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::kernel::{self, RulesetAttributes};

/// What a path may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Read files, list folders, execute programs.
    Read,
    /// Read and write a file that is a device.
    Device,
    /// Everything but making device nodes.
    Write,
}

/// Where a process may go.
pub(crate) type Paths = Vec<(PathBuf, Use)>;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_BLOCK: u64 = 1 << 11;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
/// The rights that mean something for a file that is no folder.
const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
const NET_TCP: u64 = 0b11;
/// No abstract socket of, and no signal to, a process outside.
const SCOPES: u64 = 0b11;

/// Makes the rules; [`kernel::restrict`] applies them. None if this kernel has no Landlock.
pub(crate) fn ruleset(paths: &Paths, network: bool) -> io::Result<Option<OwnedFd>> {
    let Some(version) = kernel::landlock_version() else { return Ok(None) };
    let files = match version {
        1 => REFER - 1,
        2 => TRUNCATE - 1,
        3 | 4 => IOCTL_DEV - 1,
        _ => (IOCTL_DEV << 1) - 1,
    };
    let attributes = RulesetAttributes {
        files,
        net: if version >= 4 && !network { NET_TCP } else { 0 },
        scoped: if version >= 6 { SCOPES } else { 0 },
    };
    let size: usize = match version {
        1..=3 => 8,
        4 | 5 => 16,
        _ => 24,
    };
    let rules = kernel::landlock_ruleset(&attributes, size)?;
    for (path, usage) in paths {
        add(&rules, path, *usage, files)?;
    }
    Ok(Some(rules))
}

fn add(rules: &OwnedFd, path: &Path, usage: Use, handled: u64) -> io::Result<()> {
    // A system folder that this image lacks needs no rule.
    let Ok(opened) = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else {
        return Ok(());
    };
    let folder = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode).is_dir();
    let wanted = match usage {
        Use::Read => EXECUTE | READ_FILE | READ_DIR,
        Use::Device => READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV,
        Use::Write => !(MAKE_CHAR | MAKE_BLOCK),
    };
    let allowed = wanted & handled & if folder { u64::MAX } else { OF_FILES };
    kernel::landlock_allow(rules, allowed, &opened)
}
