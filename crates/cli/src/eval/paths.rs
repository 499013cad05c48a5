//! The paths where evaluations on this machine keep their records and what they need besides.
//!
//! ```text
//! target/taskwright/eval/TASK/SPLIT/CANDIDATE-SETTINGS/N/    a record; N counts those begun anew with --fresh
//! target/taskwright/eval/TASK/store/                         the candidates that were imported, as a git repository
//! target/taskwright/eval/inner-tasks/DIGEST/NAME/            copies of inner tasks, which all records share
//! ```

use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::time::Duration;
use taskwright_base::{Error, failed};

use anyhow::bail;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use taskwright_base::Digest;
use taskwright_base::lock::{Attempt, LockFile, Wait};
use taskwright_base::write::{self, Durable};
use taskwright_builder::Workspace;
use taskwright_eval::Candidate;

use crate::output::say;

/// The places of one task's evaluations.
pub struct Paths {
    /// The folder of all evaluations.
    root: Utf8PathBuf,
    /// The folder of this task's.
    task: Utf8PathBuf,
}

/// Whether there must be a record, or must not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// Take the record that there is, or begin one.
    Any,
    /// There must be one.
    Resume,
    /// Begin one.
    Fresh,
    /// Take the record that there is, and change nothing.
    Look,
}

impl Paths {
    /// The places of a task's evaluations.
    pub fn new(workspace: &Workspace, task: &str) -> anyhow::Result<Self> {
        let root = workspace.cache_dir().join("eval");
        let paths = Self { task: root.join(task), root };
        create(&paths.task)?;
        Ok(paths)
    }

    /// The repository of candidates.
    pub fn store(&self) -> Utf8PathBuf {
        self.task.join("store")
    }

    /// Where copies of inner tasks are.
    pub fn shared(&self) -> &Utf8Path {
        &self.root
    }

    /// Locks the repository of candidates.
    pub fn lock_store(&self) -> anyhow::Result<LockFile> {
        lock(&self.task.join("store.lock"), "imports a candidate")
    }

    /// A folder for what lives no longer than this process, locked meanwhile. Users of the sandbox must be able to come to
    /// it, so it is not below a home folder.
    pub fn runtime() -> anyhow::Result<(Utf8PathBuf, LockFile)> {
        let at_once = Wait { limit: Some(Duration::ZERO), ..Wait::none() };
        let user = rustix::process::geteuid().as_raw();
        let temporary = Utf8PathBuf::from_path_buf(std::env::temp_dir()).map_err(|path| {
            anyhow::anyhow!("the folder `{}` has a name that is not UTF-8", path.display())
        })?;
        let folder = temporary.join(format!("taskwright-eval-{user}"));
        own(&folder, user)?;
        for number in 0..1000 {
            let path = folder.join(format!("{number}.lock"));
            if let Attempt::Held(lock) = LockFile::acquire(path, &at_once)? {
                return Ok((folder.join(number.to_string()), lock));
            }
        }
        bail!("a thousand evaluations run on this machine: wait for one of them")
    }

    /// The record of a candidate on a split.
    pub fn record(
        &self,
        split: &str,
        candidate: &Candidate,
        settings: &Value,
        occasion: Occasion,
    ) -> anyhow::Result<Utf8PathBuf> {
        let tree = candidate.tree.as_str();
        let folder = self.records(split, tree, settings);
        let last = last_number(&folder)?;
        let number = match (occasion, last) {
            (Occasion::Resume, None) => bail!(
                "there is nothing to go on with: this candidate was not yet evaluated on `{split}` with these settings"
            ),
            (Occasion::Fresh, last) => last.unwrap_or(0) + 1,
            (_, last) => last.unwrap_or(1),
        };
        let record = folder.join(number.to_string());
        if occasion != Occasion::Look && !record.exists() {
            create(&record)?;
            let what =
                json!({"split": split, "tree": tree, "commit": candidate.commit, "settings": settings});
            let path = record.join("what.json");
            write::atomic(&path, Durable::No, format!("{what:#}\n").as_bytes())?;
        }
        Ok(record)
    }

    /// The last record of a tree on a split; none if there is none.
    pub fn last_record(
        &self,
        split: &str,
        tree: &str,
        settings: &Value,
    ) -> anyhow::Result<Option<Utf8PathBuf>> {
        let folder = self.records(split, tree, settings);
        Ok(last_number(&folder)?.map(|number| folder.join(number.to_string())))
    }

    /// The folder of a tree's records on a split.
    fn records(&self, split: &str, tree: &str, settings: &Value) -> Utf8PathBuf {
        let digest = Digest::of(settings.to_string().as_bytes()).short();
        self.task.join(split).join(format!("{}-{digest}", &tree[..12]))
    }
}

/// Makes a folder that others may pass through. Its name is no secret: one that somebody else has put there is refused,
/// since whoever owns it could exchange what an evaluation runs.
fn own(folder: &Utf8Path, user: u32) -> anyhow::Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o711).create(folder);
    let metadata = made.and_then(|()| std::fs::symlink_metadata(folder));
    let metadata = metadata.map_err(failed("making", folder))?;
    if !metadata.is_dir() || metadata.uid() != user {
        let error = Error::new(format!("`{folder}` is not a folder of yours"));
        return Err(error.hint("remove it, or set TMPDIR to a folder that only you write to").into());
    }
    Ok(())
}

fn create(folder: &Utf8Path) -> anyhow::Result<()> {
    Ok(std::fs::create_dir_all(folder).map_err(failed("making", folder))?)
}

/// Locks a file for as long as it takes, and says what another process does that has it.
pub fn lock(path: &Utf8Path, what: &str) -> anyhow::Result<LockFile> {
    let waiting = |holder: &str| {
        let holder = if holder.is_empty() { "another process" } else { holder };
        say(&format!("waiting: {holder} {what}"));
    };
    match LockFile::acquire(path, &Wait::told(&waiting))? {
        Attempt::Held(lock) => Ok(lock),
        Attempt::Busy(holder) => bail!("`{path}` is locked by {holder}"),
        Attempt::Stopped => Err(Error::interrupted().into()),
    }
}

/// The number of the record that was begun last.
fn last_number(folder: &Utf8Path) -> anyhow::Result<Option<u64>> {
    let entries = match folder.read_dir_utf8() {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("reading", folder)(error).into()),
    };
    let names: Vec<_> = entries.collect::<Result<_, _>>().map_err(failed("reading", folder))?;
    Ok(names.iter().filter_map(|entry| entry.file_name().parse().ok()).max())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_somebody_else_made_is_refused() {
        let room = tempfile::tempdir().unwrap();
        let room = Utf8Path::from_path(room.path()).unwrap();
        let user = rustix::process::geteuid().as_raw();
        let folder = room.join("ours");
        own(&folder, user).unwrap();
        own(&folder, user).unwrap();
        assert!(own(&folder, user + 1).unwrap_err().to_string().contains("/ours` is not a folder of yours"));
        std::os::unix::fs::symlink(&folder, room.join("link")).unwrap();
        assert!(own(&room.join("link"), user).is_err());
    }
}
