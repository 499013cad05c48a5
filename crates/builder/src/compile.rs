//! How the `taskwright` binary for the images is compiled from Taskwright's sources. Shared with the build script, which embeds the
//! binary in a program that is given away.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the binary is compiled for: images of this machine's kind of processor.
pub const TARGET: &str =
    if cfg!(target_arch = "aarch64") { "aarch64-unknown-linux-gnu" } else { "x86_64-unknown-linux-gnu" };

/// The package of Taskwright's sources that it is.
pub const PACKAGE: &str = "taskwright-sidecar";

/// The files and folders that it is made of, from the root of Taskwright's sources.
pub const SOURCES: [&str; 17] = [
    "crates/sidecar/Cargo.toml",
    "crates/sidecar/src",
    "crates/eval/Cargo.toml",
    "crates/eval/src",
    "crates/gateway/Cargo.toml",
    "crates/gateway/src",
    "crates/https/Cargo.toml",
    "crates/https/src",
    "crates/language/Cargo.toml",
    "crates/language/src",
    "crates/harbor/Cargo.toml",
    "crates/harbor/src",
    "crates/base/Cargo.toml",
    "crates/base/src",
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
];

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

/// Cargo, called in the root of the sources so that the binary comes to be below `target`; and where it will be.
///
/// `+crt-static` needs an explicit target, or cargo would build its procedural macros that way too. Paths of this
/// machine are remapped, so that they cannot reach the binary.
pub fn command(sources: &Path, target: &Path) -> (Command, PathBuf) {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")))
        .unwrap_or_default();
    let remapped = [(sources, "/taskwright"), (&*home, "/cargo")]
        .map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display()));
    let flags: Vec<&str> = FLAGS.into_iter().chain(remapped.iter().map(String::as_str)).collect();
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--locked", "--package", PACKAGE, "--target", TARGET]);
    cargo.arg("--target-dir").arg(target).current_dir(sources);
    // Encoded, so that a folder with a space in its name stays one flag.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_BUILD_TARGET");
    // Nobody builds it twice from sources that differ a little.
    cargo.env("CARGO_INCREMENTAL", "0");
    (cargo, target.join(TARGET).join("debug").join(PACKAGE))
}
