//! What every crate needs once. A question that two crates would otherwise answer each in its own way is answered here.
//!
//! - [`error`]: what happened, where, and what to do about it.
//! - [`digest`]: SHA-256 of bytes and files, and how it is written.
//! - [`lock`]: one process at a time, named to whoever waits.
//! - [`write`]: files that are whole or as they were.
//! - [`chained_log`], [`journal`]: checksummed lines that are only appended to, and a loss of any of them is noticed.
//! - [`copy`]: copies with the same rights whatever the umask is.
//! - [`folder`]: opening what others wrote without following a link.
//! - [`stamp`]: whether a file is the one that was read before, without reading it.
//! - [`tree`]: which paths and links a tree of files may hold.
//! - [`rule`]: what specs are held against, by name.
//! - [`text`], [`table`]: words of unknown origin on a terminal, and columns of them.
//! - [`words!`]: enumerations whose values have one word each.
//! - [`number`]: sums and means that do not depend on the order of their values.
//! - [`student`]: Student's interval of a mean.
//! - [`process`], [`git`]: other programs, with a known environment and a time limit.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

pub mod chained_log;
pub mod copy;
pub mod digest;
pub mod error;
pub mod folder;
pub mod git;
pub mod journal;
pub mod lock;
pub mod number;
pub mod process;
pub mod rule;
pub mod stamp;
pub mod student;
pub mod table;
pub mod text;
pub mod tree;
mod words;
pub mod write;

pub use digest::Digest;
pub use error::{Error, Kind, Place, Result, failed, failed_to};
