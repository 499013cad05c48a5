//! What the tasks of trials were built from, by the lock beside the specs.

use std::collections::HashMap;
use std::path::Path;

use crate::workspace;
use camino::Utf8Path;
use taskwright_builder::lock::{Lock, LockEntry};
use taskwright_experiment::jobs::{self, Job};
use taskwright_ledger::Trial;
use taskwright_ledger::import::JobDescription;
use taskwright_ledger::record::Provenance;

/// What is known of each task, by the content digest that Harbor computes for it: what the lock says now, and what it
/// said when an experiment was run.
pub fn by_digest() -> anyhow::Result<HashMap<String, Provenance>> {
    // A ledger may be filled where there is no workspace: then nothing is known of what tasks were built from.
    let Some(workspace) = workspace::around()? else { return Ok(HashMap::new()) };
    let jobs = jobs::list(&workspace, None).unwrap_or_default();
    let mut known: HashMap<String, Provenance> = jobs.iter().flat_map(of_job).collect();
    let lock = Lock::read(&workspace.lock_file())?.unwrap_or_default();
    known.extend(lock.tasks.into_iter().map(|(spec, entry)| of_entry(spec, entry)));
    Ok(known)
}

/// What the job in a folder says of itself, if one of our experiments made it.
pub fn describe(folder: &Path) -> JobDescription {
    let Some(job) = Utf8Path::from_path(folder).and_then(Job::at) else { return JobDescription::default() };
    let Some(record) = job.record() else { return JobDescription::default() };
    JobDescription {
        provenance: of_job(&job),
        experiment: Some(record.experiment),
        reward_key: record.reward_key,
    }
}

/// What the tasks of a job were built from: what its own record says, for by now the lock may say something else.
pub fn of_job(job: &Job) -> HashMap<String, Provenance> {
    let tasks = job.record().map(|record| record.tasks).unwrap_or_default();
    tasks.into_iter().filter_map(|task| Some(of_entry(task.name, task.lock?))).collect()
}

fn of_entry(spec: String, entry: LockEntry) -> (String, Provenance) {
    let provenance = Provenance {
        spec,
        spec_digest: entry.spec,
        baseline: entry.baseline,
        dataset: entry.dataset.or(entry.inner_tasks),
    };
    (entry.harbor, provenance)
}

/// How the current lock differs from the task that a trial was made with; none if it does not, or says nothing of it.
pub fn drift(trial: &Trial) -> anyhow::Result<Option<String>> {
    let Some(digest) = &trial.task_digest else { return Ok(None) };
    let Some(workspace) = workspace::around()? else { return Ok(None) };
    let lock = Lock::read(&workspace.lock_file())?.unwrap_or_default();
    let spec = match &trial.provenance {
        Some(provenance) => Some(provenance.spec.as_str()),
        None => trial.task_folder.as_deref(),
    };
    let Some((spec, entry)) = spec.and_then(|spec| Some((spec, lock.tasks.get(spec)?))) else {
        let was = trial.provenance.as_ref().map(|provenance| &provenance.spec);
        return Ok(was.map(|spec| format!("the lock does not describe `{spec}` any more")));
    };
    let differs = entry.harbor != *digest;
    Ok(differs.then(|| format!("the lock now describes another digest for `{spec}`: {}", entry.harbor)))
}
