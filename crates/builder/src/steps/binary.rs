//! The `taskwright` binaries that go into every task's images, one for each platform that there is one for. What is compiled is
//! compiled once, statically, and the same from any folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use rustix::process::Signal;

use super::Context;
use crate::compile::{self, PACKAGE, SOURCES, TARGET};
use crate::inputs::{Group, Kind, Recorder};
use crate::key::Key;
use crate::observe::Boundary;
use crate::tree::{Blob, Entry};
use crate::workspace::Binary;
use taskwright_base::{Error, Result, failed};

/// What a program is made for, as `uname -m` calls it.
pub type Machine = &'static str;

pub struct Node {
    /// The binaries, each of which is in every task.
    pub entries: BTreeMap<Machine, Entry>,
    /// The version of Taskwright that they are of; none of files that were named.
    pub version: Option<&'static str>,
    /// What they were made from.
    pub group: Arc<Group>,
    pub key: Key,
}

/// Makes the binary, or takes it from the store.
pub fn make(context: &Context<'_>) -> Result<Node> {
    let mut entries = BTreeMap::new();
    let mut add = |machine, content| entries.insert(machine, Entry::File { content, executable: true });
    let (group, key) = match &context.workspace.binary {
        Binary::Prebuilt(path) => {
            let mut recorder = Recorder::new(context.root(), context.cache);
            for file in files(&mut recorder, path)? {
                let Entry::File { content, .. } = recorder.entry(&file, context.store)? else {
                    return Err(Error::new(format!("`{file}` is not a file")));
                };
                let mut head = Vec::new();
                let opened = File::open(context.root().join(&file));
                opened
                    .and_then(|opened| opened.take(HEAD).read_to_end(&mut head))
                    .map_err(failed("reading", &file))?;
                if add(machine(&head), content).is_some() {
                    return Err(Error::new(format!("`{path}` holds two binaries for {}", machine(&head)))
                        .hint("leave one for each platform"));
                }
            }
            (Arc::new(recorder.finish()), Key::new("prebuilt binary", 1))
        }
        // Other ones are another program, and that trusts no state but its own.
        Binary::Embedded(binaries) => {
            for bytes in *binaries {
                add(machine(bytes), context.store.content(context.store.add_bytes(bytes)?)?);
            }
            (Arc::default(), Key::new("embedded binary", 1))
        }
        Binary::Sources(sources) => {
            let (blob, group, key) = compiled(context, sources)?;
            add(std::env::consts::ARCH, context.store.content(blob)?);
            (group, key)
        }
    };
    context.boundary(Boundary::Binary)?;
    let is_own = !matches!(context.workspace.binary, Binary::Prebuilt(_));
    let version = is_own.then_some(env!("CARGO_PKG_VERSION"));
    Ok(Node { entries, version, group, key })
}

/// The file that is named, or those of the folder.
fn files(recorder: &mut Recorder<'_>, path: &Utf8Path) -> Result<Vec<Utf8PathBuf>> {
    if recorder.kind_behind(path)? != Some(Kind::Folder) {
        return Ok(vec![path.to_owned()]);
    }
    let members = recorder.folder(path)?;
    let files: Vec<_> = members
        .into_iter()
        .filter(|(_, kind)| *kind == Kind::File)
        .map(|(name, _)| path.join(name))
        .collect();
    if files.is_empty() {
        return Err(Error::new(format!("`{path}` holds no binary")).hint("put one there for each platform"));
    }
    Ok(files)
}

/// How much of a program says what it is made for.
const HEAD: u64 = 20;

/// What a program is made for, by its header (ELF-64: `e_machine` at byte 18, in the order that byte 5 says). A script is for any
/// machine, so for this one.
fn machine(head: &[u8]) -> Machine {
    match head {
        [0x7f, b'E', b'L', b'F', _, 1, _, _, _, _, _, _, _, _, _, _, _, _, 0x3e, 0, ..] => "x86_64",
        [0x7f, b'E', b'L', b'F', _, 1, _, _, _, _, _, _, _, _, _, _, _, _, 0xb7, 0, ..] => "aarch64",
        _ => std::env::consts::ARCH,
    }
}

