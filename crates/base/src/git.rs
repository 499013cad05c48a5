//! Git as a command: which environment it gets, and who our commits are by.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::process::{self, Limits, NoOutput};

/// Who makes the commits that are the same everywhere, and when: whatever depends on them depends on the files alone.
pub mod identity {
    /// The author's and committer's name.
    pub const NAME: &str = "Taskwright";
    /// The address beside the name.
    pub const EMAIL: &str = "taskwright@localhost";
    /// Seconds since 1970, in UTC.
    pub const TIME: u64 = 1_000_000_000;
    /// The message of a baseline's commit.
    pub const MESSAGE: &str = "Baseline";
}

/// How long a question may take: a status of a very large work tree on a slow disk.
const PATIENCE: Duration = Duration::from_secs(600);

/// What a repository of ours gets beside its own configuration: no objects replaced or fetched, no questions.
pub const ALONE: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_ADVICE", "0"),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
];

/// Git in a folder of somebody's repository. Their configuration holds: it decides what counts as a changed file to them, and
/// which repositories they trust. What a hook of git, or a user, has set in the environment to make it look
/// elsewhere does not.
pub fn in_folder(folder: &Path) -> Command {
    let mut command = Command::new("git");
    for name in variables().filter(|name| !name.to_string_lossy().starts_with("GIT_CONFIG_")) {
        command.env_remove(name);
    }
    command
        .current_dir(folder)
        .env("LC_ALL", "C")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        // `git status` must not rewrite the index: asking changes nothing.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null());
    command
}

/// Git on a repository of ours: nothing of the surroundings reaches it, neither environment nor configuration.
/// `path` is where programs are searched.
pub fn alone(git_dir: &Path, path: &str) -> Command {
    let mut command = Command::new("git");
    command
        .env_clear()
        .env("PATH", path)
        .env("HOME", "/nonexistent")
        .env("GIT_DIR", git_dir)
        .envs(ALONE.iter().copied())
        .current_dir("/")
        .stdin(Stdio::null());
    command
}

/// Sets who a commit is by: [`identity`].
pub fn sign(command: &mut Command) -> &mut Command {
    let time = format!("{} +0000", identity::TIME);
    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), identity::NAME)
            .env(format!("GIT_{role}_EMAIL"), identity::EMAIL)
            .env(format!("GIT_{role}_DATE"), &time);
    }
    command
}

/// Variables that a hook of git, or a user, may have set, and that would make git look elsewhere or see otherwise.
pub fn variables() -> impl Iterator<Item = OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("GIT_") && !["GIT_EXEC_PATH", "GIT_TRACE"].contains(&name.as_ref())
    })
}

/// What a git command prints.
///
/// # Errors
/// Git is not there, or what it complained of.
pub fn ask(command: &mut Command) -> Result<Vec<u8>> {
    match process::run(command, &Limits::of(PATIENCE)) {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => {
            let arguments = command.get_args().map(|argument| argument.to_string_lossy());
            let verb = arguments
                .filter(|argument| !argument.starts_with('-'))
                .find(|argument| !argument.contains('='));
            let place = match command.get_current_dir() {
                Some(folder) if folder != Path::new("/") => format!(" in `{}`", folder.display()),
                _ => String::new(),
            };
            let verb = verb.unwrap_or_default();
            Err(Error::new(format!("git {verb} failed{place}: {}", complaint(&output.stderr))))
        }
        Err(NoOutput::Failed(error)) => Err(missing(command, &error)),
        Err(NoOutput::TimedOut(time)) => {
            Err(Error::new(format!("git did not answer within {} s", time.as_secs())))
        }
        Err(NoOutput::Stopped) => Err(Error::interrupted()),
    }
}

/// The error of a git that cannot be started.
pub fn missing(command: &Command, error: &std::io::Error) -> Error {
    match command.get_current_dir() {
        Some(folder) if !folder.exists() => Error::new(format!("`{}` does not exist", folder.display())),
        _ => Error::os("starting git", error).hint("install git (`apt-get install git`, `brew install git`)"),
    }
}

/// What git complained of, on one line.
pub fn complaint(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.trim_start_matches("fatal: ").trim_start_matches("error: ").trim())
        .filter(|line| !line.is_empty() && !line.starts_with("hint:"))
        .take(4)
        .collect();
    let words: String = lines.join("; ").chars().take(400).collect();
    if words.is_empty() { "it gave no reason".to_owned() } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_of_ours_is_all_that_git_sees() {
        let folder = tempfile::tempdir().unwrap();
        let git = folder.path().join("git");
        let path = std::env::var("PATH").unwrap();
        ask(alone(&git, &path).args(["init", "--quiet", "--bare"])).unwrap();
        let listed = ask(alone(&git, &path).args(["config", "--list", "--show-origin"])).unwrap();
        let listed = String::from_utf8(listed).unwrap();
        assert!(listed.lines().all(|line| line.contains(&*git.to_string_lossy())), "{listed}");
        let error = ask(alone(&git, &path).args(["cat-file", "-e", "HEAD"])).unwrap_err();
        assert!(error.to_string().starts_with("git cat-file failed: "), "{error}");
        let error = ask(in_folder(folder.path()).args(["-c", "a.b=c", "no-such-verb"])).unwrap_err();
        let place = format!("git no-such-verb failed in `{}`: ", folder.path().display());
        assert!(error.to_string().starts_with(&place), "{error}");
        let error = ask(&mut in_folder(&folder.path().join("nowhere"))).unwrap_err();
        assert!(error.to_string().ends_with("nowhere` does not exist"), "{error}");
    }
}
