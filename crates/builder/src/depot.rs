//! The store that the machines of a fleet share: what a step gave on one need not be made on another.
//!
//! ```text
//!   take:   fingerprint ──▶ statement, signed ──▶ is the key ours? ──▶ bytes, each held against its digest ──▶ local store
//!   leave:  local store ──▶ bytes that are not there yet ──▶ the statement, signed, last
//! ```
//!
//! Nothing is believed for lying there. Bytes are what their digest says, or they are not taken. Which bytes a step gave, no digest
//! says: that is a statement, and a depot hands out none but those that somebody signed whom the workspace trusts. Whatever is
//! missing, spoiled or out of reach is made here, as if there were no depot.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;

use camino::Utf8Path;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::key::Key;
use crate::store::Store;
use crate::tree::{Blob, LARGE};
use taskwright_base::Digest;

/// How many bytes of small blobs are kept together, in memory and under one name. More of them are kept each by itself.
const MOST_PACKED: u64 = 64 * 1024 * 1024;

/// Where machines leave for one another what their steps gave.
///
/// Nothing fails: what cannot be had is not there, and what is wrong becomes a complaint.
pub trait Depot: fmt::Debug + Send + Sync {
    /// What a machine that is trusted says of a step, by the step's fingerprint.
    fn statement(&self, step: Digest) -> Option<Vec<u8>>;

    /// Writes what lies there for a blob, as it is, and at most as many bytes as that has. Says whether there was something.
    fn read(&self, digest: Digest, size: u64, to: &mut dyn Write) -> bool;

    /// Is told that what lies there for a blob is something else, so that it is neither kept nor passed over in silence.
    fn spoiled(&self, digest: Digest);

    /// Whether anything can be left there.
    fn accepts(&self) -> bool;

    /// Leaves a blob, if it does not lie there yet. Says whether it does now.
    fn leave(&self, digest: Digest, size: u64, content: Content<'_>) -> bool;

    /// Signs and leaves what is said of a step.
    fn state(&self, step: Digest, statement: &[u8]);

    /// What went wrong since this was asked last, each once, for people.
    fn complaints(&self) -> Vec<String>;
}

/// The bytes of a blob that is left.
#[derive(Debug, Clone, Copy)]
pub enum Content<'a> {
    /// In memory.
    Bytes(&'a [u8]),
    /// In a file.
    File(&'a Utf8Path),
}

/// What is said of a step.
#[derive(Serialize, Deserialize)]
struct Statement {
    /// Everything that the result depends on.
    key: Key,
    result: Value,
    /// All small blobs of the result, one after the other: a baseline is hundreds of files, and each request takes its time.
    pack: Option<Blob>,
}

/// The result of a step that another machine made, with all that it names in the local store.
pub fn take<T: DeserializeOwned>(depot: &dyn Depot, store: &Store, key: &Key) -> Option<T> {
    let bytes = depot.statement(key.fingerprint())?;
    let statement: Statement = serde_json::from_slice(&bytes).ok()?;
    if statement.key != *key {
        return None;
    }
    let result = T::deserialize(&statement.result).ok()?;
    let (small, large) = blobs(&statement.result);
    if let Some(pack) = statement.pack {
        unpack(depot, store, pack, &small)?;
    }
    for blob in small.iter().chain(&large) {
        if !store.holds(*blob) && !fetch(depot, store, *blob) {
            return None;
        }
    }
    store.remember(key, &statement.result).ok()?;
    Some(result)
}

fn fetch(depot: &dyn Depot, store: &Store, blob: Blob) -> bool {
    let mut was_there = false;
    let fetched = store.add_if(blob, |to| {
        was_there = depot.read(blob.digest, blob.size, to);
    });
    if matches!(fetched, Ok(false)) && was_there {
        depot.spoiled(blob.digest);
    }
    fetched.unwrap_or(false)
}

/// Takes small blobs out of their pack, if one of them is missing.
fn unpack(depot: &dyn Depot, store: &Store, pack: Blob, small: &[Blob]) -> Option<()> {
    let total = small.iter().try_fold(0, |sum: u64, blob| sum.checked_add(blob.size))?;
    if total != pack.size || total > MOST_PACKED {
        return None;
    }
    if small.iter().all(|blob| store.holds(*blob)) {
        return Some(());
    }
    let mut bytes = Vec::new();
    if !depot.read(pack.digest, pack.size, &mut bytes) {
        return None;
    }
    if Digest::of(&bytes) != pack.digest {
        depot.spoiled(pack.digest);
        return None;
    }
    let mut rest = bytes.as_slice();
    for blob in small {
        let (content, after) = rest.split_at_checked(usize::try_from(blob.size).ok()?)?;
        if store.add_bytes(content).ok()? != *blob {
            return None;
        }
        rest = after;
    }
    Some(())
}

/// Leaves the result of a step for others: first what it names, the statement last, so that one who reads it finds the rest.
pub fn leave(depot: &dyn Depot, store: &Store, key: &Key) {
    let Some(result) = store.step::<Value>(key).filter(|_| depot.accepts()) else { return };
    let (small, large) = blobs(&result);
    let is_packed = small.len() > 1 && small.iter().map(|blob| blob.size).sum::<u64>() <= MOST_PACKED;
    let (pack, single) = if is_packed {
        let read: Result<Vec<_>, _> = small.iter().map(|blob| store.read(*blob)).collect();
        let Ok(bytes) = read.map(|contents| contents.concat()) else { return };
        let pack = Blob { digest: Digest::of(&bytes), size: bytes.len() as u64 };
        if !depot.leave(pack.digest, pack.size, Content::Bytes(&bytes)) {
            return;
        }
        (Some(pack), large)
    } else {
        (None, [small, large].concat())
    };
    for blob in single {
        let path = store.blob_path(blob.digest, false);
        if !store.holds(blob) || !depot.leave(blob.digest, blob.size, Content::File(&path)) {
            return;
        }
    }
    let statement = Statement { key: key.clone(), result, pack };
    if let Ok(bytes) = serde_json::to_vec(&statement) {
        depot.state(key.fingerprint(), &bytes);
    }
}

/// The blobs that a result names, each once: small ones, and those that are linked into outputs.
fn blobs(result: &Value) -> (Vec<Blob>, Vec<Blob>) {
    let mut seen = BTreeSet::new();
    let named = Blob::named_in(result).into_iter().filter(|blob| seen.insert(blob.digest));
    named.partition(|blob| blob.size < LARGE)
}
