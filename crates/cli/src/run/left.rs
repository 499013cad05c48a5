//! What is left to be done of a job that goes on.

use taskwright_base::Result;
use taskwright_experiment::dispatch::{Redo, made_again, make_way};
use taskwright_experiment::jobs::Job;
use taskwright_experiment::progress;

use super::Arguments;
use crate::import_job;
use crate::output::say;

/// Whether there is anything to be done, where nothing is to be done: no result is removed.
pub fn would_be_left(arguments: &Arguments, job: &Job) -> Result<bool> {
    Ok(!made_again(job, redo(arguments))?.is_empty() || is_missing(job)?)
}

/// Makes way for the trials that are to be made again. Says whether there is anything to be done.
pub fn is_anything_left(arguments: &Arguments, job: &Job, token: Option<&str>) -> anyhow::Result<bool> {
    // First into the ledger, so that nothing of what is made again is lost.
    import_job::import(&arguments.ledger, job, token)?;
    let removed = make_way(job, redo(arguments))?;
    if removed > 0 && !arguments.json {
        say(&format!("trials that are made again: {removed}"));
    }
    Ok(removed > 0 || is_missing(job)?)
}

fn redo(arguments: &Arguments) -> Redo {
    if arguments.failed { Redo::Failed } else { Redo::Cancelled }
}

fn is_missing(job: &Job) -> Result<bool> {
    let progress = progress::look(job)?;
    Ok(progress.planned.is_none_or(|planned| progress.ended < planned))
}
