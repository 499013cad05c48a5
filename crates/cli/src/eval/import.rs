//! A candidate that was imported by the task's own rules, and its files.

use anyhow::Context;
use taskwright_eval::{Candidate, Checkout, ImportLimits, Sandbox, Store};

use super::candidate::Files;
use super::paths::Paths;
use super::task::Task;

/// A candidate that is fit to be run.
pub struct Imported {
    /// What it is.
    pub candidate: Candidate,
    /// Its files, as they are in the store.
    pub checkout: Checkout,
}

/// Imports a candidate. The store is locked meanwhile, and only then: not while candidates run.
pub fn import(task: &Task, paths: &Paths, sandbox: &Sandbox, files: &Files) -> anyhow::Result<Imported> {
    let _lock = paths.lock_store()?;
    let baseline = task.dir.join("environment/baseline");
    let store = Store::open(
        paths.store().as_std_path(),
        &task.serve.baseline,
        baseline.as_std_path(),
        sandbox.clone(),
    )?;
    let candidate = store
        .take_folder(files.path(), &ImportLimits::from(&task.serve.limits))
        .with_context(|| format!("{} cannot be evaluated", files.source))?;
    let checkout = store.checkout(&candidate)?;
    Ok(Imported { candidate, checkout })
}
