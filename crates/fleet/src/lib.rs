//! The store that the machines of a fleet share: where it is, how it is asked, and whose word about what lies there counts.
//!
//! [`open`] gives what [`taskwright_builder`] takes steps from and leaves them in. A build never waits long for it and never fails
//! because of it: the first thing that goes wrong with the server ends its use for that build, with one warning.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

mod connect;
mod keys;
mod place;
mod remote;
mod words;

use std::env;
use std::sync::Arc;

use camino::Utf8Path;
use taskwright_builder::depot::Depot;
use taskwright_language::workspace::Fleet;

use crate::keys::Keys;
use crate::remote::Remote;

/// The variable of the environment that holds the secret half of this machine's key: 64 hexadecimal digits.
pub const KEY: &str = "TASKWRIGHT_FLEET_KEY";

/// This machine's key, if the environment has one.
pub fn own_key() -> Option<String> {
    env::var_os(KEY).map(|secret| secret.to_string_lossy().into_owned())
}

/// The store that `taskwright.toml` names, for a machine with this key; none if it names none. It is opened when it is first asked,
/// and what is wrong with it is a complaint of its own.
pub fn open(fleet: &Fleet, root: &Utf8Path, own_key: Option<&str>) -> Option<Arc<dyn Depot>> {
    let store = fleet.store.as_deref()?;
    Some(Arc::new(Remote::new(store, root, Keys::new(&fleet.trust, own_key))))
}

#[cfg(test)]
fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
