//! The optimizer's repository: commits are named, packed and uploaded by its own git.
//!
//! The repository is the one of the current folder, also where `GIT_DIR` and its like name another: git sets them for its
//! hooks, with an index that is half-made, and a hook is where an optimizer may well call this command.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use taskwright_base::{Error, git};

use super::failure::Failure;

fn git() -> Command {
    // Without replacement references: a candidate is what its commit says.
    git::in_folder(Path::new("."))
}

fn ask(arguments: &[&str]) -> Result<String, Failure> {
    let answer = git::ask(git().args(arguments)).map_err(|error| {
        let has_hint = error.hint_text().is_some();
        Failure::Here(if has_hint { error } else { error.hint("run this in the repository in /workspace") })
    })?;
    Ok(String::from_utf8_lossy(&answer).trim_end_matches('\n').to_owned())
}

pub fn commit(revision: &str) -> Result<String, Failure> {
    let asked = format!("{revision}^{{commit}}");
    ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &asked]).or_else(|_| {
        // Outside of a repository, or without git, no other name would help.
        ask(&["rev-parse", "--git-dir"])?;
        Err(Failure::here(
            format!("git knows no commit `{revision}`"),
            "name a commit, a branch or a tag; without `--commit` it is the last commit",
        ))
    })
}

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
    pub bytes: ChildStdout,
}

/// Packs a commit with all that the baseline lacks.
pub fn pack(commit: &str, baseline: &str) -> Result<Pack, Failure> {
    let known = ask(&["cat-file", "-e", baseline]).is_ok();
    let mut command = git();
    command
        .args(["pack-objects", "--revs", "--stdout", "--quiet", "--no-reuse-delta"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    let mut child = command.spawn().map_err(|error| Failure::Here(git::missing(&command, &error)))?;
    let wanted = if known { format!("{commit}\n^{baseline}\n") } else { format!("{commit}\n") };
    if let Some(mut stdin) = child.stdin.take() {
        let told = stdin.write_all(wanted.as_bytes());
        told.map_err(|error| Failure::Here(Error::os("telling git what to pack", &error)))?;
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
