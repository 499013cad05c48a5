//! What is left to be done of a job that goes on.

use taskwright_experiment::dispatch::{Redo, make_way};
use taskwright_experiment::jobs::Job;
use taskwright_experiment::progress;

use super::Arguments;
use crate::import_job;
use crate::output::say;

/// Makes way for the trials that are to be made again. Says whether there is anything to be done.
pub fn is_anything_left(arguments: &Arguments, job: &Job, token: Option<&str>) -> anyhow::Result<bool> {
    // First into the ledger, so that nothing of what is made again is lost.
    import_job::import(&arguments.ledger, job, token)?;
    let redo = if arguments.failed { Redo::Failed } else { Redo::Cancelled };
    let removed = make_way(job, redo)?;
    if removed > 0 && !arguments.json {
        say(&format!("trials that are made again: {removed}"));
    }
    let progress = progress::look(job)?;
    Ok(removed > 0 || progress.planned.is_none_or(|planned| progress.ended < planned))
}