fn compiled(context: &Context<'_>, sources: &Utf8Path) -> Result<(Blob, Arc<Group>, Key)> {
    if let Some(node) = &context.state.binary
        && node.group.is_unchanged(context.root())
        && let Some(blob) = context.store.step::<Blob>(&node.key).filter(|blob| context.store.holds(*blob))
    {
        return Ok((blob, Arc::clone(&node.group), node.key.clone()));
    }
    if !sources.join("Cargo.toml").is_file() {
        return Err(Error::new(format!("Taskwright\'s sources are not in `{sources}` any more, where this program was compiled"))
            .hint("compile it again where they are now, or install a release, which brings the binary for the images with it"));
    }
    // Those of this workspace are known by their paths from its root, as everything in it is.
    let from = if sources == context.root() { Utf8Path::new("") } else { sources };
    let mut recorder = Recorder::new(context.root(), context.cache);
    let mut key = Key::new("binary", 2);
    key.add("binary.target", TARGET);
    let mut files = BTreeSet::new();
    for source in SOURCES {
        list(&mut recorder, &from.join(source), &mut files)?;
    }
    for file in files {
        let digest = recorder.digest(&file)?.digest;
        key.add_digest(format!("binary.source `{}`", file.strip_prefix(from).unwrap_or(&file)), digest);
    }
    let group = Arc::new(recorder.finish());
    if let Some(blob) = context.known::<Blob>(&key).filter(|blob| context.store.holds(*blob)) {
        return Ok((blob, group, key));
    }
    context.may_make("compiling the taskwright binary")?;
    let blob = context.store.add_file(&compile(context, sources)?)?;
    context.keep(&key, &blob)?;
    Ok((blob, group, key))
}

fn list(recorder: &mut Recorder<'_>, path: &Utf8Path, files: &mut BTreeSet<Utf8PathBuf>) -> Result<()> {
    match recorder.kind(path)? {
        Some(Kind::Folder) => {
            for (name, _) in recorder.folder(path)? {
                list(recorder, &path.join(name), files)?;
            }
        }
        Some(Kind::File) => {
            files.insert(path.to_owned());
        }
        Some(Kind::Symlink | Kind::Other) | None => {}
    }
    Ok(())
}

/// Runs cargo and returns where the binary is.
#[expect(
    clippy::disallowed_methods,
    reason = "it takes the time that it takes, and a Ctrl-C at the terminal ends it too"
)]
fn compile(context: &Context<'_>, sources: &Utf8Path) -> Result<Utf8PathBuf> {
    if !matches!(std::env::consts::ARCH, "x86_64" | "aarch64") || std::env::consts::OS != "linux" {
        return Err(Error::new(format!(
            "the taskwright binary is built on Linux, x86_64 or aarch64, which this machine ({} {}) is not",
            std::env::consts::OS,
            std::env::consts::ARCH
        ))
        .hint(
            "install a release, which brings it, or name one that was built elsewhere as `binary` in taskwright.toml",
        ));
    }
    // Beside the cache, which is where things can be written.
    let cache = context.workspace.cache_dir();
    let target = cache.parent().map_or_else(|| cache.join("target"), Utf8Path::to_owned);
    let (mut cargo, binary) = compile::command(sources.as_std_path(), target.as_std_path());
    let output = cargo.stdin(Stdio::null()).stdout(Stdio::null()).output().map_err(|error| {
        Error::new(format!("cargo cannot be run: {error}")).hint("install Rust: https://rustup.rs")
    })?;
    if !output.status.success() {
        context.check_stop()?;
        // A Ctrl-C that ended it was for us as well, though we may hear of it a moment later.
        if output.status.signal() == Some(Signal::INT.as_raw()) {
            return Err(Error::interrupted());
        }
        let words = String::from_utf8_lossy(&output.stderr);
        let tail: Vec<_> = words.trim().lines().rev().take(30).collect();
        let tail: Vec<_> = tail.into_iter().rev().collect();
        return Err(Error::new(format!("the taskwright binary does not compile:\n{}", tail.join("\n")))
            .hint(format!("`cargo build --package {PACKAGE}` in `{sources}` shows all of it")));
    }
    Utf8PathBuf::try_from(binary).map_err(|path| Error::new(format!("`{path}` is no path of UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_what_it_is_made_for() {
        let head = |code: u8| [&b"\x7fELF\x02\x01\x01"[..], &[0; 9], &[2, 0, code, 0, 1]].concat();
        assert_eq!(machine(&head(0x3e)), "x86_64");
        assert_eq!(machine(&head(0xb7)), "aarch64");
        for other in [&b"#!/bin/sh\n"[..], b"", b"\x7fELF"] {
            assert_eq!(machine(other), std::env::consts::ARCH);
        }
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(machine(&own), std::env::consts::ARCH);
    }
}
