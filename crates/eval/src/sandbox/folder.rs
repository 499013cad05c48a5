//! Folders that a candidate writes to: how full they are, and how to be rid of them whatever was made of them.
//!
//! Nothing here trusts a name: folders are opened by descriptor, links are never followed, depth is bounded or undone.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RawMode};
use rustix::io::Errno;

/// No folder may be deeper than this: the watch holds one descriptor for each level.
const DEEPEST: usize = 64;

/// What a folder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Usage {
    /// Bytes on disk.
    pub bytes: u64,
    pub files: u64,
    /// Whether there are folders too deep to be looked into.
    pub too_deep: bool,
}

/// Looks through a folder until it has seen more files than allowed. What vanishes meanwhile is not counted.
pub(crate) fn usage(path: &Path, most_files: u64) -> Usage {
    let mut usage = Usage::default();
    let mut open: Vec<Dir> = open_folder(rustix::fs::CWD, path).and_then(Dir::new).into_iter().collect();
    loop {
        let depth = open.len();
        let Some(folder) = open.last_mut() else { return usage };
        let Some(entry) = folder.read() else {
            open.pop();
            continue;
        };
        let Ok(entry) = entry else { continue };
        if is_dot(entry.file_name()) {
            continue;
        }
        let Ok(at) = folder.fd() else { continue };
        let Ok(stat) = rustix::fs::statat(at, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
        usage.files += 1;
        usage.bytes =
            usage.bytes.saturating_add(u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512));
        if usage.files > most_files {
            return usage;
        }
        if FileType::from_raw_mode(stat.st_mode).is_dir() {
            if depth >= DEEPEST {
                usage.too_deep = true;
                return usage;
            }
            if let Ok(inner) = open_folder(at, entry.file_name()).and_then(Dir::new) {
                open.push(inner);
            }
        }
    }
}

fn open_folder<F: AsFd, P: rustix::path::Arg>(at: F, name: P) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

fn is_dot(name: &CStr) -> bool {
    matches!(name.to_bytes(), b"." | b"..")
}

/// Removes a folder with all that is in it. Nobody may be writing to it any more.
///
/// Folders below it are moved up to its top one by one, so that any depth is undone with two descriptors and without
/// paths, which would become longer than the kernel takes.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let top = match open_folder(rustix::fs::CWD, path) {
        Ok(top) => top,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let mut moved = 0_u64;
    loop {
        let mut folders = Vec::new();
        empty(&top, |name| {
            folders.push(name);
            Ok(())
        })?;
        if folders.is_empty() {
            break;
        }
        for folder in folders {
            let inner = open_writable(&top, &folder)?;
            empty(&inner, |name| {
                // Where we are not root, only an owner's right to write a folder lets it move.
                let _ = open_writable(&inner, &name);
                loop {
                    moved += 1;
                    let target = format!("moved-{moved}");
                    match rustix::fs::renameat_with(
                        &inner,
                        &name,
                        &top,
                        target.as_str(),
                        rustix::fs::RenameFlags::NOREPLACE,
                    ) {
                        Err(Errno::EXIST) => {}
                        done => return done,
                    }
                }
            })?;
            rustix::fs::unlinkat(&top, &folder, AtFlags::REMOVEDIR)?;
        }
    }
    std::fs::remove_dir(path)
}

