//! The optimizer's side: talks to the service, and prints what it says.

mod connection;
pub mod diff;
pub mod eval;
pub mod failure;
mod keep;
pub mod models;
mod output;
pub mod remote;
mod repository;
pub mod show;
