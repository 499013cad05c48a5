//! Values of the state as bytes, and back: the one format of all that is remembered.

use serde::{Deserialize, Serialize};

pub(super) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    // Writing to memory cannot fail, and none of our types refuses to be written.
    postcard::to_stdvec(value).unwrap_or_default()
}

pub(super) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}
