//! What the service needs of the crate that runs candidates, so that everything else can be tried without one.

use std::path::Path;

use taskwright_base::Result;
use taskwright_eval::Cancel;

use crate::api::Candidate;
use crate::events::Sample;
use crate::problem::Problem;

#[derive(Debug)]
pub struct Job {
    pub commit: String,
    /// The samples: position in the split, and id.
    pub samples: Vec<(u32, String)>,
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
    fn run(&self, job: &Job, stop: &Cancel, finished: &mut (dyn FnMut(Sample) + Send)) -> Result<()>;

    fn bundle(&self, commits: &[String], to: &Path) -> Result<()>;
}
