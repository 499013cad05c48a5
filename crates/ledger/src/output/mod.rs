//! Trials for others to read: as a file for programs, and as a page for people.

pub mod export;
pub mod report;
