//! Experiments: a manifest says which agents try which tasks; it becomes one job of Harbor, whose trials the ledger keeps.
//!
//! [`load`] reads a manifest, [`plan::plan`] finds its tasks and makes the job's configuration of it, [`Prepared::write`]
//! puts both where a run needs them, and [`progress::look`] says how far a job is, whoever runs it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::iter_over_hash_type, clippy::too_many_lines))]

mod check;
pub mod dispatch;
mod error;
pub mod inputs;
pub mod jobs;
mod load;
mod lower;
pub mod model;
mod own_models;
pub mod plan;
pub mod progress;
pub mod routes;

mod tasks;
mod variables;
pub mod waves;
mod yaml;

pub use error::ExperimentError;
pub use load::{find, load, reference_page, schema_text};
pub use model::Experiment;
pub use plan::{Plan, Prepared};
