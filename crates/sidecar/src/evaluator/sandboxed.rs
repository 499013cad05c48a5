//! Mode A in the sidecar: candidates in the sandbox, with a way to language models if the spec gives them one.

use std::path::Path;

use taskwright_base::Result;
use taskwright_eval::{Cancel, ModeA, ModelAccess, Plan, Sandbox};

use super::models::{Finished, Way};
use crate::runner::{Job, Ran};

pub struct Sandboxed {
    mode: ModeA,
    models: Option<Way>,
}

impl Sandboxed {
    pub fn new(mode: ModeA, models: Option<Way>) -> Self {
        Self { mode, models: models.filter(Way::is_candidates) }
    }

    pub fn sandbox(&self) -> &Sandbox {
        self.mode.sandbox()
    }

    /// Runs and scores samples, handing over each as it finishes.
    pub fn run(
        &self,
        job: &Job,
        candidate: &Path,
        samples: &[String],
        finished: &Finished<'_>,
        stop: &Cancel,
    ) -> Result<Ran> {
        let run = |models: Option<&ModelAccess>, finished: &Finished<'_>, stop: &Cancel| {
            self.mode.evaluate(&Plan { candidate, samples, models }, finished, stop);
        };
        match &self.models {
            Some(way) => way.metered(job, finished, stop, |open, finished, stop| {
                run(Some(&open.access()?), finished, stop);
                Ok(())
            }),
            None => {
                run(None, finished, stop);
                Ok(Ran::default())
            }
        }
    }
}
