//! `taskwright.lock`: for each task the digests of what it was built from and of what came out, committed beside the
//! specs so that every trial can be traced back to the spec that built it.

use std::collections::BTreeMap;
use std::fs;

use camino::Utf8Path;
use serde::{Deserialize, Serialize};

use crate::error::{advised, io_error};
use taskwright_base::write::{Durable, atomic};
use taskwright_base::{Error, Result};

/// The version of the lock's format.
const VERSION: u64 = 1;

/// What the lock says of all tasks, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lock {
    /// The entries.
    pub tasks: BTreeMap<String, LockEntry>,
}

/// What the lock says of one task. All digests are `sha256:` and 64 hexadecimal digits. Of a task that somebody wrote there
/// are only its version, if it says one, and the two digests of its files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockEntry {
    /// The task's version.
    #[serde(default)]
    pub version: Option<String>,
    /// The spec with everything inherited and substituted.
    #[serde(default)]
    pub spec: Option<String>,
    /// The files of the baseline.
    #[serde(default)]
    pub baseline: Option<String>,
    /// The commit that the optimizer starts from.
    #[serde(default)]
    pub baseline_commit: Option<String>,
    /// Mode A: the files of the dataset.
    #[serde(default)]
    pub dataset: Option<String>,
    /// Mode A: the files of the scorer.
    #[serde(default)]
    pub scorer: Option<String>,
    /// Mode B: the inner tasks that splits name.
    #[serde(default)]
    pub inner_tasks: Option<String>,
    /// Mode B: the versions of packages that Harbor and the baseline are locked to.
    #[serde(default)]
    pub requirements: Option<String>,
    /// The templates.
    #[serde(default)]
    pub templates: Option<String>,
    /// The version of Taskwright that the binary is of; none where a file was named.
    #[serde(default)]
    pub taskwright: Option<String>,
    /// The `taskwright` binary for `x86_64`.
    #[serde(default)]
    pub binary: Option<String>,
    /// The one for `aarch64`.
    #[serde(default)]
    pub binary_aarch64: Option<String>,
    /// All files of the task directory, with their kinds.
    pub tree: String,
    /// The content digest that Harbor computes for the task directory.
    pub harbor: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u64,
    #[serde(default)]
    task: BTreeMap<String, LockEntry>,
}

impl Lock {
    /// Reads a lock; none if there is none.
    pub fn read(path: &Utf8Path) -> Result<Option<Self>> {
        match fs::read(path) {
            Ok(bytes) => Self::parse(&bytes, path.as_str()).map(Some).map_err(|error| {
                error.hint(
                    "delete it, which resolves merge conflicts in it too, and run `cargo xtask build-tasks`",
                )
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("reading", path, &error)),
        }
    }

    /// The same of bytes that are there already, from a place that is shown so.
    pub fn parse(bytes: &[u8], shown: &str) -> Result<Self> {
        let bad =
            |what: String| Error::new(format!("`{shown}` is not a lock that this version reads: {what}"));
        let text = std::str::from_utf8(bytes).map_err(|_| bad("it is not text".to_owned()))?;
        let document: Document = toml::from_str(text).map_err(|error| bad(error.message().to_owned()))?;
        if document.version != VERSION {
            return Err(bad(format!("its version is {}, not {VERSION}", document.version)));
        }
        Ok(Self { tasks: document.task })
    }

    /// Whether these lines are what it says of a task.
    pub fn says(&self, name: &str, lines: &str) -> bool {
        self.tasks.get(name).is_some_and(|entry| entry.lines(name) == lines)
    }
}

/// A lock as text: the lines of each task, in the order of their names.
pub struct LockText(String);

impl LockText {
    /// A lock of tasks whose lines are these.
    pub fn new<'a>(tasks: impl IntoIterator<Item = &'a str>) -> Self {
        let mut text = format!(
            "# What each task was built from and what came out. Made by `cargo xtask build-tasks`: commit it, never edit it.\n\
             version = {VERSION}\n"
        );
        text.extend(tasks);
        Self(text)
    }

