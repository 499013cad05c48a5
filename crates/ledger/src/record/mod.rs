//! A trial as the ledger keeps it, its agent, and how both are made of what Harbor wrote.

pub mod agent;
mod counted;
pub(crate) mod difference;
mod filter;
pub mod from_harbor;
mod json;
mod parts;
pub(crate) mod score;
mod show;
mod spending;
mod texts;
mod trial;
mod value;
pub(crate) mod verdict;
mod words;

pub use filter::Filter;
pub(crate) use json::Json;
pub use parts::{Agent, Evidence, Exception, Provenance, Reward, Seconds, Step, Tokens};
pub use score::Score;
pub use show::shown;
pub use spending::{Claimed, CostSource, Metered, Used};
pub use trial::{COLUMNS, Column, Topic, Trial, exported};
pub(crate) use trial::{Origin, Row};
pub use value::Kind;
pub(crate) use value::{Field, Value, real_text, word};
pub use words::{Failure, Kept, Source, Status};
