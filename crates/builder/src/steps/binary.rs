//! The `taskwright` binary that goes into every task's images: built once, statically, and the same from any folder.

use std::collections::BTreeSet;
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
use taskwright_base::{Error, Result};

pub struct Node {
    pub entry: Entry,
    /// The version of Taskwright that it is of; none of a file that was named.
    pub version: Option<&'static str>,
    /// What it was made from.
    pub group: Arc<Group>,
    pub key: Key,
}

/// Makes the binary, or takes it from the store.
pub fn make(context: &Context<'_>) -> Result<Node> {
    let (content, group, key) = match &context.workspace.binary {
        Binary::Prebuilt(path) => {
            let mut recorder = Recorder::new(context.root(), context.cache);
            let Entry::File { content, .. } = recorder.entry(path, context.store)? else {
                return Err(Error::new(format!("`{path}` is not a file")));
            };
            (content, Arc::new(recorder.finish()), Key::new("prebuilt binary", 1))
        }
        // Another one is another program, and that trusts no state but its own.
        Binary::Embedded(bytes) => {
            let content = context.store.content(context.store.add_bytes(bytes)?)?;
            (content, Arc::default(), Key::new("embedded binary", 1))
        }
        Binary::Sources(sources) => {
            let (blob, group, key) = compiled(context, sources)?;
            (context.store.content(blob)?, group, key)
        }
    };
    context.boundary(Boundary::Binary)?;
    let is_own = !matches!(context.workspace.binary, Binary::Prebuilt(_));
    let version = is_own.then_some(env!("CARGO_PKG_VERSION"));
    Ok(Node { entry: Entry::File { content, executable: true }, version, group, key })
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
    if let Some(blob) = context.store.step::<Blob>(&key).filter(|blob| context.store.holds(*blob)) {
        return Ok((blob, group, key));
    }
    context.may_make("compiling the taskwright binary")?;
    let blob = context.store.add_file(&compile(context, sources)?)?;
    context.store.remember(&key, &blob)?;
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
    if std::env::consts::ARCH != "x86_64" || std::env::consts::OS != "linux" {
        return Err(Error::new(format!(
            "the taskwright binary is built for {TARGET}, which this machine ({} {}) is not",
            std::env::consts::OS,
            std::env::consts::ARCH
        ))
        .hint(
            "build on such a machine, or name a binary that was built on one as `binary` in taskwright.toml",
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
