//! A trial as the ledger keeps it, its agent, and how both are made of what Harbor wrote.

pub mod agent;
pub(crate) mod difference;
mod filter;
pub mod from_harbor;
mod parts;
mod score;
mod trial;
mod words;

pub use filter::Filter;
pub use parts::{Agent, Evidence, Exception, Provenance, Reward, Seconds, Step, Tokens};
pub use score::Score;
pub use trial::Trial;
pub use words::{Failure, Kept, Source, Status};
