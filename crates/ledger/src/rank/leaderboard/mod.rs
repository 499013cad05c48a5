//! The leaderboard: agents ranked by what their trials came to, under rules that the answer repeats.

mod ask;
mod columns;
mod gather;
mod label;
mod measure;
mod model;
mod rank;
mod row;
mod rules;
#[cfg(test)]
mod tests;

pub use columns::{Column, Group, Value, columns, gain, interval};
pub(crate) use gather::{Cells, gather};
pub(crate) use label::labels;
pub(crate) use measure::{direction, measure, unlike};
pub use model::{Leaderboard, Note, TaskCells};
pub(crate) use rank::FEW_TASKS;
pub use rank::rank;
pub use row::{Cell, Estimate, PassAtK, Row, Spend};
pub(crate) use row::{cell, row, success};
pub use rules::Rules;
