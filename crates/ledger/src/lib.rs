//! The ledger: what every trial was, what came out of it, and what can be said about it afterwards.
//!
//! - [`record`]: a trial as it is kept.
//! - [`database`]: opening a ledger; [`query`]: reading its trials; [`add`]: writing trials that a caller made;
//!   [`import`]: taking in what Harbor wrote; [`evidence`]: reading what trials left;
//!   [`verify`] and [`gc`]: keeping it whole and small.
//! - [`statistics`]: what the numbers of trials come to; [`leaderboard`]: agents ranked by it; [`compare`]: two of them
//!   side by side; [`patterns`]: which tasks.
//! - [`export`]: trials as a file that other programs read.
//! - [`report`]: all of it as a page to look at.

pub mod add;
pub mod agent;
pub mod compare;
pub mod database;
mod difference;
mod error;
pub mod evidence;
pub mod export;
mod folder;
pub mod from_harbor;
pub mod gc;
pub mod import;
pub mod leaderboard;
pub mod paths;
pub mod patterns;
pub mod query;
pub mod record;
pub mod redact;
pub mod report;
mod schema;
pub mod statistics;
mod store;
pub mod verify;
mod write;

pub use database::{Ledger, Turn};
pub use error::{LedgerError, Result};
pub use record::{Filter, Score, Trial};
