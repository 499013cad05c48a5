//! The comparison of two agents on the tasks that both have tried.

mod ask;
mod choose;
mod model;
mod pair;
#[cfg(test)]
mod tests;

pub use model::{Comparison, Note, Side, TaskPair};
