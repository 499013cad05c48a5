//! Runs Python where it is the judge: its TOML reader, and Harbor itself.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use taskwright_testing::{Need, needs_python, not_run};

use crate::version::HARBOR_VERSION;

/// The interpreter of the pinned Harbor.
pub(crate) fn of_harbor() -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    // Where uv puts its tools, whether or not a login shell has told so.
    let of_uv = env::home_dir().map(|home| home.join(".local/bin"));
    let python = env::split_paths(&path)
        .chain(of_uv)
        .filter_map(|folder| folder.join("harbor").canonicalize().ok())
        .filter_map(|script| Some(script.parent()?.join("python")))
        .find(|python| python.exists());
    let Some(python) = python else {
        let why = format!("harbor is not installed (uv tool install harbor=={HARBOR_VERSION})");
        not_run(Need::Harbor, why);
    };
    let version = run(&python, "from importlib.metadata import version; print(version('harbor'))", "");
    if version.trim() != HARBOR_VERSION {
        let why = format!("the installed harbor is {}, not {HARBOR_VERSION}", version.trim());
        not_run(Need::Harbor, why);
    }
    python
}

/// An interpreter with `tomllib`.
pub(crate) fn with_tomllib() -> &'static Path {
    needs_python();
    Path::new("python3")
}

/// What a script prints, with `input` on its standard input.
pub(crate) fn run(python: &Path, script: &str, input: &str) -> String {
    let mut child = Command::new(python)
        .args(["-I", "-X", "utf8", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", python.display()));
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{} failed", python.display());
    String::from_utf8(output.stdout).unwrap()
}
