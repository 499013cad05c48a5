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

/// Makes the rules; [`kernel::restrict`] applies them. None if this kernel has no Landlock. Whatever a command may reach of the
/// network, it neither binds nor connects a socket itself.
pub(crate) fn ruleset(paths: &Paths) -> io::Result<Option<OwnedFd>> {
    let Some(version) = kernel::landlock_version() else { return Ok(None) };
    let files = match version {
        1 => REFER - 1,
        2 => TRUNCATE - 1,
        3 | 4 => IOCTL_DEV - 1,
        _ => (IOCTL_DEV << 1) - 1,
    };
    let attributes = RulesetAttributes {
        files,
        net: if version >= 4 { NET_TCP } else { 0 },
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

/// Adds what may be read of a path: all of it, or if it holds what is hidden everything beside that. Rules can only allow, so
/// of a folder with something hidden in it everything else is allowed by its own name.
pub(crate) fn read_around(path: &Path, hidden: &[PathBuf], paths: &mut Paths) {
    let real = if hidden.is_empty() { None } else { path.canonicalize().ok() };
    let Some(real) = real.filter(|real| hidden.iter().any(|hidden| hidden.starts_with(real))) else {
        paths.push((path.to_owned(), Use::Read));
        return;
    };
    if hidden.contains(&real) {
        return;
    }
    for entry in std::fs::read_dir(&real).into_iter().flatten().flatten() {
        // A link leads to what has a rule of its own, or has none.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            read_around(&entry.path(), hidden, paths);
        }
    }
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

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn what_is_hidden_is_left_out_of_what_may_be_read() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap();
        for folder in ["opt/bench/dataset", "opt/other/deep", "usr"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("opt/tool"), "").unwrap();
        std::os::unix::fs::symlink("bench", root.join("opt/link")).unwrap();
        std::os::unix::fs::symlink("opt", root.join("alias")).unwrap();
        let around = |path: &str, hidden: &[&str]| {
            let hidden: Vec<PathBuf> = hidden.iter().map(|path| root.join(path)).collect();
            let mut paths = Paths::new();
            read_around(&root.join(path), &hidden, &mut paths);
            let below =
                |(path, _): (PathBuf, Use)| path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
            let mut names: Vec<String> = paths.into_iter().map(below).collect();
            names.sort();
            names
        };
        assert_eq!(around("opt", &[]), ["opt"]);
        assert_eq!(around("opt", &["usr/x"]), ["opt"]);
        assert_eq!(around("opt", &["opt/bench"]), ["opt/other", "opt/tool"]);
        assert_eq!(around("alias", &["opt/bench"]), ["opt/other", "opt/tool"]);
        assert_eq!(around("opt", &["opt/bench/dataset"]), ["opt/other", "opt/tool"]);
        assert_eq!(around("opt", &["opt"]), Vec::<String>::new());
        // What was named itself may be read, wherever it lies.
        assert_eq!(around("opt/bench/dataset", &["opt/bench"]), ["opt/bench/dataset"]);
    }
}
