//! Exact pictures of folders, to compare before with after.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use camino::Utf8Path;
use taskwright_base::Digest;

/// What a folder holds: each path with its kind, permissions and content, and nothing that time or place decides.
pub type Contents = BTreeMap<String, String>;

/// What a folder holds; empty if there is none.
pub fn contents(folder: &Utf8Path) -> Contents {
    picture(folder, |path, metadata| {
        let mode = metadata.mode() & 0o7777;
        if metadata.is_symlink() {
            format!("link to {}", fs::read_link(path).unwrap().display())
        } else if metadata.is_dir() {
            format!("folder {mode:o}")
        } else {
            let digest = Digest::of(&fs::read(path).unwrap()).hex();
            format!("file {mode:o} {digest}")
        }
    })
}

/// What the file system says of everything in a folder, times and inodes included.
pub fn stats(folder: &Utf8Path) -> Contents {
    picture(folder, |_, metadata| {
        let facts = format!(
            "{:o} {} {} {}.{}",
            metadata.mode(),
            metadata.ino(),
            metadata.size(),
            metadata.mtime(),
            metadata.mtime_nsec()
        );
        // One more link to a file moves its change time, and the store links its large files into every task.
        let is_linked = metadata.is_file() && metadata.nlink() > 1;
        if is_linked { facts } else { format!("{facts} {}.{}", metadata.ctime(), metadata.ctime_nsec()) }
    })
}

fn picture(folder: &Utf8Path, of: impl Fn(&Utf8Path, &fs::Metadata) -> String) -> Contents {
    let mut contents = Contents::new();
    for entry in walkdir::WalkDir::new(folder).into_iter().flatten() {
        let path = Utf8Path::from_path(entry.path()).unwrap();
        let metadata = fs::symlink_metadata(path).unwrap();
        let inside = path.strip_prefix(folder).unwrap().as_str().to_owned();
        contents.insert(inside, of(path, &metadata));
    }
    contents
}

/// Only what differs between two pictures, a line each.
pub fn difference(before: &Contents, after: &Contents) -> String {
    let mut lines = Vec::new();
    for path in before.keys().chain(after.keys()).collect::<std::collections::BTreeSet<_>>() {
        match (before.get(path), after.get(path)) {
            (Some(old), Some(new)) if old != new => lines.push(format!("{path}: {old} -> {new}")),
            (Some(_), None) => lines.push(format!("{path}: gone")),
            (None, Some(_)) => lines.push(format!("{path}: new")),
            _ => {}
        }
    }
    lines.join("\n")
}
