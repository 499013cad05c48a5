//! A tree of files held in memory: sorted paths with content, the execute bit and symbolic links, and nothing else,
//! because nothing else may reach an output.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8Path;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use taskwright_harbor::digest::is_ignored_by_default;

use taskwright_base::digest::{Digest, Hasher};
use taskwright_base::rule::Rule;
use taskwright_base::text::clean;
use taskwright_base::tree::{Fault, check_link, check_path};
use taskwright_base::{Error, Result};

/// From this size on content is kept in the store and linked into outputs instead of copied.
pub const LARGE: u64 = 64 * 1024;

/// Files by their path from the tree's root, with `/` between parts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tree {
    entries: BTreeMap<String, Entry>,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    File {
        content: Content,
        /// Whether it can be executed.
        executable: bool,
    },
    /// A symbolic link to another place in the same tree.
    Symlink { target: String },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Few bytes, in memory and shared by all trees that hold them.
    Bytes(Arc<[u8]>, Digest),
    Blob(Blob),
}

/// The name of bytes in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    pub digest: Digest,
    pub size: u64,
}

impl Blob {
    /// Every blob that the result of a step names, in the order in which it does.
    pub fn named_in(result: &Value) -> Vec<Self> {
        match result {
            Value::Object(fields) => {
                let itself = Self::deserialize(result).ok();
                itself.into_iter().chain(fields.values().flat_map(Self::named_in)).collect()
            }
            Value::Array(items) => items.iter().flat_map(Self::named_in).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        }
    }
}

impl Content {
    pub fn bytes(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let digest = Digest::of(&bytes);
        Self::Bytes(bytes, digest)
    }

    pub fn digest(&self) -> Digest {
        match self {
            Self::Bytes(_, digest) => *digest,
            Self::Blob(blob) => blob.digest,
        }
    }
}

impl Entry {
    /// An ordinary file held in memory.
    pub fn text(text: impl Into<String>) -> Self {
        Self::File { content: Content::bytes(text.into().into_bytes()), executable: false }
    }

    /// The digest of a file's content or of a link's text.
    pub fn digest(&self) -> Digest {
        match self {
            Self::File { content, .. } => content.digest(),
            Self::Symlink { target } => Digest::of(target.as_bytes()),
        }
    }

    fn size(&self) -> u64 {
        match self {
            Self::File { content: Content::Bytes(bytes, _), .. } => bytes.len() as u64,
            Self::File { content: Content::Blob(blob), .. } => blob.size,
            Self::Symlink { .. } => 0,
        }
    }

    fn kind(&self) -> &'static [u8] {
        match self {
            Self::File { executable: false, .. } => b"file",
            Self::File { executable: true, .. } => b"executable",
            Self::Symlink { .. } => b"link",
        }
    }
}

impl Tree {
    /// Adds an entry, or puts another one in its place.
    pub fn insert(&mut self, path: impl Into<String>, entry: Entry) {
        self.entries.insert(path.into(), entry);
    }

    /// Adds all entries of another tree below a folder; an empty folder is the root.
    pub fn graft(&mut self, folder: &str, tree: &Self) {
        for (path, entry) in &tree.entries {
            let path = if folder.is_empty() { path.clone() } else { format!("{folder}/{path}") };
            self.entries.insert(path, entry.clone());
        }
    }

    /// The entries in the order of their paths' bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// The entry at a path.
    pub fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// The file that a link at a path leads to, over any number of links; none if it leads to a folder or to nothing.
    pub fn follow(&self, path: &str) -> Option<&Entry> {
        let mut path = path.to_owned();
        // A chain longer than the tree goes round in a circle.
        for _ in 0..=self.entries.len() {
            match self.entries.get(&path)? {
                Entry::Symlink { target } => {
                    let mut parts: Vec<&str> = path.split('/').collect();
                    parts.pop();
                    for part in target.split('/') {
                        match part {
                            "" | "." => {}
                            ".." => {
                                parts.pop();
                            }
                            name => parts.push(name),
                        }
                    }
                    path = parts.join("/");
                }
                file @ Entry::File { .. } => return Some(file),
            }
        }
        None
    }

