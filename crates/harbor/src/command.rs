//! The command that runs Harbor: `harbor run` as it is installed, or Harbor at our version beside a candidate's package.

mod beside;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use taskwright_base::text::shell_word;

pub use self::beside::BesideLauncher;
use crate::HARBOR_VERSION;

/// How Harbor is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launcher {
    /// A `harbor` that is installed.
    Installed(PathBuf),
    /// Harbor at a version of ours, with Python packages beside it, in an environment that uv makes.
    Uv(UvLauncher),
    /// Harbor as an image brings it, with a candidate's package beside it.
    Beside(BesideLauncher),
}

impl Launcher {
    /// The command line that runs Python where Harbor can be imported; none if that is not known.
    pub fn python(&self, arguments: &[&str]) -> Vec<OsString> {
        match self {
            Self::Installed(_) => Vec::new(),
            Self::Uv(uv) => uv.command_line(&[&["python"], arguments].concat()),
            Self::Beside(beside) => beside.command_line(arguments),
        }
    }
}

/// Harbor in an environment of its own that uv makes.
///
/// Harbor is asked for by its exact version in the same resolution as the packages, so that none of them can bring
/// another one along: then nothing starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UvLauncher {
    /// The `uv` program.
    pub uv: PathBuf,
    /// The Python version.
    pub python: String,
    /// Harbor at an exact version, with its optional parts, as Python's installers name it: `harbor[modal]==0.26.0`.
    pub harbor: String,
    /// A file with the version of each package, as [`crate::requirements`] speaks of it; without one the newest that suit.
    pub requirements: Option<PathBuf>,
    /// Folders of Python packages. uv knows what it has built by the path: give each content a path of its own.
    pub packages: Vec<PathBuf>,
}

impl UvLauncher {
    /// Harbor at our version on the default Python.
    pub fn new(uv: impl Into<PathBuf>) -> Self {
        Self {
            uv: uv.into(),
            python: "3.13".to_owned(),
            harbor: format!("harbor=={HARBOR_VERSION}"),
            requirements: None,
            packages: Vec::new(),
        }
    }

    /// The command line that runs a program in that environment.
    pub fn command_line(&self, program: &[&str]) -> Vec<OsString> {
        let mut line: Vec<OsString> = vec![self.uv.clone().into()];
        line.extend(["run", "--no-project", "--no-env-file", "--python"].map(Into::into));
        line.push(self.python.clone().into());
        if let Some(requirements) = &self.requirements {
            line.extend(["--with-requirements".into(), requirements.clone().into()]);
        }
        for package in &self.packages {
            line.extend(["--with".into(), package.clone().into()]);
        }
        line.extend(["--with".into(), self.harbor.clone().into()]);
        line.extend(program.iter().map(Into::into));
        line
    }
}

/// `harbor run` with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarborCommand {
    /// How Harbor is started.
    pub launcher: Launcher,
    /// The file that [`crate::job_config::JobConfig::write`] wrote; absolute.
    pub config: PathBuf,
    /// Further arguments.
    pub extra_args: Vec<String>,
}

impl HarborCommand {
    /// The command line, the program first. It asks no questions (`--yes`).
    pub fn command_line(&self) -> Vec<OsString> {
        let mut line = match &self.launcher {
            Launcher::Installed(harbor) => vec![harbor.clone().into(), "run".into()],
            Launcher::Uv(uv) => uv.command_line(&["harbor", "run"]),
            Launcher::Beside(beside) => beside.command_line(&["-m", "harbor.cli.main", "run"]),
        };
        line.extend(["--config".into(), self.config.clone().into(), "--yes".into()]);
        line.extend(self.extra_args.iter().map(Into::into));
        line
    }

    /// The command as a line for a shell.
    pub fn shell_line(&self) -> String {
        shell_line(&self.command_line())
    }
}

/// A command line as a shell reads it.
pub fn shell_line(line: &[OsString]) -> String {
    let quoted: Vec<String> = line.iter().map(|argument| shell_word(&argument.to_string_lossy())).collect();
    quoted.join(" ")
}

/// Finds a program as a shell would: by `PATH`, or as a path if it holds a slash.
pub(crate) fn find(program: &str, path: Option<&std::ffi::OsStr>) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let is_program = |file: &Path| {
        file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|file| is_program(file));
    }
    std::env::split_paths(path?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|file| is_program(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use taskwright_testing::test;

    #[test]
    fn the_command_beside_a_candidate() {
        let mut uv = UvLauncher::new("/bin/uv");
        uv.packages = vec!["/candidates/a b".into()];
        uv.requirements = Some("/task/requirements.txt".into());
        uv.harbor = "harbor[modal,e2b]==0.26.0".to_owned();
        let command = HarborCommand {
            launcher: Launcher::Uv(uv),
            config: "/jobs/job.json".into(),
            extra_args: vec!["--artifact".to_owned(), "it's".to_owned()],
        };
        assert_eq!(
            command.shell_line(),
            "/bin/uv run --no-project --no-env-file --python 3.13 --with-requirements \
             /task/requirements.txt --with '/candidates/a b' --with 'harbor[modal,e2b]==0.26.0' harbor run --config /jobs/job.json --yes --artifact 'it'\\''s'"
        );
    }

    #[test]
    fn the_installed_command() {
        let launcher = Launcher::Installed("/bin/harbor".into());
        let command = HarborCommand { launcher, config: "/j.json".into(), extra_args: Vec::new() };
        assert_eq!(command.shell_line(), "/bin/harbor run --config /j.json --yes");
    }
}
