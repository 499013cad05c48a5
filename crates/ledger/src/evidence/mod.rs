//! What trials left: kept in packs, read back, checked, and removed when nothing refers to it any more.

mod entry;
pub mod gc;
pub(crate) mod paths;
mod read;
pub(crate) mod store;
pub mod verify;

pub(crate) use entry::Place;
