//! Landlock: the kernel keeps a process, and all it starts, to the files that were named.

use std::ffi::c_long;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// What a place may be used for.
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
pub(crate) type Places = Vec<(PathBuf, Use)>;

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
/// The one type of rule that is used here.
const PATH_BENEATH: c_long = 1;
const NET_TCP: u64 = 0b11;
/// No abstract socket of, and no signal to, a process outside.
const SCOPES: u64 = 0b11;

/// `struct landlock_ruleset_attr`; a kernel reads as much of it as it is told to.
#[repr(C)]
struct RulesetAttributes {
    files: u64,
    net: u64,
    scoped: u64,
}

/// `struct landlock_path_beneath_attr`, which is packed.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// The version of Landlock that this kernel has; none if it has none or does not let us.
pub(crate) fn version() -> Option<u32> {
    const VERSION: c_long = 1;
    // SAFETY: with this flag the call takes no structure, so the null pointer is not followed.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, 0_usize, 0_usize, VERSION) };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

/// Makes the rules; [`restrict`] applies them. None if this kernel has no Landlock.
pub(crate) fn ruleset(places: &Places, network: bool) -> io::Result<Option<OwnedFd>> {
    let Some(version) = version() else { return Ok(None) };
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
    // SAFETY: the pointer is to a live structure of at least `size` bytes, which the kernel only reads.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    let rules = unsafe {
        let fd = libc::syscall(libc::SYS_landlock_create_ruleset, &raw const attributes, size, 0);
        // The kernel made this descriptor for us, and nobody else has it.
        OwnedFd::from_raw_fd(descriptor(fd)?)
    };
    for (path, usage) in places {
        add(&rules, path, *usage, files)?;
    }
    Ok(Some(rules))
}

fn add(rules: &OwnedFd, path: &Path, usage: Use, handled: u64) -> io::Result<()> {
    // A system folder that this image lacks needs no rule.
    let Ok(place) = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) else {
        return Ok(());
    };
    let folder = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&place)?.st_mode).is_dir();
    let wanted = match usage {
        Use::Read => EXECUTE | READ_FILE | READ_DIR,
        Use::Device => READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV,
        Use::Write => !(MAKE_CHAR | MAKE_BLOCK),
    };
    let allowed = wanted & handled & if folder { u64::MAX } else { OF_FILES };
    let rule = PathBeneath { allowed, parent: place.as_raw_fd() };
    // SAFETY: the pointer is to a live structure of the layout that the kernel expects of this rule type and only reads.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    let added = unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, rules.as_raw_fd(), PATH_BENEATH, &raw const rule, 0)
    };
    descriptor(added).map(drop)
}

/// Keeps the calling thread to the rules, for good. It must have given up gaining privileges before. Nothing here
/// allocates or locks: it is called between fork and exec.
pub(crate) fn restrict(rules: RawFd) -> io::Result<()> {
    // SAFETY: takes a descriptor and a flag word, no memory.
    #[expect(unsafe_code, reason = "no safe wrapper of this system call among our dependencies")]
    let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules, 0) };
    descriptor(done).map(drop)
}

fn descriptor(returned: c_long) -> io::Result<RawFd> {
    RawFd::try_from(returned).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)
}
