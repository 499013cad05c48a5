//! What goes over the socket of root: one line asks, JSON lines answer.

use serde::{Deserialize, Serialize};

pub type Tell<'a> = &'a dyn Fn(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Seal, decide, and write all evidence.
    Finalize,
    /// Write the evidence of the work so far.
    Archive,
}

/// A line of the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// What is going on.
    Progress(String),
    /// It is done: where the evidence is, and the verdict if there is one.
    Done(serde_json::Value),
    Failed(String),
}