    /// Whether something stands at a path or below it; the empty path is the root.
    pub fn holds(&self, path: &str) -> bool {
        let below = format!("{path}/");
        path.is_empty() && !self.is_empty()
            || self.entries.contains_key(path)
            || self.entries.range(below.clone()..).next().is_some_and(|(first, _)| first.starts_with(&below))
    }

    /// Refuses a script whose first line ends like a line of Windows: Linux looks for a program of that name, with the carriage
    /// return. A checkout with `core.autocrlf` makes such files of right ones. The tree was read from a folder.
    pub fn check_scripts(&self, what: &str, folder: &Utf8Path) -> Result<()> {
        let is_spoiled = |entry: &Entry| match entry {
            Entry::File { content: Content::Bytes(bytes, _), .. } if bytes.starts_with(b"#!") => {
                bytes.split(|byte| *byte == b'\n').next().is_some_and(|line| line.ends_with(b"\r"))
            }
            _ => false,
        };
        let spoiled: Vec<&String> =
            self.entries.iter().filter(|(_, entry)| is_spoiled(entry)).map(|(path, _)| path).collect();
        let Some((first, others)) = spoiled.split_first() else { return Ok(()) };
        let more =
            if others.is_empty() { String::new() } else { format!(", as that of {} more", others.len()) };
        Err(Error::new(format!(
            "{what} holds `{}`, whose first line `#!...` ends with a carriage return{more}: Linux finds no such program",
            clean(first)
        ))
        .hint(
            "save it with the line endings of Unix (LF), as `cargo xtask lint --fix` does where all its lines end so; if git changed \
             them (`core.autocrlf`), write `* text=auto eol=lf` into `.gitattributes` and check the files out again",
        )
        .of(Rule::LineEndings)
        .with_files(spoiled.iter().map(|path| folder.join(path).into_std_path_buf())))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many bytes its files hold.
    pub fn size(&self) -> u64 {
        self.entries.values().map(Entry::size).sum()
    }

    /// The digest of all paths, kinds and contents.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::new();
        for (path, entry) in &self.entries {
            hasher.field(path.as_bytes());
            hasher.field(entry.kind());
            hasher.field(&entry.digest().bytes());
        }
        hasher.finish()
    }

    /// Refuses what no tree may hold, and what [`Self::check_layout`] refuses.
    pub fn check(&self, what: &str) -> Result<()> {
        for (path, entry) in &self.entries {
            check_path(path).map_err(|fault| refused(what, path, fault))?;
            if let Entry::Symlink { target } = entry {
                check_link(path, target.as_bytes()).map_err(|fault| {
                    let link = format!("`{}` -> `{}`", clean(path), clean(target));
                    Error::new(format!("{what} holds {link}, which {fault}")).hint(fault.hint())
                })?;
            }
        }
        self.check_layout(what)
    }

    /// Refuses two entries of which one is a folder of the other, and names that Harbor would upload but leave out of its
    /// content digest.
    pub fn check_layout(&self, what: &str) -> Result<()> {
        for path in self.entries.keys() {
            let mut folders = path.match_indices('/').map(|(index, _)| &path[..index]);
            if let Some(folder) = folders.find(|folder| self.entries.contains_key(*folder)) {
                return Err(Error::new(format!("{what} holds `{folder}` as a file and as a folder"))
                    .hint("rename one of them"));
            }
        }
        let is_ignored =
            |path: &&String| is_ignored_by_default(path) || path.rsplit('/').next() == Some(".harborignore");
        let ignored: Vec<_> = self.entries.keys().filter(is_ignored).collect();
        let shown: Vec<_> = ignored.iter().take(10).map(|path| format!("`{}`", clean(path))).collect();
        let more = ignored.len() - shown.len();
        match (shown.join(", "), more) {
            (none, _) if none.is_empty() => Ok(()),
            (shown, 0) => Err((shown, if ignored.len() == 1 { "it" } else { "them" })),
            (shown, more) => Err((format!("{shown} and {more} more"), "them")),
        }
        .map_err(|(shown, them)| {
            Error::new(format!(
                "{what} holds {shown}, which Harbor uploads but leaves out of its content digest"
            ))
            .hint(format!("remove {them}, or rename {them}"))
        })
    }
}

