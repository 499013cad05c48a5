//! Whose trial a trial is: told by the inner task's own name, by the name of its folder and by its digest, all of which
//! must agree as far as they are known.

use std::cell::OnceCell;
use std::collections::HashMap;

use taskwright_harbor::job::{JobFolder, PlannedTrial};

use super::PlannedSample;

/// What is known of a trial's task.
#[derive(Debug)]
pub(super) struct Evidence {
    /// The name in the task's own task.toml.
    pub name: Option<String>,
    /// The name of the task's folder.
    pub directory: Option<String>,
    /// The digest that the task had when the trial began.
    pub digest: Option<String>,
}

impl Evidence {
    /// Takes what a trial's own lock says, which is of when the trial began.
    pub fn take(&mut self, lock: &PlannedTrial) {
        self.directory = self.directory.take().or_else(|| lock.task_folder().map(str::to_owned));
        self.digest = self.digest.take().or_else(|| lock.task_digest.clone());
    }

    /// Takes the digest from the job's lock, where a trial has no lock of its own: before Harbor 0.17.1.
    pub fn take_job_lock(&mut self, plan: &JobPlan<'_>) {
        self.digest = self.directory.as_deref().and_then(|directory| plan.digest(directory));
    }
}

/// What a job's lock says of its trials, read when it is asked for.
#[derive(Debug, Default)]
pub(super) struct JobPlan<'a> {
    job: Option<&'a JobFolder>,
    lock: OnceCell<Lock>,
}

#[derive(Debug, Default)]
struct Lock {
    /// The tasks by the names of their folders.
    tasks: HashMap<String, PlannedTask>,
    /// Whether it names every trial's task in a way that is understood here.
    is_clear: bool,
}

#[derive(Debug)]
struct PlannedTask {
    /// None where there are several.
    digest: Option<String>,
    trials: u64,
}

impl<'a> JobPlan<'a> {
    pub fn of(job: &'a JobFolder) -> Self {
        Self { job: Some(job), lock: OnceCell::new() }
    }

    /// The digest of the task in a folder of that name.
    fn digest(&self, directory: &str) -> Option<String> {
        self.lock().tasks.get(directory)?.digest.clone()
    }

    /// How many trials were planned of the task in a folder of that name; none if the lock does not say.
    pub fn trials(&self, directory: &str) -> Option<u64> {
        let lock = self.lock();
        lock.tasks.get(directory).map(|task| task.trials).or_else(|| lock.is_clear.then_some(0))
    }

    fn lock(&self) -> &Lock {
        self.lock.get_or_init(|| {
            let Some(lock) = self.job.and_then(|job| job.lock().ok().flatten()) else {
                return Lock::default();
            };
            let is_clear = lock.trials.kinds().all(|trial| trial.task_path.is_some());
            let mut tasks: HashMap<String, PlannedTask> = HashMap::new();
            for trial in lock.trials.iter() {
                let Some(directory) = trial.task_folder().map(str::to_owned) else { continue };
                let new = || PlannedTask { digest: trial.task_digest.clone(), trials: 0 };
                let task = tasks.entry(directory).or_insert_with(new);
                task.trials += 1;
                if task.digest != trial.task_digest {
                    task.digest = None;
                }
            }
            Lock { tasks, is_clear }
        })
    }
}

/// The planned samples by what their trials are known by.
#[derive(Debug)]
pub(super) struct Index<'a> {
    planned: &'a [PlannedSample],
    by_directory: HashMap<&'a str, Vec<usize>>,
    by_name: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Index<'a> {
    pub fn new(planned: &'a [PlannedSample]) -> Self {
        let mut index = Self { planned, by_directory: HashMap::new(), by_name: HashMap::new() };
        for (place, sample) in planned.iter().enumerate() {
            index.by_directory.entry(&sample.directory).or_default().push(place);
            if let Some(name) = &sample.name {
                index.by_name.entry(name).or_default().push(place);
            }
        }
        index
    }

    /// The one sample that everything known fits, or why there is none.
    pub fn find(&self, evidence: &Evidence) -> Result<usize, String> {
        let Evidence { name, directory, digest } = evidence;
        let places = match (directory, name) {
            (Some(directory), _) => self.by_directory.get(directory.as_str()),
            (None, Some(name)) => self.by_name.get(name.as_str()),
            (None, None) => return Err("it does not say which task it is of".to_owned()),
        };
        let of = || {
            let name = name.as_deref().or(directory.as_deref()).unwrap_or_default();
            format!("`{}`", name.escape_debug())
        };
        let named: Vec<usize> = places
            .into_iter()
            .flatten()
            .copied()
            .filter(|place| {
                let planned = self.planned[*place].name.as_ref();
                planned.zip(name.as_ref()).is_none_or(|(planned, name)| planned == name)
            })
            .collect();
        if named.is_empty() {
            return Err(format!("it is of the task {}, which is not planned", of()));
        }
        let fits = |place: &usize| match (&self.planned[*place].digest, digest) {
            (Some(planned), Some(ran)) => planned == ran,
            _ => true,
        };
        let fitting: Vec<usize> = named.iter().copied().filter(fits).collect();
        match (fitting.as_slice(), digest) {
            ([place], _) => Ok(*place),
            ([], Some(digest)) => Err(format!(
                "it ran another version of the task {}, with the digest `{}`",
                of(),
                digest.escape_debug()
            )),
            _ => Err(format!("it fits {} samples of the task {}", fitting.len(), of())),
        }
    }
}
