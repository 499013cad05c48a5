//! What the service needs of the crate that runs candidates, so that everything else can be tried without one.

use std::path::Path;

use taskwright_base::Result;
use taskwright_eval::Cancel;
use taskwright_gateway::Usage;

use crate::api::{Candidate, Models};
use crate::events::{Purpose, Sample};
use crate::problem::Problem;

#[derive(Debug)]
pub struct Job {
    /// The evaluation's number.
    pub number: u64,
    pub purpose: Purpose,
    pub commit: String,
    /// The samples: position in the split, and id.
    pub samples: Vec<(u32, String)>,
}

/// What running a job took, besides its samples.
#[derive(Debug, Default)]
pub struct Ran {
    /// What was used of language models, where a gateway counts it.
    pub models: Option<Usage>,
    /// Whether samples were left out because nothing was left of what candidates may use of language models.
    pub spent: Option<Spent>,
}

/// When it was that nothing was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spent {
    /// Before anything was run.
    Before,
    /// While the candidate was run, which may have brought it about.
    Meanwhile,
}

pub trait Runner: Send + Sync {
    /// Imports a candidate that was uploaded as a pack; nothing in it is trusted. What is kept of it takes so many bytes
    /// of the disk at most.
    fn import(&self, upload: &Path, commit: &str, room: u64) -> Result<Candidate, Problem>;

    /// How many bytes of the disk all candidates take together.
    fn kept_bytes(&self) -> u64;

    /// Whether the same candidate always gets the same score.
    fn is_deterministic(&self) -> bool;

    /// Runs and scores samples, handing over each as it finishes. Returns early if asked to stop.
    ///
    /// An error is an infrastructure error that left samples without a result.
    fn run(&self, job: &Job, stop: &Cancel, finished: &mut (dyn FnMut(Sample) + Send)) -> Result<Ran>;

    /// What is left of language models for everybody, where a gateway counts it.
    fn models(&self) -> Result<Models> {
        Ok(Models::new())
    }

    fn bundle(&self, commits: &[String], to: &Path) -> Result<()>;
}
