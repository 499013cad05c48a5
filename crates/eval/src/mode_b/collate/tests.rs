//! Collation of trials made for the purpose, shuffled and with forgeries.

// Clippy spares tests from this one, and knows only Rust's own attribute for them.
#![allow(clippy::wildcard_imports)]

mod corpus;
mod properties;
mod strangers;
mod trials;

use std::fs;

use taskwright_language::model::{Aggregate, Direction};

use self::trials::{End, Trial, planned, rules};
use super::*;
use crate::attempts::Attempts;
use crate::failure::{ErrorClass, RunErrorKind};
use crate::result::Outcome;
use taskwright_testing::test;

/// Collates trials, each written under its own name into one job.
fn collated(rules: &Rules, samples: usize, trials: &[Trial]) -> Collated {
    let folder = tempfile::tempdir().unwrap();
    for trial in trials {
        trial.write(&folder.path().join(&trial.name));
    }
    collate(&planned(samples), rules, &[folder.path()])
}

/// The one sample's result.
fn one(rules: &Rules, trials: &[Trial]) -> SampleResult {
    collated(rules, 1, trials).samples.remove(0)
}

fn counts(sample: &SampleResult) -> [u64; 6] {
    let Attempts { expected, found, graded, flagged, dead, missing, .. } =
        **sample.attempts.as_ref().unwrap();
    assert_eq!(expected, graded + dead + missing);
    [expected, found, graded, flagged, dead, missing]
}

fn message(sample: &SampleResult) -> (ErrorClass, &str) {
    match &sample.outcome {
        Outcome::Infrastructure { class, message } => (*class, message),
        other => panic!("{other:?}"),
    }
}

fn ends(ends: &[End]) -> Vec<Trial> {
    ends.iter().enumerate().map(|(n, end)| Trial::new(0, n, end.clone())).collect()
}

#[test]
fn the_mean_is_over_every_attempt() {
    let rules = rules(3, Aggregate::Mean);
    let all = one(&rules, &ends(&[End::Reward(1.0), End::Reward(0.5), End::Reward(0.0)]));
    assert_eq!((all.value, counts(&all)), (Some(0.5), [3, 3, 3, 0, 0, 0]));
    let metric =
        |sample: &SampleResult, key: &str| sample.score().and_then(|score| score.metrics.get(key).copied());
    assert_eq!((metric(&all, "speed"), Some(all.seconds)), (Some(2.0), Some(30.0)));
    // The candidate's own failure counts with the failure value, and only graded attempts have metrics.
    let failed = one(&rules, &ends(&[End::Reward(1.0), End::AgentError, End::Reward(0.5)]));
    assert_eq!((failed.value, counts(&failed)), (Some(0.5 / 3.0), [3, 3, 2, 0, 1, 0]));
    assert_eq!(metric(&failed, "reward"), Some(0.75));
    // What is not the candidate's doing is no zero, and the rest is not the mean of all.
    let broken = one(&rules, &ends(&[End::Reward(1.0), End::BuildError, End::Reward(0.5)]));
    assert_eq!((broken.value, counts(&broken)), (None, [3, 3, 2, 0, 1, 0]));
    let (class, said) = message(&broken);
    assert_eq!(class, ErrorClass::Infrastructure);
    assert_eq!(said, "2 of 3 attempts graded; t0__1: RuntimeError in environment_setup: Forbidden: quota");
    let missing = one(&rules, &ends(&[End::Reward(1.0)]));
    assert_eq!((missing.value, counts(&missing)), (None, [3, 1, 1, 0, 0, 2]));
    assert_eq!(message(&missing), (ErrorClass::Infrastructure, "1 of 3 attempts graded, 2 missing"));
    let none = one(&rules, &[]);
    assert_eq!((none.value, counts(&none)), (None, [3, 0, 0, 0, 0, 3]));
}

