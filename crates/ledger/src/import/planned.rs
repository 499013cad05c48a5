//! What a job planned, in little memory: a lock has an entry for each attempt, and the attempts of a task are the same.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use taskwright_harbor::job::{JobLock, PlannedTrial};

use crate::from_harbor::folder_name;

/// The trials that a job planned.
#[derive(Debug)]
pub(super) struct PlannedTrials {
    /// The version of Harbor that planned them.
    pub harbor_version: Option<String>,
    /// Each kind of trial once, and how often it was planned.
    kinds: Vec<(PlannedTrial, usize)>,
}

impl PlannedTrials {
    /// What a lock says.
    pub fn new(lock: JobLock) -> Self {
        let mut kinds: Vec<(PlannedTrial, usize)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for trial in lock.trials {
            match places.entry(key(&trial)) {
                Entry::Occupied(place) => kinds[*place.get()].1 += 1,
                Entry::Vacant(place) => {
                    place.insert(kinds.len());
                    kinds.push((trial, 1));
                }
            }
        }
        Self { harbor_version: lock.harbor_version, kinds }
    }

    /// How many trials were planned.
    pub fn count(&self) -> usize {
        self.kinds.iter().map(|(_, times)| times).sum()
    }

    /// Every trial that was planned.
    pub fn iter(&self) -> impl Iterator<Item = &PlannedTrial> {
        self.kinds.iter().flat_map(|(trial, times)| std::iter::repeat_n(trial, *times))
    }

    /// The digest of each task by the name of its folder; none where there are two.
    pub fn digests(&self) -> HashMap<String, Option<String>> {
        let mut digests: HashMap<String, Option<String>> = HashMap::new();
        for (planned, _) in &self.kinds {
            let Some(folder) = planned.task_folder() else { continue };
            digests
                .entry(folder_name(folder).to_owned())
                .and_modify(|known| {
                    if *known != planned.task_digest {
                        *known = None;
                    }
                })
                .or_insert_with(|| planned.task_digest.clone());
        }
        digests
    }
}

/// All that is made of a planned trial; two that agree in it are the same.
fn key(trial: &PlannedTrial) -> String {
    let parts = [
        trial.task_name.as_deref(),
        trial.task_path.as_deref(),
        trial.task_digest.as_deref(),
        trial.agent.whole.as_ref().map(|whole| whole.get()),
        trial.environment.kind.as_deref(),
        trial.environment.import_path.as_deref(),
    ];
    parts.map(|part| part.map_or_else(|| "-".to_owned(), |part| format!("+{part}"))).join("\0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_counted_and_kinds_are_kept_apart() {
        let planned = |task: &str, digest: &str, agent: &str| {
            format!(
                r#"{{"task": {{"name": "{task}", "digest": "{digest}"}}, "agent": {{"name": "{agent}"}}}}"#
            )
        };
        let trials = [
            planned("a", "1", "x"),
            planned("a", "1", "y"),
            planned("a", "1", "x"),
            planned("b", "1", "x"),
            planned("b", "2", "x"),
        ];
        let lock = format!(r#"{{"harbor": {{"version": "0.26.0"}}, "trials": [{}]}}"#, trials.join(","));
        let plan = PlannedTrials::new(JobLock::parse(lock.as_bytes()).unwrap());
        assert_eq!(plan.harbor_version.as_deref(), Some("0.26.0"));
        assert_eq!((plan.count(), plan.iter().count(), plan.kinds.len()), (5, 5, 4));
        assert_eq!(plan.kinds[0].1, 2);
        let digests = plan.digests();
        assert_eq!((&digests["a"], &digests["b"]), (&Some("1".to_owned()), &None));
    }
}
