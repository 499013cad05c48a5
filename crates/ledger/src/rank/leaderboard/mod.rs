//! The leaderboard: agents ranked by what their trials came to, under rules that the answer repeats.

mod ask;
mod gather;
mod label;
mod model;
mod rank;
mod row;
#[cfg(test)]
mod tests;

pub(crate) use gather::{Cells, gather};
pub(crate) use label::labels;
pub use model::{Cell, Leaderboard, Note, PassAtK, Row, Rules, Spend, TaskCells};
pub use rank::rank;
pub(crate) use row::{cell, row, success};