#[test]
fn the_best_follows_the_direction() {
    let trials = ends(&[End::Reward(0.5), End::Reward(3.0), End::AgentError]);
    let up = one(&rules(3, Aggregate::Best), &trials);
    assert_eq!((up.value, counts(&up)), (Some(3.0), [3, 3, 2, 0, 1, 0]));
    let down = Rules { direction: Direction::Minimize, ..rules(3, Aggregate::Best) };
    assert_eq!(one(&down, &trials).value, Some(0.5));
    assert_eq!(one(&down, &ends(&[End::Reward(1.0)])).value, None);
    // An attempt that failed is not better than one that was graded, whatever the failure value.
    let generous = Rules { failure_value: 9.0, ..rules(3, Aggregate::Best) };
    assert_eq!(one(&generous, &trials).value, Some(3.0));
}

#[test]
fn the_first_is_the_first_that_was_graded() {
    let rules = rules(3, Aggregate::First);
    let mut trials = ends(&[End::BuildError, End::Reward(0.25), End::Reward(1.0)]);
    assert_eq!(one(&rules, &trials).value, Some(0.25));
    trials[1].finished = 50;
    assert_eq!(one(&rules, &trials).value, Some(1.0));
    trials[2].finished = 50;
    assert_eq!(one(&rules, &trials).value, Some(0.25), "ties go by name");
    assert_eq!(one(&rules, &ends(&[End::AgentError, End::AgentError])).value, None);
    assert_eq!(one(&rules, &ends(&[End::AgentError, End::AgentError, End::AgentError])).value, Some(-1.0));
}

#[test]
fn more_attempts_than_planned_do_not_count() {
    let rules = rules(2, Aggregate::Mean);
    // What died was run again: the graded ones rank first.
    let again = one(&rules, &ends(&[End::BuildError, End::AgentError, End::Reward(1.0), End::Reward(0.0)]));
    assert_eq!((again.value, counts(&again)), (Some(0.5), [2, 4, 2, 0, 0, 0]));
    let half = one(&rules, &ends(&[End::BuildError, End::AgentError, End::Reward(1.0)]));
    assert_eq!((half.value, counts(&half)), (Some(0.0), [2, 3, 1, 0, 1, 0]));
}

#[test]
fn one_trial_found_twice_is_one_attempt() {
    let trial = Trial::new(0, 0, End::Reward(1.0));
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    trial.write(&a.path().join("x"));
    trial.write(&b.path().join("y"));
    let collated = collate(&planned(1), &rules(2, Aggregate::Mean), &[a.path(), b.path(), a.path()]);
    assert_eq!(counts(&collated.samples[0]), [2, 1, 1, 0, 0, 1]);
}

#[test]
fn exceptions_beside_a_reward_are_flagged_and_those_without_are_classed() {
    let rules = rules(1, Aggregate::Mean);
    let flagged = one(&rules, &ends(&[End::Raised("AgentTimeoutError", Some(0.5))]));
    assert_eq!((flagged.value, counts(&flagged)), (Some(0.5), [1, 1, 1, 1, 0, 0]));
    let attempt = &flagged.attempts.as_ref().unwrap().list[0];
    assert_eq!((attempt.exception.as_deref(), attempt.class), (Some("AgentTimeoutError"), None));
    let late = one(&rules, &ends(&[End::Raised("AgentTimeoutError", None)]));
    assert_eq!(late.value, Some(-1.0));
    assert!(matches!(&late.outcome, Outcome::CandidateError { kind: RunErrorKind::Timeout, .. }));
    assert_eq!(late.error_class(), Some(ErrorClass::Timeout));
    let poor = one(&rules, &ends(&[End::Raised("BudgetExceededError", Some(0.5))]));
    assert_eq!((poor.value, poor.error_class()), (Some(-1.0), Some(ErrorClass::Budget)));
    // A reward that Harbor does not count.
    let overloaded = one(&rules, &ends(&[End::HarborRaised("ApiOverloadedError", Some(0.5))]));
    assert_eq!((overloaded.value, message(&overloaded).0), (None, ErrorClass::Infrastructure));
    // The same name of the candidate's own does not take the sample out of the mean.
    for kind in ["ApiOverloadedError", "RateLimitError", "SandboxBuildFailedError", "AuthenticationError"] {
        let named = one(&rules, &ends(&[End::Raised(kind, Some(0.5))]));
        assert_eq!((named.value, named.error_class()), (Some(-1.0), Some(ErrorClass::Candidate)), "{kind}");
    }
    let judge = one(&rules, &ends(&[End::VerifierError]));
    assert_eq!((judge.value, message(&judge).0), (None, ErrorClass::Verifier));
    // The verifier never began, so it is the candidate who calls its own error that.
    let forged = one(&rules, &ends(&[End::Raised("VerifierTimeoutError", None)]));
    assert_eq!((forged.value, forged.error_class()), (Some(-1.0), Some(ErrorClass::Candidate)));
    let stopped = one(&rules, &ends(&[End::Raised("CancelledError", None)]));
    assert_eq!((stopped.value, message(&stopped).0), (None, ErrorClass::Infrastructure));
}

