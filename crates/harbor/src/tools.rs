//! Finds the programs that a run needs, and says in plain words what is wrong with them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use taskwright_base::process::{self, Limits, NoOutput};

use crate::command::find;
use crate::version::Release;

/// How long a program may take to say its version. Harbor imports half of Python's packages first.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that is not there, or not as it must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// It is not on `PATH`.
    #[error("`{program}` is not installed, or not on PATH: {hint}")]
    Missing {
        /// Its name.
        program: String,
        /// How to get it.
        hint: &'static str,
    },
    /// It does not say what it is.
    #[error("`{} --version` {what}: {hint}", program.display())]
    Broken {
        /// Where it is.
        program: PathBuf,
        /// What it did instead.
        what: String,
        /// How to get a good one.
        hint: &'static str,
    },
    /// It is another version.
    #[error("`{}` is version {found}, but {wanted} is needed: {hint}", program.display())]
    Other {
        /// Where it is.
        program: PathBuf,
        /// Its version.
        found: String,
        /// The version that is needed.
        wanted: String,
        /// How to get it.
        hint: &'static str,
    },
}

const GET_UV: &str = "install uv 0.5 or later (https://docs.astral.sh/uv)";
const GET_HARBOR: &str =
    "`uv tool install harbor==0.26.0` installs it, `uv tool upgrade harbor==0.26.0` changes it";

/// Finds `uv` on a search path, and checks that it runs and is new enough.
pub fn uv(path: Option<&OsStr>) -> Result<PathBuf, ToolError> {
    let program =
        find("uv", path).ok_or_else(|| ToolError::Missing { program: "uv".to_owned(), hint: GET_UV })?;
    let found = version(&program, path, GET_UV)?;
    if numbers(&found) < [0, 5] {
        let wanted = "0.5 or later".to_owned();
        return Err(ToolError::Other { program, found, wanted, hint: GET_UV });
    }
    Ok(program)
}

/// Finds the installed `harbor` on a search path, and checks that it is one of some releases. Takes seconds: Harbor is slow
/// to start.
pub fn harbor(path: Option<&OsStr>, wanted: &[Release]) -> Result<(PathBuf, Release), ToolError> {
    let program = find("harbor", path)
        .ok_or_else(|| ToolError::Missing { program: "harbor".to_owned(), hint: GET_HARBOR })?;
    let found = version(&program, path, GET_HARBOR)?;
    let Some(release) = wanted.iter().find(|release| release.version == found) else {
        let wanted: Vec<&str> = wanted.iter().map(|release| release.version).collect();
        let wanted = wanted.join(" or ");
        return Err(ToolError::Other { program, found, wanted, hint: GET_HARBOR });
    };
    Ok((program, *release))
}

/// The version that a program says it has: the first word of its answer that starts with a digit.
fn version(program: &Path, path: Option<&OsStr>, hint: &'static str) -> Result<String, ToolError> {
    let broken = |what: String| ToolError::Broken { program: program.to_owned(), what, hint };
    let mut command = Command::new(program);
    command.arg("--version");
    if let Some(path) = path {
        command.env("PATH", path);
    }
    // A version is short; whoever says more is not asked for the rest.
    let output = process::run(&mut command, &Limits { output: 4096, ..Limits::of(PATIENCE) });
    let output = output.map_err(|why| {
        broken(match why {
            NoOutput::Failed(error) => format!("cannot be started ({error})"),
            NoOutput::TimedOut(_) | NoOutput::Stopped => {
                format!("did not answer within {} s", PATIENCE.as_secs())
            }
        })
    })?;
    if !output.status.success() {
        return Err(broken(format!("ended with {}", output.status)));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    said.split_whitespace()
        .find(|word| word.starts_with(|first: char| first.is_ascii_digit()))
        .map(str::to_owned)
        .ok_or_else(|| broken("names no version".to_owned()))
}

/// The first two numbers of a version.
fn numbers(version: &str) -> [u64; 2] {
    let mut numbers =
        version.split(|letter: char| !letter.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::TRIED;
    use taskwright_testing::test;

    /// A folder with a program. Another process writes it: what this one has open for writing, a process that another
    /// test just starts has open as well for a moment, and what is open for writing cannot be executed.
    fn folder_with(name: &str, script: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" >"$0" && chmod 755 "$0""#;
        let written =
            Command::new("/bin/sh").args(["-c", write]).arg(folder.path().join(name)).arg(script).status();
        assert!(written.unwrap().success());
        folder
    }

    #[test]
    fn a_program_that_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = Some(folder.path().as_os_str());
        assert!(uv(path).unwrap_err().to_string().starts_with("`uv` is not installed"));
        assert!(harbor(path, &TRIED).unwrap_err().to_string().contains("harbor==0.26.0"));
    }

    #[test]
    fn a_program_of_another_version() {
        let folder = folder_with("harbor", "echo harbor 0.25.1");
        let error = harbor(Some(folder.path().as_os_str()), &TRIED).unwrap_err();
        assert!(matches!(&error, ToolError::Other { found, .. } if found == "0.25.1"), "{error}");
        let folder = folder_with("uv", "echo uv 0.4.30 '(x86)'");
        let error = uv(Some(folder.path().as_os_str())).unwrap_err();
        assert!(error.to_string().contains("0.5 or later"), "{error}");
        let folder = folder_with("uv", "echo uv 0.10.0");
        assert!(uv(Some(folder.path().as_os_str())).is_ok());
    }

    #[test]
    fn a_program_that_is_broken() {
        for (script, words) in [
            ("exit 3", "exit status: 3"),
            ("echo hello", "names no version"),
            ("head -c 9000000 /dev/zero", ""),
        ] {
            let folder = folder_with("uv", script);
            let error = uv(Some(folder.path().as_os_str())).unwrap_err();
            assert!(matches!(&error, ToolError::Broken { what, .. } if what.contains(words)), "{error}");
        }
    }
}
