//! `taskwright.lock`: for each task the digests of what it was built from and of what came out, committed beside the
//! specs so that every trial can be traced back to the spec that built it.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::AtomicBool;

use camino::Utf8Path;
use serde::{Deserialize, Serialize};

use crate::error::{advised, io_error};
use crate::evidence::{Controls, Images, line};
use crate::observe::Observer;
use crate::workspace::{Workspace, WorkspaceLock};
use taskwright_base::text::clean;
use taskwright_base::write::{Durable, atomic};
use taskwright_base::{Error, Result};

/// The version of the lock's format.
const VERSION: u64 = 1;

/// What to do with a lock that cannot be read.
const OF_A_DAMAGED: &str =
    "delete it, which resolves merge conflicts in it too, and run `cargo xtask build-tasks`";

/// What to do with a lock that says more than this version reads.
const OF_A_NEWER: &str =
    "use the newer Taskwright that wrote it; if none did, delete it, and run `cargo xtask build-tasks`";

/// What the lock says of all tasks, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lock {
    /// The entries.
    pub tasks: BTreeMap<String, LockEntry>,
    /// The digest that each base image stands for, by the name that Dockerfiles have for it.
    pub bases: BTreeMap<String, String>,
}

/// What the lock says of one task. All digests are `sha256:` and 64 hexadecimal digits. Of a task that somebody wrote there
/// are only its version, if it says one, and the two digests of its files.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
    /// The images, where they were baked. A build leaves this as it is: it is evidence of what was baked, and its own digest says
    /// whether it still is of the task as built.
    #[serde(default)]
    pub images: Option<Images>,
    /// What the task's controls scored; none as long as `validate` did not keep any. No build makes or changes it.
    #[serde(default)]
    pub controls: Option<Controls>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u64,
    #[serde(default)]
    base: BTreeMap<String, String>,
    #[serde(default)]
    task: BTreeMap<String, LockEntry>,
}

impl Lock {
    /// Reads a lock; none if there is none.
    pub fn read(path: &Utf8Path) -> Result<Option<Self>> {
        match fs::read(path) {
            Ok(bytes) => Self::parse(&bytes, path.as_str()).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("reading", path, &error)),
        }
    }

    /// The same of bytes that are there already, from a place that is shown so.
    pub fn parse(bytes: &[u8], shown: &str) -> Result<Self> {
        let bad = |what: String, hint: &str| {
            Error::new(format!("`{shown}` is not a lock that this version reads: {what}")).hint(hint)
        };
        let text = std::str::from_utf8(bytes).map_err(|_| bad("it is not text".to_owned(), OF_A_DAMAGED))?;
        parse(text).map_err(|why| match why {
            Unread::Newer(what) => bad(what, OF_A_NEWER),
            Unread::Damaged(what) => bad(what, OF_A_DAMAGED),
        })
    }

    /// Refuses a lock that a newer program wrote: written anew it would lose what this one does not know. One that is damaged is
    /// none, and can be made again.
    pub(crate) fn refuse_newer(path: &Utf8Path) -> Result<()> {
        match fs::read_to_string(path).map(|text| parse(&text)) {
            Ok(Err(Unread::Newer(what))) => {
                let what = format!("`{path}` is not a lock that this version writes: {what}");
                Err(Error::new(what).hint(OF_A_NEWER))
            }
            _ => Ok(()),
        }
    }

    /// Whether a lock says what a build does not know, by a look at its text: reading it takes longer than writing it.
    pub fn holds_evidence(path: &Utf8Path) -> bool {
        fs::read_to_string(path).is_ok_and(|text| {
            text.lines()
                .any(|line| line == "[base]" || (line.starts_with("[task.") && line.matches('.').count() > 1))
        })
    }

    /// The whole lock as text.
    pub fn text(&self) -> LockText {
        let lines: Vec<_> =
            self.tasks.iter().map(|(name, entry)| entry.lines(name) + &entry.evidence(name)).collect();
        LockText::new(&self.bases, lines.iter().map(String::as_str))
    }

    /// Whether these lines are what it says of a task.
    pub fn says(&self, name: &str, lines: &str) -> bool {
        self.tasks.get(name).is_some_and(|entry| entry.lines(name) == lines)
    }
}

/// Why a lock could not be read.
enum Unread {
    /// A newer program wrote it.
    Newer(String),
    Damaged(String),
}

/// What a lock says of each task.
fn parse(text: &str) -> Result<Lock, Unread> {
    let why = match toml::from_str::<Document>(text) {
        Ok(document) if document.version == VERSION => {
            return Ok(Lock { tasks: document.task, bases: document.base });
        }
        Ok(document) => format!("its version is {}, not {VERSION}", document.version),
        Err(error) => error.message().to_owned(),
    };
    Err(unknown(text).map_or(Unread::Damaged(why), Unread::Newer))
}

/// What a lock says that only a newer program can have written; none in one that is damaged.
fn unknown(text: &str) -> Option<String> {
    let mut document: toml::Table = toml::from_str(text).ok()?;
    let version = document.remove("version")?.as_integer()?;
    if u64::try_from(version).is_ok_and(|version| version > VERSION) {
        return Some(format!("its version is {version}, and this program knows versions up to {VERSION}"));
    }
    let tasks = document.remove("task");
    document.remove("base");
    if let Some(key) = document.keys().next() {
        return Some(format!("it says `{}`, which this version does not know", clean(key)));
    }
    let toml::Value::Table(tasks) = tasks? else { return None };
    tasks.iter().find_map(|(name, entry)| {
        let key = entry.as_table()?.iter().find(|(key, value)| !is_known(key, value))?.0;
        Some(format!("it says `{}` of `{}`, which this version does not know", clean(key), clean(name)))
    })
}

