//! Listings: which files a shared tree holds, kept once under the tree's digest, so that a key can name the tree alone
//! and an explanation can still name the file.

use crate::key::{Change, Key};
use crate::store::Store;
use crate::tree::{Entry, Tree};
use taskwright_base::Digest;
use taskwright_base::Result;

/// Adds every file of a tree to a key.
pub fn add(key: &mut Key, label: &str, tree: &Tree) {
    for (path, entry) in tree.iter() {
        let digest = entry.digest();
        let label = format!("{label} `{path}`");
        match entry {
            Entry::File { executable: true, .. } => key.add(label, format!("{digest} executable")),
            Entry::File { .. } => key.add_digest(label, digest),
            Entry::Symlink { target } => key.add(label, format!("link to {target}")),
        }
    }
}

/// Keeps the listing of a shared tree, whose digest is known.
pub fn remember(store: &Store, label: &str, tree: &Tree, digest: Digest) -> Result<()> {
    let id = id(label, digest);
    if store.step::<Key>(&id).is_none() {
        let mut listing = Key::default();
        add(&mut listing, label, tree);
        store.remember(&id, &listing)?;
    }
    Ok(())
}

/// The changes of a task with those of shared trees taken apart into files, as far as their listings are still there.
pub fn expand(store: &Store, changes: Vec<Change>) -> Vec<Change> {
    let listing = |label: &str, digest: &Option<String>| -> Option<Key> {
        store.step(&id(label, digest.as_ref()?.parse().ok()?))
    };
    changes
        .into_iter()
        .flat_map(|change| match (listing(&change.label, &change.old), listing(&change.label, &change.new)) {
            (Some(old), Some(new)) => Key::changes(&old, &new),
            _ => vec![change],
        })
        .collect()
}

fn id(label: &str, digest: Digest) -> Key {
    let mut id = Key::new("listing", 1);
    id.add("label", label);
    id.add_digest("tree", digest);
    id
}