#[test]
fn rewards_that_cannot_be_used_are_said_to_be_so() {
    let mut rules = rules(1, Aggregate::Mean);
    let said = |rules: &Rules, rewards: &str| {
        let sample = one(rules, &ends(&[End::Rewards(rewards.to_owned())]));
        let (class, message) = message(&sample);
        assert_eq!((class, sample.value), (ErrorClass::Verifier, None));
        message.to_owned()
    };
    assert!(said(&rules, "{}").contains("the verifier reported no reward"));
    assert!(said(&rules, "[1]").contains("the rewards are a list"));
    assert!(said(&rules, r#"{"reward": null}"#).contains("the reward `reward` is null"));
    assert!(said(&rules, r#"{"reward": NaN}"#).contains("is not finite: NaN"));
    assert!(said(&rules, r#"{"a": 1, "b": 2}"#).contains("reported `a`, `b`; name one with `reward_key`"));
    rules.reward_key = Some("accuracy".to_owned());
    assert!(
        said(&rules, r#"{"reward": 1, "pass": 1}"#).contains("no `accuracy`; it reported `pass`, `reward`")
    );
    // One that is named is not exchanged, even for what would be taken if none were.
    rules.reward_key = Some("reward".to_owned());
    assert!(said(&rules, r#"{"pass": 1}"#).contains("no `reward`; it reported `pass`"));
    rules.reward_key = None;
    for (rewards, key) in [
        (r#"{"x": 0.5, "pass": 1, "reward": 0}"#, "reward"),
        (r#"{"x": 0, "pass": 1}"#, "pass"),
        (r#"{"x": 1}"#, "x"),
    ] {
        let sample = one(&rules, &ends(&[End::Rewards(rewards.to_owned())]));
        let attempt = &sample.attempts.as_ref().unwrap().list[0];
        assert_eq!((attempt.reward_key.as_deref(), attempt.reward), (Some(key), sample.value), "{rewards}");
    }
    rules.metric = "speed".to_owned();
    assert_eq!(one(&rules, &ends(&[End::Reward(0.5)])).value, Some(2.0));
    assert!(said(&rules, r#"{"reward": 1}"#).contains("the objective's metric is missing"));
}

#[test]
fn trials_are_matched_by_name_folder_and_digest() {
    let rules = rules(1, Aggregate::Mean);
    let mut twins = planned(2);
    twins[1].name = twins[0].name.clone();
    let folder = tempfile::tempdir().unwrap();
    let write = |n: u8, change: &dyn Fn(&mut Trial)| {
        let mut trial = Trial::new(0, n.into(), End::Reward(n.into()));
        change(&mut trial);
        trial.write(&folder.path().join(&trial.name));
    };
    // Two inner tasks of one name.
    write(1, &|_| {});
    write(2, &|trial| (trial.directory, trial.digest) = ("t1".to_owned(), "sha256:1".to_owned()));
    let values = |planned: &[PlannedSample]| {
        let collated = collate(planned, &rules, &[folder.path()]);
        let values: Vec<_> = collated.samples.iter().map(|sample| sample.value).collect();
        (values, collated.notes.into_iter().map(|note| (note.kind, note.reason)).collect::<Vec<_>>())
    };
    assert_eq!(values(&twins), (vec![Some(1.0), Some(2.0)], Vec::new()));
    // Without the folder they could not be told apart, but for the digest.
    for sample in &mut twins {
        sample.directory = "t0".to_owned();
    }
    fs::remove_dir_all(folder.path().join("t0__2")).unwrap();
    write(2, &|trial| trial.digest = "sha256:1".to_owned());
    assert_eq!(values(&twins).0, [Some(1.0), Some(2.0)]);
    twins[1].digest = None;
    twins[0].digest = None;
    let (none, notes) = values(&twins);
    assert_eq!((none, notes[0].1.as_str()), (vec![None, None], "it fits 2 samples of the task `acme/t0`"));
    // Foreign ones: another name, another folder, another version.
    fs::remove_dir_all(folder.path().join("t0__1")).unwrap();
    fs::remove_dir_all(folder.path().join("t0__2")).unwrap();
    write(3, &|trial| trial.task = "acme/other".to_owned());
    write(4, &|trial| trial.directory = "t9".to_owned());
    write(5, &|trial| trial.digest = "sha256:5".to_owned());
    let (none, notes) = values(&planned(1));
    assert_eq!(none, [None]);
    let reasons: Vec<_> = notes.iter().map(|(_, reason)| reason.as_str()).collect();
    assert_eq!(
        reasons,
        [
            "it is of the task `acme/other`, which is not planned",
            "it is of the task `acme/t0`, which is not planned",
            "it ran another version of the task `acme/t0`, with the digest `sha256:5`",
        ]
    );
    assert!(notes.iter().all(|(kind, _)| *kind == NoteKind::Foreign));
}

#[test]
fn old_trials_take_their_digest_from_the_jobs_lock() {
    let rules = rules(1, Aggregate::Mean);
    let folder = tempfile::tempdir().unwrap();
    let trial = folder.path().join("t0__0");
    Trial::new(0, 0, End::Reward(1.0)).write(&trial);
    fs::remove_file(trial.join("lock.json")).unwrap();
    let value = |digests: &[&str]| {
        let task = |digest| format!(r#"{{"task": {{"name": "t0", "digest": "{digest}"}}}}"#);
        let tasks: Vec<_> = digests.iter().map(task).collect();
        fs::write(folder.path().join("lock.json"), format!(r#"{{"trials": [{}]}}"#, tasks.join(",")))
            .unwrap();
        collate(&planned(1), &rules, &[folder.path()]).samples[0].value
    };
    assert_eq!(value(&["sha256:0", "sha256:0"]), Some(1.0));
    assert_eq!(value(&["sha256:7"]), None);
    // The job planned two versions, so that the name alone decides.
    assert_eq!(value(&["sha256:7", "sha256:0"]), Some(1.0));
    fs::remove_file(folder.path().join("lock.json")).unwrap();
    assert_eq!(collate(&planned(1), &rules, &[folder.path()]).samples[0].value, Some(1.0));
}

#[test]
fn what_is_half_there_is_no_reward() {
    let rules = rules(1, Aggregate::Mean);
    let kinds = |trials: &[Trial]| {
        let collated = collated(&rules, 1, trials);
        let kinds: Vec<_> = collated.notes.iter().map(|note| note.kind).collect();
        (collated.samples[0].value, counts(&collated.samples[0]), kinds)
    };
    assert_eq!(kinds(&ends(&[End::Unfinished])), (None, [1, 0, 0, 0, 0, 1], vec![NoteKind::Unfinished]));
    assert_eq!(kinds(&ends(&[End::Truncated])), (None, [1, 1, 0, 0, 1, 0], vec![NoteKind::Damaged]));
    assert_eq!(kinds(&ends(&[End::Empty])), (None, [1, 1, 0, 0, 1, 0], vec![NoteKind::Damaged]));
    // The next one is not touched by it.
    let two = kinds(&ends(&[End::Truncated, End::Reward(1.0)]));
    assert_eq!((two.0, two.1), (Some(1.0), [1, 2, 1, 0, 0, 0]));
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("my-notes/deep")).unwrap();
    std::os::unix::fs::symlink("/", folder.path().join("link__1")).unwrap();
    let collated = collate(&planned(1), &rules, &[folder.path(), &folder.path().join("nowhere")]);
    let notes: Vec<_> = collated.notes.iter().map(|note| note.reason.as_str()).collect();
    assert_eq!(notes, ["is a link, which Harbor does not put there"]);
}

#[test]
fn feedback_is_bounded_and_given_only_where_samples_may_be_seen() {
    let folder = tempfile::tempdir().unwrap();
    let trial = folder.path().join("t0__0");
    Trial::new(0, 0, End::Raised("AgentTimeoutError", Some(0.5))).write(&trial);
    for inside in ["agent", "verifier"] {
        fs::create_dir(trial.join(inside)).unwrap();
    }
    fs::write(trial.join("agent/candidate.txt"), "secret ".repeat(10_000) + "end").unwrap();
    fs::write(trial.join("agent/trajectory.json"), "[]".repeat(100_000)).unwrap();
    fs::write(trial.join("verifier/test-stdout.txt"), "é".repeat(10_000) + "last").unwrap();
    let mut rules = rules(1, Aggregate::Mean);
    let hidden = collate(&planned(1), &rules, &[folder.path()]).samples.remove(0);
    assert!(hidden.score().unwrap().feedback.is_none() && hidden.transcript.is_empty());
    assert!(!serde_json::to_string(&hidden).unwrap().contains("last"));
    rules.feedback_bytes = Some(400);
    let shown = collate(&planned(1), &rules, &[folder.path()]).samples.remove(0);
    let feedback = shown.score().unwrap().feedback.as_ref().unwrap();
    assert!(feedback.starts_with("t0__0: reward 0.5, AgentTimeoutError in agent_execution"), "{feedback}");
    assert!(
        feedback.contains("agent 4.0 s") && feedback.contains("by its agent's word 10 tokens in"),
        "{feedback}"
    );
    assert!(feedback.len() <= 400 && feedback.ends_with("éélast"), "{feedback}");
    assert!(shown.transcript.len() <= 400 && shown.transcript.ends_with("secret end"));
    for most in 0..200 {
        rules.feedback_bytes = Some(most);
        let sample = collate(&planned(1), &rules, &[folder.path()]).samples.remove(0);
        assert!(sample.score().unwrap().feedback.as_ref().unwrap().len() <= most);
    }
}

#[test]
fn old_records_are_still_read_and_new_ones_come_back() {
    let old = r#"{"id":"a","outcome":"scored","score":1.0,"metrics":{},"value":1.0,"seconds":2.0}"#;
    let read: SampleResult = serde_json::from_str(old).unwrap();
    assert_eq!((read.value, &read.attempts), (Some(1.0), &None));
    assert_eq!(serde_json::to_string(&read).unwrap(), old);
    let rules = Rules { feedback_bytes: Some(100), ..rules(3, Aggregate::Mean) };
    for end in [End::Reward(0.1), End::AgentError, End::BuildError] {
        let sample = one(&rules, &ends(&[end, End::Raised("AgentTimeoutError", None), End::Reward(1.0)]));
        let json = serde_json::to_string(&sample).unwrap();
        assert_eq!(serde_json::from_str::<SampleResult>(&json).unwrap(), sample);
    }
}
