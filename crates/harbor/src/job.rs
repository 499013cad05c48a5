//! A job's folder: what it planned, what it has come to, and its trials, at Harbor's own depth and no other.
//!
//! ```text
//! JOB/config.json  JOB/lock.json  JOB/result.json     the job's own
//! JOB/TRIAL/result.json                               a trial, once it has ended
//! ```
//!
//! Files of those names anywhere deeper are something that ran in a trial, and are never looked at. Nothing here follows
//! a link, and nothing stored in a document is ever opened.

mod documents;
mod folder;
mod planned;
mod trial_folder;

pub use documents::{JobConfig, JobLock, JobResult};
pub use folder::{FolderKind, JobFolder, Trials, kind_of_folder};
pub use planned::{PlannedTrial, PlannedTrials};
pub use trial_folder::TrialFolder;

#[cfg(test)]
mod tests;
