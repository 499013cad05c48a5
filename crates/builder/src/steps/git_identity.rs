//! The identifiers that git gives to a baseline's files and to its commit, computed from the files alone.

use std::fs::File;
use std::io::Read;

use sha1::{Digest as _, Sha1};

use crate::error::failed;
use crate::store::Store;
use crate::tree::{Content, Entry, Tree};
use taskwright_base::Result;
use taskwright_base::digest::hex;
use taskwright_base::git::identity::{EMAIL, MESSAGE, NAME, TIME};

/// The identifier that git gives to a tree of these files, by the object format of git's own documentation: a blob is
/// `blob SIZE\0BYTES`, a tree is `tree SIZE\0` and `MODE NAME\0ID` for each entry, sorted as if folders ended in `/`.
pub fn tree(tree: &Tree, store: &Store) -> Result<String> {
    let mut blobs = Vec::new();
    for (path, entry) in tree.iter() {
        let (mode, id) = match entry {
            Entry::Symlink { target } => ("120000", object("blob", target.as_bytes())),
            Entry::File { content, executable } => {
                let mode = if *executable { "100755" } else { "100644" };
                (mode, blob(content, store)?)
            }
        };
        blobs.push((path, mode, id));
    }
    Ok(hex(&tree_below(&blobs, "")))
}

/// The tree of the entries below a folder, which `blobs` holds in path order.
fn tree_below(blobs: &[(&str, &str, [u8; 20])], folder: &str) -> [u8; 20] {
    let mut entries: Vec<(String, &str, &str, [u8; 20])> = Vec::new();
    let mut rest = blobs;
    while let Some((path, mode, id)) = rest.first() {
        let name = &path[folder.len()..];
        if let Some((child, _)) = name.split_once('/') {
            let below = format!("{folder}{child}/");
            let count = rest.iter().take_while(|(path, ..)| path.starts_with(&below)).count();
            entries.push((format!("{child}/"), "40000", child, tree_below(&rest[..count], &below)));
            rest = &rest[count..];
        } else {
            entries.push((name.to_owned(), mode, name, *id));
            rest = &rest[1..];
        }
    }
    entries.sort_by(|left, right| left.0.cmp(&right.0));
    let mut bytes = Vec::new();
    for (_, mode, name, id) in entries {
        bytes.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        bytes.extend_from_slice(&id);
    }
    object("tree", &bytes)
}

fn blob(content: &Content, store: &Store) -> Result<[u8; 20]> {
    let blob = match content {
        Content::Bytes(bytes, _) => return Ok(object("blob", bytes)),
        Content::Blob(blob) => blob,
    };
    let path = store.blob_path(blob.digest, false);
    let mut file = File::open(&path).map_err(failed("opening", &path))?;
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {}\0", blob.size));
    let mut buffer = vec![0; 128 * 1024];
    loop {
        match file.read(&mut buffer).map_err(failed("reading", &path))? {
            0 => return Ok(hasher.finalize().into()),
            count => hasher.update(&buffer[..count]),
        }
    }
}

fn object(kind: &str, bytes: &[u8]) -> [u8; 20] {
    let mut hasher = Sha1::new();
    hasher.update(format!("{kind} {}\0", bytes.len()));
    hasher.update(bytes);
    hasher.finalize().into()
}

/// The identifier of the baseline's commit of a tree.
pub fn commit(tree_id: &str) -> String {
    let who = format!("{NAME} <{EMAIL}> {TIME} +0000");
    let text = format!("tree {tree_id}\nauthor {who}\ncommitter {who}\n\n{MESSAGE}\n");
    hex(&object("commit", text.as_bytes()))
}
