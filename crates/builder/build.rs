//! Gives the crate an identity of its own: the digest of the sources that decide what a task directory holds. A state
//! file written by other sources is not trusted, so nobody has to remember to bump a version.

use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    for source in ["src", "../base/src", "../language/src", "../harbor/src"] {
        let folder = here.join(source);
        println!("cargo::rerun-if-changed={}", folder.display());
        let before = files.len();
        list(&folder, &mut files);
        assert!(files.len() > before, "`{}` holds no source: a crate has moved", folder.display());
    }
    files.sort();
    // Only an identity, never a security boundary: the standard library's hasher is enough and needs no dependency.
    let mut hasher = std::hash::DefaultHasher::new();
    for file in files {
        hasher.write(file.strip_prefix(&here).unwrap_or(&file).as_os_str().as_encoded_bytes());
        hasher.write(&fs::read(&file).unwrap_or_default());
    }
    println!("cargo::rustc-env=TASKWRIGHT_GENERATOR={:016x}", hasher.finish());
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { list(&path, files) } else { files.push(path) }
    }
}