    /// Writes the lock if it differs from what is there, and says whether it did.
    pub fn write(&self, path: &Utf8Path) -> Result<bool> {
        let Self(text) = self;
        if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
            return Ok(false);
        }
        atomic(path, Durable::Yes, text.as_bytes()).map_err(advised)?;
        Ok(true)
    }
}

impl LockEntry {
    /// The entry as lines of the lock. One group of lines a task, so that two branches that change two tasks merge.
    pub fn lines(&self, name: &str) -> String {
        // Names are `[a-z0-9-]`; a version may be anything that somebody wrote.
        let mut lines = format!("\n[task.{name}]\n");
        for (label, value) in self.fields() {
            if let Some(value) = value {
                lines.push_str(&format!("{label} = {}\n", toml::Value::from(value)));
            }
        }
        lines
    }

    fn fields(&self) -> [(&'static str, Option<&str>); 14] {
        [
            ("version", self.version.as_deref()),
            ("spec", self.spec.as_deref()),
            ("baseline", self.baseline.as_deref()),
            ("baseline_commit", self.baseline_commit.as_deref()),
            ("dataset", self.dataset.as_deref()),
            ("scorer", self.scorer.as_deref()),
            ("inner_tasks", self.inner_tasks.as_deref()),
            ("requirements", self.requirements.as_deref()),
            ("templates", self.templates.as_deref()),
            ("taskwright", self.taskwright.as_deref()),
            ("binary", self.binary.as_deref()),
            ("binary_aarch64", self.binary_aarch64.as_deref()),
            ("tree", Some(&self.tree)),
            ("harbor", Some(&self.harbor)),
        ]
    }

    /// What differs in `new`, as `label: old -> new`.
    pub fn differences(&self, new: &Self) -> Vec<String> {
        let show = |value: Option<&str>| {
            let value = value.unwrap_or("none");
            value.get(..19).unwrap_or(value).to_owned()
        };
        self.fields()
            .into_iter()
            .zip(new.fields())
            .filter(|(old, new)| old != new)
            .map(|((label, old), (_, new))| format!("{label}: {} -> {}", show(old), show(new)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> LockEntry {
        LockEntry {
            version: Some("1.0.0".into()),
            spec: Some("sha256:aa".into()),
            baseline: Some("sha256:bb".into()),
            baseline_commit: Some("cc".into()),
            dataset: Some("sha256:dd".into()),
            scorer: None,
            inner_tasks: None,
            requirements: None,
            templates: Some("sha256:ee".into()),
            taskwright: Some("0.1.0".into()),
            binary: Some("sha256:ff".into()),
            binary_aarch64: None,
            tree: "sha256:00".into(),
            harbor: "sha256:11".into(),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap().join("taskwright.lock");
        let lock = Lock { tasks: [("one".to_owned(), entry()), ("two-2".to_owned(), entry())].into() };
        let lines: Vec<_> = lock.tasks.iter().map(|(name, entry)| entry.lines(name)).collect();
        let text = LockText::new(lines.iter().map(String::as_str));
        assert!(text.write(&path).unwrap());
        assert!(!text.write(&path).unwrap());
        assert_eq!(Lock::read(&path).unwrap(), Some(lock));
    }

    #[test]
    fn a_difference_names_the_field() {
        let new =
            LockEntry { dataset: Some("sha256:d2".into()), scorer: Some("sha256:ss".into()), ..entry() };
        assert_eq!(
            entry().differences(&new),
            ["dataset: sha256:dd -> sha256:d2", "scorer: none -> sha256:ss"]
        );
    }

    #[test]
    fn a_damaged_lock_is_an_error_that_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap().join("taskwright.lock");
        for text in
            [&b"<<<<<<< HEAD\n"[..], b"version = 9\n", b"version = 1\n[task.a]\nspec = \"x\"\n", b"\xff\xfe"]
        {
            fs::write(&path, text).unwrap();
            assert!(Lock::read(&path).unwrap_err().hint_text().unwrap().contains("delete it"), "{text:?}");
        }
    }
}