/// Whether an entry can say so: one that says nothing else, but for what every one has to say.
fn is_known(key: &str, value: &toml::Value) -> bool {
    let mut entry: toml::Table =
        ["tree", "harbor"].map(|label| (label.to_owned(), String::new().into())).into_iter().collect();
    entry.insert(key.to_owned(), value.clone());
    entry.try_into::<LockEntry>().is_ok()
}

/// Changes what the lock says besides what builds make of it, while no build is at work, and says whether it changed.
///
/// # Errors
/// The lock cannot be read or written, or what the change says.
pub fn amend(
    workspace: &Workspace,
    observer: &dyn Observer,
    stop: &AtomicBool,
    change: impl FnOnce(&mut Lock) -> Result<()>,
) -> Result<bool> {
    let _lock = WorkspaceLock::acquire(workspace, observer, stop)?;
    let path = workspace.lock_file();
    let mut lock = Lock::read(&path)?.unwrap_or_default();
    change(&mut lock)?;
    lock.text().write(&path)
}

/// A lock as text: the lines of each task, in the order of their names.
pub struct LockText(String);

impl LockText {
    /// A lock of these bases, and of tasks whose lines are these.
    pub fn new<'a>(bases: &BTreeMap<String, String>, tasks: impl IntoIterator<Item = &'a str>) -> Self {
        let mut text = format!(
            "# What each task was built from and what came out. Made by `cargo xtask build-tasks`: commit it, never edit it.\n\
             version = {VERSION}\n"
        );
        if !bases.is_empty() {
            text.push_str("\n[base]\n");
            text.extend(bases.iter().map(|(name, digest)| line(name, digest)));
        }
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
                lines.push_str(&line(label, value));
            }
        }
        lines
    }

    /// What was found out about the task after it was built, as lines of the lock.
    pub fn evidence(&self, name: &str) -> String {
        let images = self.images.as_ref().map(|images| images.lines(name)).unwrap_or_default();
        images + &self.controls.as_ref().map(|controls| controls.lines(name)).unwrap_or_default()
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
            images: None,
            controls: None,
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap().join("taskwright.lock");
        let mut lock = Lock {
            tasks: [("one".to_owned(), entry()), ("two-2".to_owned(), entry())].into(),
            ..Lock::default()
        };
        assert!(lock.text().write(&path).unwrap());
        assert!(!lock.text().write(&path).unwrap());
        assert_eq!(Lock::read(&path).unwrap().as_ref(), Some(&lock));
        assert!(!Lock::holds_evidence(&path));

        let images = Images {
            tree: "sha256:00".into(),
            inputs: "sha256:22".into(),
            harbor: "sha256:33".into(),
            digest: [("main".to_owned(), "sha256:44".to_owned()), ("a b".to_owned(), "sha256:55".to_owned())]
                .into(),
        };
        lock.tasks.get_mut("one").unwrap().images = Some(images);
        assert!(lock.text().write(&path).unwrap());
        assert!(Lock::holds_evidence(&path));
        assert_eq!(Lock::read(&path).unwrap().as_ref(), Some(&lock));
        lock.tasks.clear();
        lock.bases.insert("python:3.13".to_owned(), "sha256:66".to_owned());
        assert!(lock.text().write(&path).unwrap());
        assert!(Lock::holds_evidence(&path));
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
    fn a_lock_of_a_newer_program_is_no_damaged_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap().join("taskwright.lock");
        let said = |text: &str| {
            fs::write(&path, text).unwrap();
            let (read, newer) = (Lock::read(&path), Lock::refuse_newer(&path));
            let hint = |error: &Error| error.hint_text().unwrap_or_default().contains("newer Taskwright");
            assert_eq!(read.as_ref().is_err_and(hint), newer.as_ref().is_err_and(hint), "{text}");
            newer.err().map(|error| error.to_string().split_once("writes: ").unwrap().1.to_owned())
        };
        let entry = "tree = \"sha256:00\"\nharbor = \"sha256:11\"\n";
        let of = |more: &str| format!("version = 1\n[task.a]\n{entry}{more}");
        for (text, words) in [
            (
                "version = 9\nmore = 1\n".to_owned(),
                "its version is 9, and this program knows versions up to 1",
            ),
            ("version = 1\n[picture]\n".to_owned(), "it says `picture`, which this version does not know"),
            (of("colour = \"sha256:22\"\n"), "it says `colour` of `a`, which this version does not know"),
            (
                of("[task.a.colours]\nred = \"x\"\n"),
                "it says `colours` of `a`, which this version does not know",
            ),
        ] {
            assert_eq!(said(&text).as_deref(), Some(words), "{text}");
        }
        // The least that earlier programs wrote, and what nobody wrote.
        for text in [
            &of(""),
            "version = 1\n",
            "",
            "version = 1\n[task.a]\ntree = \"x\"\n",
            "version = \"9\"\n",
            "<<<<<<<\n",
        ] {
            assert_eq!(said(text), None, "{text}");
        }
    }

    #[test]
    fn a_damaged_lock_is_an_error_that_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap().join("taskwright.lock");
        for text in
            [&b"<<<<<<< HEAD\n"[..], b"version = 0\n", b"version = 1\n[task.a]\nspec = \"x\"\n", b"\xff\xfe"]
        {
            fs::write(&path, text).unwrap();
            assert!(Lock::read(&path).unwrap_err().hint_text().unwrap().contains("delete it"), "{text:?}");
        }
    }
}
