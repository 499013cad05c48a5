//! The parts of a task, and what a change of each means to earlier trials.
//!
//! A trial of ours is scored in the eval sidecar while it runs; its verifier only copies the reward out of the evidence. So
//! whatever reaches `main` or the sidecar (baseline, dataset, scorer, limits ...) takes new trials, and only what is the
//! verifier's own can be graded again.

use taskwright_harbor::change::Level;

use crate::key::{Change, Key};

taskwright_base::words! {
    /// A part of a task.
    Part {
        /// What the spec says.
        Spec = "spec",
        /// The repository that the optimizer starts from.
        Baseline = "baseline",
        /// Mode A: the rows.
        Dataset = "dataset",
        /// Mode A: the scorer.
        Scorer = "scorer",
        /// Mode B: the inner tasks.
        InnerTasks = "inner tasks",
        /// Mode B: the versions of packages.
        Requirements = "requirements",
        /// The templates.
        Templates = "templates",
        /// The binary in the images.
        Binary = "binary",
        /// The images.
        Images = "images",
        /// What the controls of the task scored.
        Controls = "controls",
        /// What the optimizer reads.
        Instruction = "instruction",
        /// What the oracle does.
        Solution = "solution",
        /// Other files: those of a task by hand, and what Taskwright writes around a spec's.
        Files = "files",
    }
}

/// What a change of something means: nothing, or a level.
type Meaning = Option<Level>;

impl Part {
    /// The part that an entry of the lock is of; none of what says nothing by itself.
    pub(super) fn of(label: &str) -> Option<Self> {
        Some(match label {
            "version" | "tree" | "harbor" => return None,
            "baseline_commit" => Self::Baseline,
            "inner_tasks" => Self::InnerTasks,
            "taskwright" | "binary" | "binary_aarch64" => Self::Binary,
            label => label.parse().unwrap_or(Self::Files),
        })
    }

    /// What a change of it means, where no more is known of it.
    pub(super) fn meaning(self) -> Meaning {
        match self {
            Self::Controls => None,
            Self::Solution => Some(Level::Patch),
            Self::Spec
            | Self::Baseline
            | Self::Dataset
            | Self::Scorer
            | Self::InnerTasks
            | Self::Requirements
            | Self::Templates
            | Self::Binary
            | Self::Images
            | Self::Instruction
            | Self::Files => Some(Level::Major),
        }
    }
}

/// What a change of these keys means, and of all below them; the first that fits holds, and any other key is major.
type Keys = &'static [(&'static str, Meaning)];

/// The keys of a spec.
const SPEC: Keys = &[
    ("version", None),
    ("description", Some(Level::Patch)),
    ("authors", Some(Level::Patch)),
    ("keywords", Some(Level::Patch)),
    ("solution", Some(Level::Patch)),
    ("task.metadata", Some(Level::Patch)),
    ("task.source", Some(Level::Patch)),
    ("task.solution", Some(Level::Patch)),
    // It runs before the verifier does, in the sidecar.
    ("task.verifier.collect", Some(Level::Major)),
    ("task.verifier", Some(Level::Minor)),
    ("images.verifier", Some(Level::Minor)),
    ("templates.tests", Some(Level::Minor)),
    ("templates.solution", Some(Level::Patch)),
];

/// Those of a `task.toml`.
const TASK_TOML: Keys = &[
    ("schema_version", Some(Level::Patch)),
    ("task.version", None),
    ("task.description", Some(Level::Patch)),
    ("task.authors", Some(Level::Patch)),
    ("task.keywords", Some(Level::Patch)),
    ("metadata", Some(Level::Patch)),
    ("source", Some(Level::Patch)),
    ("solution", Some(Level::Patch)),
    ("verifier.collect", Some(Level::Major)),
    ("verifier", Some(Level::Minor)),
];

/// The files of a task by hand, without `task.toml`, whose keys are looked at.
const FILES: Keys =
    &[("README.md", Some(Level::Patch)), ("solution/", Some(Level::Patch)), ("tests/", Some(Level::Minor))];

fn look_up(table: Keys, name: &str) -> Meaning {
    let fits = |key: &str| {
        name.strip_prefix(key)
            .is_some_and(|rest| rest.is_empty() || key.ends_with('/') || rest.starts_with(['.', '/']))
    };
    table.iter().find(|(key, _)| fits(key)).map_or(Some(Level::Major), |(_, meaning)| *meaning)
}

/// What a change of a file of a task by hand means.
pub(super) fn of_file(path: &str) -> Meaning {
    look_up(FILES, path)
}

/// Which keys of a spec are others, and what that means.
pub(super) fn of_spec(old: &serde_json::Value, new: &serde_json::Value) -> (Vec<Change>, Meaning) {
    compare(SPEC, old, new)
}

/// The same of a `task.toml`.
pub(super) fn of_task_toml(old: &serde_json::Value, new: &serde_json::Value) -> (Vec<Change>, Meaning) {
    compare(TASK_TOML, old, new)
}

fn compare(table: Keys, old: &serde_json::Value, new: &serde_json::Value) -> (Vec<Change>, Meaning) {
    let key = |value: &serde_json::Value| {
        let mut key = Key::default();
        for (name, value) in value.as_object().into_iter().flatten() {
            key.add_fields(name, value);
        }
        key
    };
    let changes = Key::changes(&key(old), &key(new));
    let meaning = changes.iter().filter_map(|change| look_up(table, &change.label)).max();
    (changes, meaning)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_the_verifiers_own_is_graded_again() {
        let level = |key: &str| look_up(SPEC, key);
        assert_eq!(level("version"), None);
        assert_eq!(level("solution.path"), Some(Level::Patch));
        assert_eq!(level("templates.tests/test.sh"), Some(Level::Minor));
        assert_eq!(level("task.verifier.timeout_sec"), Some(Level::Minor));
        for key in ["task.verifier.collect", "scorer.score", "limits.concurrency", "images.main", "versions"]
        {
            assert_eq!(level(key), Some(Level::Major), "{key}");
        }
        assert_eq!((of_file("tests/test.sh"), of_file("tests.py")), (Some(Level::Minor), Some(Level::Major)));
    }

    #[test]
    fn the_gravest_key_decides() {
        let old = json!({"description": "a", "limits": {"concurrency": 1}, "version": "1.0.0"});
        let new = json!({"description": "b", "limits": {"concurrency": 2}, "version": "2.0.0"});
        let (changes, meaning) = of_spec(&old, &new);
        assert_eq!(meaning, Some(Level::Major));
        let labels: Vec<_> = changes.iter().map(|change| change.label.as_str()).collect();
        assert_eq!(labels, ["description", "limits.concurrency", "version"]);
        let (_, meaning) = of_spec(&json!({"version": "1.0.0"}), &json!({"version": "1.1.0"}));
        assert_eq!(meaning, None);
    }

    #[test]
    fn every_entry_of_the_lock_is_of_a_part() {
        for (label, part) in [
            ("baseline_commit", Some(Part::Baseline)),
            ("binary_aarch64", Some(Part::Binary)),
            ("images", Some(Part::Images)),
            ("controls", Some(Part::Controls)),
            ("tree", None),
            ("what is new", Some(Part::Files)),
        ] {
            assert_eq!(Part::of(label), part, "{label}");
        }
    }
}
