//! The `.harborignore` files of a task: which there are, and what they leave out.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::error::DigestError;
use super::pattern::{Dialect, IgnoreRules};

/// The file that leaves out others below `tests/` and `solution/`; never hashed itself.
pub(super) const HARBORIGNORE: &str = ".harborignore";

/// Decides by the `.harborignore` files of one task, each read when it is first needed.
pub(super) struct HarborIgnore {
    /// The task directory, resolved.
    root: PathBuf,
    /// Rules by folder relative to the root; `None` where there is no file.
    rules: BTreeMap<Vec<u8>, Option<Rc<IgnoreRules>>>,
}

impl HarborIgnore {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), rules: BTreeMap::new() }
    }

    /// Whether something in the task is left out, by its own name or, being a link, by its target's.
    pub(super) fn excludes(
        &mut self,
        name: &[u8],
        is_folder: bool,
        target: Option<&Path>,
    ) -> Result<bool, DigestError> {
        if self.excludes_name(name, is_folder)? {
            return Ok(true);
        }
        let Some(inside) = target.and_then(|target| target.strip_prefix(&self.root).ok()) else {
            return Ok(false);
        };
        let parts: Vec<_> = inside.iter().map(OsStr::as_bytes).collect();
        let target_name = parts.join(&b'/');
        if target_name == name { Ok(false) } else { self.excludes_name(&target_name, is_folder) }
    }

    fn excludes_name(&mut self, name: &[u8], is_folder: bool) -> Result<bool, DigestError> {
        if name.rsplit(|b| *b == b'/').next() == Some(HARBORIGNORE.as_bytes()) {
            return Ok(true);
        }
        if !is_scope(name, is_folder) {
            return Ok(false);
        }
        // From the top down, with the rules of every folder passed so far; the deepest that says something decides.
        let mut rules: Vec<(usize, Rc<IgnoreRules>)> = Vec::new();
        let ends = (0..name.len()).filter(|at| name[*at] == b'/').chain([name.len()]);
        let mut begin = 0;
        for end in ends {
            if let Some(found) = self.rules_of(&name[..begin.max(1) - 1])? {
                rules.push((begin, found));
            }
            begin = end + 1;
            let is_folder = is_folder || end < name.len();
            if !is_scope(&name[..end], is_folder) {
                continue;
            }
            let mut excluded = false;
            for (offset, rules) in &rules {
                let mut relative = name[*offset..end].to_vec();
                if is_folder {
                    relative.push(b'/');
                }
                excluded = rules.decide(&relative).unwrap_or(excluded);
            }
            if excluded {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn rules_of(&mut self, folder: &[u8]) -> Result<Option<Rc<IgnoreRules>>, DigestError> {
        if !is_scope(folder, true) {
            return Ok(None);
        }
        if let Some(known) = self.rules.get(folder) {
            return Ok(known.clone());
        }
        let rules = self.read(folder)?.map(Rc::new);
        self.rules.insert(folder.to_owned(), rules.clone());
        Ok(rules)
    }

    fn read(&self, folder: &[u8]) -> Result<Option<IgnoreRules>, DigestError> {
        let path = self.root.join(OsStr::from_bytes(folder)).join(HARBORIGNORE);
        match fs::symlink_metadata(&path) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(source) => return Err(DigestError::Io { action: "look at", path, source }),
        }
        let resolved = fs::canonicalize(&path).map_err(|source| DigestError::Io {
            action: "follow the link",
            path: path.clone(),
            source,
        })?;
        if !resolved.starts_with(&self.root) {
            return Err(DigestError::Outside { path });
        }
        let text = read_text(&path)?;
        IgnoreRules::parse(Dialect::Git, &text, &path).map(Some)
    }
}

/// Whether `.harborignore` files have a say about a path, or a folder's own `.harborignore` counts.
pub(super) fn is_scope(name: &[u8], is_folder: bool) -> bool {
    let mut parts = name.split(|b| *b == b'/');
    let is_root = |part: Option<&[u8]>| matches!(part, Some(b"tests" | b"solution"));
    let first = parts.next();
    let inside = if first == Some(b"steps") {
        parts.next().is_some() && is_root(parts.next())
    } else {
        is_root(first)
    };
    inside && (is_folder || parts.next().is_some())
}

/// Reads an ignore file, which must be a file and UTF-8.
pub(super) fn read_text(path: &Path) -> Result<String, DigestError> {
    let read_error = |source| DigestError::Io { action: "read", path: path.to_owned(), source };
    let metadata = fs::metadata(path).map_err(read_error)?;
    if !metadata.is_file() {
        return Err(DigestError::wrong_kind(path.to_owned(), &metadata, "a file"));
    }
    let bytes = fs::read(path).map_err(read_error)?;
    String::from_utf8(bytes).map_err(|_| DigestError::NotText { path: path.to_owned() })
}
