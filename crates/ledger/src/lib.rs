//! The ledger: what every trial was, what came out of it, and what can be said about it afterwards.
//!
//! - [`record`]: a trial as it is kept; [`redact`]: what is removed before.
//! - [`db`]: opening a ledger, reading its trials, writing trials that a caller made.
//! - [`import`]: importing what Harbor wrote.
//! - [`evidence`]: reading what trials left; keeping it sound ([`verify`]) and small ([`gc`]).
//! - [`rank`]: [`statistics`], the [`leaderboard`] and the comparison ([`compare`]) that are made of them, and which tasks
//!   they look at ([`patterns`]) and hold rewards against ([`references`]).
//! - [`output`]: trials as a file that other programs read ([`export`]), and all of it as a page ([`report`]).

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

pub mod db;
mod error;
pub mod evidence;
pub mod import;
pub mod output;
pub mod rank;
pub mod record;
pub mod redact;

pub use db::Ledger;
pub use evidence::{gc, verify};
pub use output::{export, report};
pub use rank::{compare, leaderboard, patterns, references, statistics};
pub use record::{Filter, Score, Trial, agent};

#[cfg(test)]
fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
