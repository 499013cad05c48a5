//! A task that somebody wrote: its files are taken as they are, as far as Harbor's digest covers them.
//!
//! What lies beside them (notes, trials of `harbor run -p .`, what ignore files name) is no part of the task for Harbor, and
//! none of what is built. The digest of what is built is that of the folder.

use std::collections::BTreeSet;
use std::sync::Arc;

use taskwright_harbor::digest::{TOP_FILES, TOP_FOLDERS, hashed_paths};
use taskwright_language::by_hand::TaskByHand;

use super::Context;
use super::assemble::harbor_digest;
use super::listing;
use crate::inputs::Group;
use crate::key::{GENERATOR, Key};
use crate::lock::LockEntry;
use crate::tree::Tree;
use taskwright_base::{Digest, Error, Result};

/// The files of a task, read and checked.
pub struct Files {
    version: Option<String>,
    tree: Tree,
    harbor: Digest,
    /// What was read.
    pub group: Arc<Group>,
}

/// Reads the files of a task.
pub fn gather(context: &Context<'_>, task: &TaskByHand) -> Result<Files> {
    let folder = task.folder();
    let shown = format!("the task `{folder}`");
    let mut recorder = context.recorder();
    let mut tree = Tree::default();
    for name in TOP_FILES.into_iter().chain(TOP_FOLDERS) {
        let path = folder.join(name);
        match recorder.kind_behind(&path)? {
            None => {}
            Some(_) if TOP_FILES.contains(&name) => tree.insert(name, recorder.entry(&path, context.store)?),
            Some(_) => tree.graft(name, &recorder.tree(&path, context.store)?),
        }
    }
    // It decides what counts, and is no part of the task.
    let ignore = folder.join(".gitignore");
    if recorder.kind_behind(&ignore)?.is_some() {
        recorder.digest(&ignore)?;
    }
    let counted = hashed_paths(context.root().join(folder).as_std_path())
        .map_err(|error| Error::new(format!("{shown}: {error}")))?;
    let counted: BTreeSet<String> = counted.into_iter().collect();
    // What leads to no file (a link to a folder) Harbor passes over, and uploads.
    let tree: Tree = tree
        .iter()
        .filter(|(path, _)| counted.contains(*path) || tree.follow(path).is_none())
        .map(|(path, entry)| (path.to_owned(), entry.clone()))
        .collect();
    tree.check(&shown).and_then(|()| tree.check_scripts(&shown, folder))?;
    if !tree.holds("instruction.md") && !tree.holds("steps") {
        return Err(Error::new(format!("{shown} has neither an `instruction.md` nor `steps/`"))
            .hint("write one: Harbor loads no task without"));
    }
    // What counts and is there makes the digest of the folder; a build leaves caches out, which an ignore file there may let through.
    if let Some(path) = counted.iter().find(|path| tree.follow(path).is_none()) {
        return Err(Error::new(format!(
            "{shown} holds files that count for Harbor and cannot be built, such as `{path}`"
        ))
        .hint(
            "remove its `.gitignore` and `.harborignore`: what they name lies outside of a built task anyway",
        ));
    }
    let harbor = harbor_digest(&tree)?;
    Ok(Files { version: task.version.clone(), tree, harbor, group: Arc::new(recorder.finish()) })
}

impl Files {
    /// Everything that the task depends on, entry by entry.
    pub fn key(&self) -> Key {
        let mut key = Key::new("task by hand", 1);
        key.add("generator", GENERATOR);
        listing::add(&mut key, "file", &self.tree);
        key
    }

    /// The task's tree, and what the lock says of it.
    pub fn assemble(self) -> (Tree, LockEntry) {
        let lock = LockEntry {
            version: self.version,
            tree: self.tree.digest().to_string(),
            harbor: self.harbor.to_string(),
            ..LockEntry::default()
        };
        (self.tree, lock)
    }
}
