//! Controls by the lock: whether a task can be believed by what it says, and how what `validate` found is kept there.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use taskwright_base::{Error, Result};

use crate::evidence::{Controls, Outcome};
use crate::lock::{self, LockEntry};
use crate::observe::Observer;
use crate::workspace::Workspace;

const AGAIN: &str = "run `cargo xtask validate`, look at what it says, and commit `taskwright.lock`";

/// What controls came to that were run against what an entry describes.
pub fn against(entry: &LockEntry, outcomes: BTreeMap<String, Outcome>) -> Controls {
    Controls {
        spec: entry.spec.clone(),
        baseline: entry.baseline.clone(),
        dataset: entry.dataset.clone(),
        scorer: entry.scorer.clone(),
        inner_tasks: entry.inner_tasks.clone(),
        outcomes,
    }
}

/// Why a task cannot be believed, by what the lock says of its controls; none if it can, or if somebody wrote it by hand: such a
/// task has no samples that a control could be scored on.
pub(crate) fn unproven(name: &str, entry: &LockEntry) -> Option<Error> {
    entry.spec.as_ref()?;
    let Some(controls) = &entry.controls else {
        return Some(Error::new(format!("the controls of `{name}` were never run")).hint(AGAIN));
    };
    let now = against(entry, BTreeMap::new());
    let changed: Vec<_> =
        now.digests().into_iter().zip(controls.digests()).filter(|(now, then)| now != then).collect();
    if !changed.is_empty() {
        let labels: Vec<_> = changed.iter().map(|((label, _), _)| format!("`{label}`")).collect();
        let what = format!(
            "the controls of `{name}` were run against something else: {} changed since",
            labels.join(", ")
        );
        return Some(Error::new(what).hint(AGAIN));
    }
    (!controls.passed()).then(|| {
        let wrong: Vec<_> = controls.not_passed().into_iter().map(|name| format!("`{name}`")).collect();
        let which = if wrong.is_empty() { "`baseline`, which is missing".to_owned() } else { wrong.join(", ") };
        Error::new(format!("controls of `{name}` did not pass: {which}")).hint(format!(
            "`cargo xtask validate {name}` says what they scored; mend the task, or waive a control with its reason in `[controls.waived]`"
        ))
    })
}

/// Keeps in the lock what the controls of a task came to.
///
/// # Errors
/// The lock cannot be read or written, or says nothing of the task.
pub fn keep(
    workspace: &Workspace,
    task: &str,
    controls: Controls,
    observer: &dyn Observer,
    stop: &AtomicBool,
) -> Result<bool> {
    lock::amend(workspace, observer, stop, |lock| {
        let entry = lock.tasks.get_mut(task).ok_or_else(|| {
            Error::new(format!("the lock says nothing of `{task}`"))
                .hint("run `cargo xtask build-tasks`, and then this again")
        })?;
        entry.controls = Some(controls);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::Lock;
    use taskwright_language::model::Verdict;

    fn entry(outcomes: &[(&str, Verdict)]) -> LockEntry {
        let mut entry = LockEntry {
            spec: Some("sha256:aa".into()),
            scorer: Some("sha256:bb".into()),
            tree: "sha256:00".into(),
            harbor: "sha256:11".into(),
            ..LockEntry::default()
        };
        let outcome = |verdict| Outcome { verdict, score: Some(0.5), reason: None };
        let outcomes = outcomes.iter().map(|(name, verdict)| ((*name).to_owned(), outcome(*verdict)));
        entry.controls = Some(against(&entry, outcomes.collect()));
        entry
    }

    fn said(entry: &LockEntry) -> String {
        unproven("x", entry).map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_task_is_believed_when_all_its_controls_passed_against_what_it_is_made_of() {
        let good = entry(&[("baseline", Verdict::Pass), ("clock", Verdict::NotApplicable)]);
        assert_eq!(said(&good), "");
        assert!(said(&LockEntry { controls: None, ..good.clone() }).contains("never run"));
        let changed = LockEntry { scorer: Some("sha256:cc".into()), ..good.clone() };
        assert!(said(&changed).contains("`scorer` changed since"), "{}", said(&changed));
        let unlabelled = LockEntry { dataset: Some("sha256:dd".into()), ..good };
        assert!(said(&unlabelled).contains("`dataset` changed since"));
        assert!(said(&entry(&[("oracle", Verdict::Pass)])).contains("`baseline`, which is missing"));
        for verdict in [Verdict::Fail, Verdict::NotMeasured] {
            let bad = entry(&[("baseline", Verdict::Pass), ("empty", verdict)]);
            assert!(said(&bad).contains("did not pass: `empty`"), "{}", said(&bad));
        }
    }

    #[test]
    fn a_task_written_by_hand_has_no_controls() {
        let by_hand = LockEntry { spec: None, scorer: None, controls: None, ..entry(&[]) };
        assert!(unproven("x", &by_hand).is_none());
    }

    #[test]
    fn what_is_kept_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(camino::Utf8Path::from_path(folder.path()).unwrap());
        std::fs::create_dir_all(workspace.lock_file().parent().unwrap()).unwrap();
        let mut task = entry(&[("baseline", Verdict::Pass)]);
        let mut controls = task.controls.take().unwrap();
        controls.outcomes.insert(
            "replay".into(),
            Outcome {
                verdict: Verdict::NotApplicable,
                score: None,
                reason: Some("one\n\"instance\"".into()),
            },
        );
        Lock { tasks: [("x".to_owned(), task)].into(), ..Lock::default() }
            .text()
            .write(&workspace.lock_file())
            .unwrap();
        let keep =
            |task: &str| keep(&workspace, task, controls.clone(), &crate::Silent, &AtomicBool::new(false));
        assert!(keep("x").unwrap());
        assert!(!keep("x").unwrap());
        assert!(keep("y").unwrap_err().to_string().contains("says nothing of `y`"));
        controls.outcomes.get_mut("replay").unwrap().reason = Some("one \"instance\"".into());
        let lock = Lock::read(&workspace.lock_file()).unwrap().unwrap();
        assert_eq!(lock.tasks["x"].controls.as_ref(), Some(&controls));
    }
}
