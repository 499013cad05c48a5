//! The `taskwright` binary that goes into every task's images: built once, statically, and the same from any folder.

use std::collections::BTreeSet;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};

use super::Context;
use crate::inputs::{Group, Kind, Recorder};
use crate::key::Key;
use crate::observe::Boundary;
use crate::tree::{Blob, Entry};
use crate::workspace::Binary;
use taskwright_base::{Error, Result};

/// The platform that the binary is built for: that of the images.
const TARGET: &str = "x86_64-unknown-linux-gnu";

pub struct Node {
    pub entry: Entry,
    /// What it was made from.
    pub group: Arc<Group>,
    pub key: Key,
}

/// Makes the binary, or takes it from the store.
pub fn make(context: &Context<'_>) -> Result<Node> {
    let (blob, group, key) = match &context.workspace.binary {
        Binary::Prebuilt(path) => {
            let mut recorder = Recorder::new(context.root(), context.cache);
            let entry = recorder.entry(path, context.store)?;
            let Entry::File { content, .. } = entry else {
                return Err(Error::new(format!("`{path}` is not a file")));
            };
            let entry = Entry::File { content, executable: true };
            context.boundary(Boundary::Binary)?;
            return Ok(Node {
                entry,
                group: Arc::new(recorder.finish()),
                key: Key::new("prebuilt binary", 1),
            });
        }
        Binary::Package { name, sources } => package(context, name, sources)?,
    };
    let content = context.store.content(blob)?;
    context.boundary(Boundary::Binary)?;
    Ok(Node { entry: Entry::File { content, executable: true }, group, key })
}

fn package(context: &Context<'_>, name: &str, sources: &[Utf8PathBuf]) -> Result<(Blob, Arc<Group>, Key)> {
    if let Some(node) = &context.state.binary
        && node.group.is_unchanged(context.root())
        && let Some(blob) = context.store.step::<Blob>(&node.key).filter(|blob| context.store.holds(*blob))
    {
        return Ok((blob, Arc::clone(&node.group), node.key.clone()));
    }
    let mut recorder = Recorder::new(context.root(), context.cache);
    let mut key = Key::new("binary", 2);
    key.add("binary.target", TARGET);
    let mut files = BTreeSet::new();
    for source in sources {
        list(&mut recorder, source, &mut files)?;
    }
    for file in files {
        key.add_digest(format!("binary.source `{file}`"), recorder.digest(&file)?.digest);
    }
    let group = Arc::new(recorder.finish());
    if let Some(blob) = context.store.step::<Blob>(&key).filter(|blob| context.store.holds(*blob)) {
        return Ok((blob, group, key));
    }
    context.may_make("compiling the taskwright binary")?;
    let blob = context.store.add_file(&compile(context, name)?)?;
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

/// How the binary differs from a development build, as flags of the compiler: cargo then takes procedural macros and
/// what they are made of from the build of the command line, where a profile would compile them once more.
const FLAGS: [&str; 6] = [
    "-Ctarget-feature=+crt-static",
    "-Cpanic=abort",
    "-Cstrip=symbols",
    "-Cdebuginfo=0",
    "-Cdebug-assertions=off",
    "-Coverflow-checks=off",
];

/// The package whose own code reads every row and every result.
const OPTIMIZED: &str = "profile.dev.package.taskwright-eval.opt-level=1";

/// Runs cargo and returns where the binary is.
///
/// `+crt-static` needs an explicit target, or cargo would build its procedural macros that way too. Paths of this
/// machine are remapped, so that they cannot reach the binary.
fn compile(context: &Context<'_>, package: &str) -> Result<Utf8PathBuf> {
    if std::env::consts::ARCH != "x86_64" || std::env::consts::OS != "linux" {
        return Err(Error::new(format!(
            "the taskwright binary is built for {TARGET}, which this machine ({} {}) is not",
            std::env::consts::OS,
            std::env::consts::ARCH
        ))
        .hint("build on such a machine, or give a binary that was built on one"));
    }
    let home = std::env::var("CARGO_HOME")
        .ok()
        .or_else(|| std::env::var("HOME").ok().map(|home| format!("{home}/.cargo")))
        .unwrap_or_default();
    let remapped = [(context.root().as_str(), "/taskwright"), (home.as_str(), "/cargo")]
        .map(|(path, name)| format!("--remap-path-prefix={path}={name}"));
    let flags: Vec<&str> = FLAGS.into_iter().chain(remapped.iter().map(String::as_str)).collect();
    // Beside the cache, which is where things can be written.
    let cache = context.workspace.cache_dir();
    let target = cache.parent().map_or_else(|| cache.join("target"), Utf8Path::to_owned);
    let output = duct::cmd!(
        "cargo",
        "build",
        "--quiet",
        "--locked",
        "--package",
        package,
        "--config",
        OPTIMIZED,
        "--target",
        TARGET,
        "--target-dir",
        &target
    )
    .dir(context.root())
    // Encoded, so that a folder with a space in its name stays one flag.
    .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
    .env_remove("RUSTFLAGS")
    .env_remove("CARGO_BUILD_TARGET")
    // Nobody builds it twice from sources that differ a little.
    .env("CARGO_INCREMENTAL", "0")
    .stdin_null()
    .stdout_null()
    .stderr_capture()
    .unchecked()
    .run()
    .map_err(|error| {
        Error::new(format!("cargo cannot be run: {error}")).hint("install Rust: https://rustup.rs")
    })?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let tail: Vec<_> = words.trim().lines().rev().take(30).collect();
        let tail: Vec<_> = tail.into_iter().rev().collect();
        return Err(Error::new(format!("the taskwright binary does not compile:\n{}", tail.join("\n")))
            .hint(format!("`cargo build --package {package}` shows all of it")));
    }
    Ok(target.join(TARGET).join("debug/taskwright"))
}