/// Removes what a user owns in folders that everyone may write to, and in such folders below them.
pub(crate) fn remove_files_of(uid: u32, folders: &[&str]) {
    let everyone = 0o002;
    let mut look: Vec<(std::path::PathBuf, usize)> =
        folders.iter().map(|folder| (folder.into(), 0)).collect();
    while let Some((folder, depth)) = look.pop() {
        let Ok(at) = open_folder(rustix::fs::CWD, &folder) else { continue };
        let Ok(entries) = Dir::read_from(&at) else { continue };
        for entry in entries.flatten().filter(|entry| !is_dot(entry.file_name())) {
            let name = entry.file_name();
            let Ok(stat) = rustix::fs::statat(&at, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            let path = folder.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
            let is_folder = FileType::from_raw_mode(stat.st_mode).is_dir();
            match (stat.st_uid == uid, is_folder) {
                (true, true) => drop(remove(&path)),
                (true, false) => drop(rustix::fs::unlinkat(&at, name, AtFlags::empty())),
                (false, true) if stat.st_mode & everyone != 0 && depth < 8 => look.push((path, depth + 1)),
                (false, _) => {}
            }
        }
    }
}

fn open_writable(at: &OwnedFd, name: &CStr) -> rustix::io::Result<OwnedFd> {
    if let Ok(folder) = open_folder(at, name)
        && rustix::fs::fstat(&folder)?.st_mode & 0o700 == 0o700
    {
        return Ok(folder);
    }
    // A folder that its owner may not read: no link, or the removal below it would have failed before.
    rustix::fs::chmodat(at, name, Mode::from_raw_mode(0o700 as RawMode), AtFlags::empty())?;
    open_folder(at, name)
}

/// Unlinks the files of a folder and hands over its folders.
fn empty(
    folder: &OwnedFd,
    mut each_folder: impl FnMut(CString) -> rustix::io::Result<()>,
) -> rustix::io::Result<()> {
    // Names first: what a folder lists while it is being emptied is not defined.
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        if !is_dot(entry.file_name()) {
            names.push(entry.file_name().to_owned());
        }
    }
    for name in names {
        match rustix::fs::unlinkat(folder, &name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) => each_folder(name)?,
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use taskwright_testing::test;

    #[test]
    fn counts_and_removes_what_is_there() {
        let outer = tempfile::tempdir().unwrap();
        let outside = outer.path().join("outside");
        std::fs::write(&outside, "kept").unwrap();
        let folder = outer.path().join("folder");
        std::fs::create_dir_all(folder.join("a/b/c")).unwrap();
        std::fs::write(folder.join("a/b/big"), vec![1; 100_000]).unwrap();
        std::os::unix::fs::symlink(&outside, folder.join("a/link")).unwrap();
        std::os::unix::fs::symlink("/", folder.join("a/b/root")).unwrap();
        std::fs::set_permissions(folder.join("a/b/c"), PermissionsExt::from_mode(0o0)).unwrap();
        let used = usage(&folder, 1000);
        assert_eq!(used.files, 6);
        assert!((100_000..200_000).contains(&used.bytes), "{used:?}");
        assert_eq!(usage(&folder, 2).files, 3);
        remove(&folder).unwrap();
        assert!(!folder.exists());
        assert_eq!(std::fs::read_to_string(outside).unwrap(), "kept");
        remove(&folder).unwrap();
    }

    #[test]
    fn what_a_user_left_where_everyone_may_write_is_removed() {
        let outer = tempfile::tempdir().unwrap();
        let uid = rustix::process::getuid().as_raw();
        let path = |name: &str| outer.path().join(name);
        std::fs::create_dir_all(path("dir/deep")).unwrap();
        std::fs::write(path("file"), "x").unwrap();
        std::os::unix::fs::symlink("/etc", path("link")).unwrap();
        let folder = outer.path().to_string_lossy().into_owned();
        remove_files_of(uid + 1, &[&folder]);
        assert!(path("file").exists());
        remove_files_of(uid, &[&folder, "/nowhere"]);
        assert_eq!(std::fs::read_dir(outer.path()).unwrap().count(), 0);
    }

    #[test]
    fn any_depth_is_undone() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("folder");
        std::fs::create_dir(&folder).unwrap();
        let mut at = open_folder(rustix::fs::CWD, &folder).unwrap();
        for _ in 0..1500 {
            rustix::fs::mkdirat(&at, "moved-1", Mode::from_raw_mode(0o700)).unwrap();
            at = open_folder(&at, "moved-1").unwrap();
        }
        rustix::fs::symlinkat("/nowhere", &at, "link").unwrap();
        assert!(usage(&folder, 10_000).too_deep);
        remove(&folder).unwrap();
        assert!(!folder.exists());
    }
}