impl FromIterator<(String, Entry)> for Tree {
    fn from_iter<I: IntoIterator<Item = (String, Entry)>>(entries: I) -> Self {
        Self { entries: entries.into_iter().collect() }
    }
}

/// The error of a member that no tree may hold.
pub fn refused(what: &str, path: &str, fault: Fault) -> Error {
    Error::new(format!("{what} holds `{}`, which {fault}", clean(path))).hint(fault.hint())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(entries: &[(&str, Entry)]) -> Tree {
        entries.iter().map(|(path, entry)| ((*path).to_owned(), entry.clone())).collect()
    }

    #[test]
    fn the_digest_sees_paths_kinds_and_contents() {
        let base = tree(&[("a", Entry::text("1"))]);
        assert_eq!(base.digest(), tree(&[("a", Entry::text("1"))]).digest());
        assert_ne!(base.digest(), tree(&[("b", Entry::text("1"))]).digest());
        assert_ne!(base.digest(), tree(&[("a", Entry::text("2"))]).digest());
        assert_ne!(
            base.digest(),
            tree(&[("a", Entry::File { content: Content::bytes(*b"1"), executable: true })]).digest()
        );
        assert_ne!(base.digest(), tree(&[("a", Entry::Symlink { target: "1".into() })]).digest());
    }

    #[test]
    fn a_link_may_not_leave_the_tree() {
        let link = |target: &str| {
            tree(&[("a/b", Entry::Symlink { target: target.to_owned() })]).check("the baseline")
        };
        assert!(link("../c").is_ok());
        for target in ["/etc/passwd", "../../c", "c/../../d", "c/../../../d", ""] {
            assert!(link(target).is_err(), "{target}");
        }
    }

    #[test]
    fn names_outside_the_digest_are_refused() {
        for path in ["a/__pycache__/b.pyc", ".DS_Store", "x.swp", "tests/.harborignore"] {
            assert!(tree(&[(path, Entry::text(""))]).check("the scorer").is_err(), "{path}");
        }
    }

    #[test]
    fn a_script_with_line_endings_of_windows_is_refused() {
        let script = |text: &str| {
            tree(&[("a", Entry::text("x")), ("run", Entry::text(text)), ("too/go", Entry::text(text))])
        };
        let script = |text: &str| script(text).check_scripts("it", Utf8Path::new("from/it"));
        let error = script("#!/bin/sh\r\nexit\r\n").unwrap_err();
        assert!(error.to_string().starts_with("it holds `run`, whose first line"), "{error}");
        assert!(error.to_string().contains(", as that of 1 more: "), "{error}");
        let files: Vec<_> = error.files().iter().map(|file| file.to_str().unwrap()).collect();
        assert_eq!(files, ["from/it/run", "from/it/too/go"]);
        for right in ["#!/bin/sh\nprintf 'a\r\n'\n", "text\r\nof windows\r\n", "", "#!"] {
            assert!(script(right).is_ok(), "{right:?}");
        }
    }

    #[test]
    fn what_a_tree_holds() {
        let tree = tree(&[("a-b", Entry::text("")), ("a/b/c", Entry::text(""))]);
        for (path, holds) in
            [("", true), ("a", true), ("a/b", true), ("a/b/c", true), ("a/b/c/d", false), ("b", false)]
        {
            assert_eq!(tree.holds(path), holds, "{path}");
        }
        assert!(!Tree::default().holds(""));
    }

    #[test]
    fn a_path_is_a_file_or_a_folder() {
        let both = tree(&[("a", Entry::text("")), ("a/b", Entry::text(""))]);
        assert!(both.check("the baseline").is_err());
    }
}
