//! A candidate that was taken in by the task's own rules, and its files.

use anyhow::Context;
use taskwright_eval::{Candidate, Checkout, ImportLimits, Sandbox, Store};
use xtask::output::say;

use super::candidate::Files;
use super::places::Places;
use super::task::Task;

/// A candidate that is fit to be run.
pub struct Taken {
    /// What it is.
    pub candidate: Candidate,
    /// Its files, as they are in the store.
    pub checkout: Checkout,
}

/// Takes a candidate in. The store is ours alone meanwhile, and nobody's while candidates run.
pub fn take(task: &Task, places: &Places, sandbox: &Sandbox, files: &Files) -> anyhow::Result<Taken> {
    let _lock = places.hold_store(&|| say("waiting for another process that takes in a candidate"))?;
    let baseline = task.dir.join("environment/baseline");
    let store = Store::open(
        places.store().as_std_path(),
        &task.serve.baseline,
        baseline.as_std_path(),
        sandbox.clone(),
    )?;
    let candidate = store
        .take_folder(files.path(), &ImportLimits::from(&task.serve.limits))
        .with_context(|| format!("{} cannot be evaluated", files.source))?;
    let checkout = store.checkout(&candidate)?;
    Ok(Taken { candidate, checkout })
}
