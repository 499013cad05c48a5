//! The optimizer's repository: commits are named, packed and uploaded by its own git.

use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::http::Failure;

fn git() -> Command {
    let mut command = Command::new("git");
    // A candidate is what its commit says, not what replacement references make of it.
    command.env("GIT_NO_REPLACE_OBJECTS", "1").stdin(Stdio::null());
    command
}

fn ask(arguments: &[&str]) -> Result<String, Failure> {
    let output = git()
        .args(arguments)
        .output()
        .map_err(|error| Failure::here(format!("git cannot be run: {error}"), "install git"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Failure::here(
            format!("git {}: {words}", arguments.first().copied().unwrap_or_default()),
            "run this in the repository in /workspace",
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
}

/// The full name of a commit.
pub fn commit(revision: &str) -> Result<String, Failure> {
    let asked = format!("{revision}^{{commit}}");
    ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &asked]).map_err(|failure| {
        match ask(&["rev-parse", "--git-dir"]) {
            Err(outside) => outside,
            Ok(_) if matches!(&failure, Failure::Here { .. }) => Failure::here(
                format!("git knows no commit `{revision}`"),
                "name a commit, a branch or a tag; without `--commit` it is the last commit",
            ),
            Ok(_) => failure,
        }
    })
}

/// How many files differ from what is committed.
pub fn uncommitted() -> usize {
    ask(&["status", "--porcelain"]).map_or(0, |text| text.lines().count())
}

/// The folder for what this command keeps; git does not look into it.
pub fn folder() -> Result<PathBuf, Failure> {
    ask(&["rev-parse", "--git-path", "taskwright"]).map(PathBuf::from)
}

/// A commit on its way as a pack.
pub struct Pack {
    child: Child,
    /// The pack's bytes.
    pub bytes: ChildStdout,
}

/// Packs a commit with all that the baseline lacks.
pub fn pack(commit: &str, baseline: &str) -> Result<Pack, Failure> {
    use std::io::Write;
    let failed = |error: std::io::Error| Failure::here(format!("git cannot be run: {error}"), "install git");
    let known = ask(&["cat-file", "-e", baseline]).is_ok();
    let mut child = git()
        .args(["pack-objects", "--revs", "--stdout", "--quiet", "--no-reuse-delta"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(failed)?;
    let wanted = if known { format!("{commit}\n^{baseline}\n") } else { format!("{commit}\n") };
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(wanted.as_bytes()).map_err(failed)?;
    }
    match child.stdout.take() {
        Some(bytes) => Ok(Pack { child, bytes }),
        None => Err(Failure::here("git has no output", "try again")),
    }
}

impl Pack {
    /// Waits for git, which must have packed everything.
    pub fn finish(self) -> Result<(), Failure> {
        drop(self.bytes);
        let mut child = self.child;
        match child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::here(
                format!("git could not pack the commit ({status})"),
                "`git fsck` shows whether the repository is damaged",
            )),
            Err(error) => Err(Failure::here(format!("waiting for git: {error}"), "try again")),
        }
    }
}
