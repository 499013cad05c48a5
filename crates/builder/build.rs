//! Gives the crate an identity of its own: the digest of the sources that decide what a task directory holds. A state
//! file written by other sources is not trusted, so nobody has to remember to bump a version.

use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

#[path = "src/compile.rs"]
mod compile;

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    // A package stands alone: its version, which is that of the crates that it is made with, tells it from others.
    let is_package = here.join(".cargo_vcs_info.json").exists();
    let sources: &[&str] =
        if is_package { &["src"] } else { &["src", "../base/src", "../language/src", "../harbor/src"] };
    for source in sources {
        let folder = here.join(source);
        println!("cargo::rerun-if-changed={}", folder.display());
        let before = files.len();
        list(&folder, &mut files);
        assert!(files.len() > before, "`{}` holds no source: a crate has moved", folder.display());
    }
    files.sort();
    // Only an identity, never a security boundary: the standard library's hasher is enough and needs no dependency.
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(env!("CARGO_PKG_VERSION").as_bytes());
    for file in files {
        hasher.write(file.strip_prefix(&here).unwrap_or(&file).as_os_str().as_encoded_bytes());
        hasher.write(&fs::read(&file).unwrap_or_default());
    }
    if std::env::var_os("CARGO_FEATURE_EMBEDDED").is_some() {
        let binaries = binaries(&here);
        // A program with other binaries builds other tasks.
        for binary in &binaries {
            hasher.write(&fs::read(binary).unwrap_or_default());
        }
        let list: String = binaries
            .iter()
            .map(|path| format!("include_bytes!({:?}),", path.display().to_string()))
            .collect();
        let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("binaries.rs");
        fs::write(&out, format!("&[{list}]")).expect("cargo made this folder");
    }
    println!("cargo::rustc-env=TASKWRIGHT_GENERATOR={:016x}", hasher.finish());
}

/// The binaries for the images: the files that `TASKWRIGHT_BINARY_FILE` names, as `PATH` names folders, or one that is compiled here.
fn binaries(here: &Path) -> Vec<PathBuf> {
    println!("cargo::rerun-if-env-changed=TASKWRIGHT_BINARY_FILE");
    if let Some(files) = std::env::var_os("TASKWRIGHT_BINARY_FILE") {
        let files: Vec<PathBuf> = std::env::split_paths(&files).collect();
        files.iter().for_each(|file| println!("cargo::rerun-if-changed={}", file.display()));
        return files;
    }
    let sources = here.ancestors().nth(2).unwrap_or(here);
    for source in compile::SOURCES {
        println!("cargo::rerun-if-changed={}", sources.join(source).display());
    }
    // A folder of its own: cargo holds that of this build.
    let target = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("binary");
    let (mut cargo, binary) = compile::command(sources, &target);
    let status = cargo.status().expect("cargo runs this script");
    assert!(status.success(), "the binary for the images does not compile");
    vec![binary]
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { list(&path, files) } else { files.push(path) }
    }
}
