//! The trials that a job planned, in little memory: a lock has an entry for each attempt, and those of a task and an agent
//! are the same.

use std::collections::HashMap;

use serde_json::value::RawValue;

use crate::document::{Kind, Problem, object, parse, parts, text};
use crate::result::{AgentConfig, EnvironmentConfig, folder_of};

/// A trial that was planned, in a job's lock, or was begun, in its own.
#[derive(Debug, Clone, Default)]
pub struct PlannedTrial {
    /// The name of the task's folder, or the name of the package.
    pub task_name: Option<String>,
    /// What kind of task: `local`, `git`, `package`.
    pub task_type: Option<String>,
    /// The digest of the task's content, `sha256:` and 64 hexadecimal digits.
    pub task_digest: Option<String>,
    /// The task's version.
    pub task_version: Option<String>,
    /// Where the task came from.
    pub task_source: Option<String>,
    /// The task's folder where it ran. Never opened.
    pub task_path: Option<String>,
    /// The agent.
    pub agent: AgentConfig,
    /// The environment.
    pub environment: EnvironmentConfig,
}

parts! { PlannedParts { task, agent, environment } }
parts! { TaskParts { name, kind = "type", digest, version, source, path } }

impl PlannedTrial {
    /// Reads a trial's own `lock.json`.
    pub fn parse(bytes: &[u8]) -> Result<Self, Problem> {
        parse(bytes, |text| serde_json::from_str(text).map(|raw: &RawValue| Self::take(raw)))?
            .ok_or(Problem::WrongKind { found: Kind::Unknown, wanted: Kind::TrialLock })
    }

    fn take(raw: &RawValue) -> Option<Self> {
        let planned = object::<PlannedParts<'_>>(Some(raw))?;
        let task = object::<TaskParts<'_>>(planned.task)?;
        Some(Self {
            task_name: text(task.name),
            task_type: text(task.kind),
            task_digest: text(task.digest),
            task_version: text(task.version),
            task_source: text(task.source),
            task_path: text(task.path),
            agent: AgentConfig::take_whole(planned.agent),
            environment: EnvironmentConfig::take(planned.environment).unwrap_or_default(),
        })
    }

    /// The name of the task's folder: the last part of its path or, if it has none, its name.
    #[must_use]
    pub fn task_folder(&self) -> Option<&str> {
        self.task_path.as_deref().and_then(folder_of).or(self.task_name.as_deref())
    }
}

/// The trials that a job planned.
#[derive(Debug, Clone, Default)]
pub struct PlannedTrials {
    /// Each kind of trial once, in the order of the lock, and how often it was planned.
    kinds: Vec<(PlannedTrial, usize)>,
}

impl PlannedTrials {
    /// Takes the entries of a lock that are trials. What is written alike is read once.
    pub(super) fn take(entries: Vec<&RawValue>) -> Self {
        let mut kinds: Vec<(PlannedTrial, usize)> = Vec::new();
        let mut known: HashMap<&str, Option<usize>> = HashMap::new();
        for entry in entries {
            let index = known.entry(entry.get()).or_insert_with(|| {
                kinds.push((PlannedTrial::take(entry)?, 0));
                Some(kinds.len() - 1)
            });
            if let Some(index) = *index {
                kinds[index].1 += 1;
            }
        }
        Self { kinds }
    }

    /// How many trials were planned.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kinds.iter().map(|(_, times)| times).sum()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Every trial that was planned; those that are the same one after the other.
    pub fn iter(&self) -> impl Iterator<Item = &PlannedTrial> {
        self.kinds.iter().flat_map(|(trial, times)| std::iter::repeat_n(trial, *times))
    }

    /// Each kind of trial once. Two kinds may still say the same in other words.
    pub fn kinds(&self) -> impl Iterator<Item = &PlannedTrial> {
        self.kinds.iter().map(|(trial, _)| trial)
    }
}

#[cfg(test)]
mod tests {
    use crate::job::JobLock;
    use taskwright_testing::test;

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
            "7".to_owned(),
            planned("a", "1", "x"),
            planned("b", "1", "x"),
            "7".to_owned(),
            planned("b", "2", "x"),
        ];
        let lock = JobLock::parse(format!(r#"{{"trials": [{}]}}"#, trials.join(",")).as_bytes()).unwrap();
        let words = |trial: &crate::job::PlannedTrial| {
            [&trial.task_name, &trial.task_digest, &trial.agent.name]
                .map(|word| word.clone().unwrap())
                .concat()
        };
        assert_eq!(lock.trials.iter().map(words).collect::<Vec<_>>(), ["a1x", "a1x", "a1y", "b1x", "b2x"]);
        assert_eq!(lock.trials.kinds().map(words).collect::<Vec<_>>(), ["a1x", "a1y", "b1x", "b2x"]);
        assert_eq!((lock.trials.len(), lock.trials.is_empty()), (5, false));
        assert!(JobLock::parse(br#"{"trials": []}"#).unwrap().trials.is_empty());
    }
}
