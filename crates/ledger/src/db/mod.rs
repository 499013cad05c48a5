//! The database: opening it, its schema, and reading and writing its rows.

mod add;
mod costs;
mod database;
pub(crate) mod layout;
pub(crate) mod query;
mod schema;
pub(crate) mod write;

pub use costs::Cost;
pub use database::Ledger;
