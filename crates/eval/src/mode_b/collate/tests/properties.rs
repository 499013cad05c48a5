//! What must never change a result: where trials lie, in which order they were written or are read, and what ran in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use taskwright_language::model::{Aggregate, Direction};
use taskwright_testing::test;

use super::super::*;
use super::trials::{End, Trial, planned, rules};

fn any_end() -> impl Strategy<Value = End> {
    let reward = prop_oneof![Just(0.0), Just(0.1), Just(0.3), Just(1.0), -1e6..1e6];
    prop_oneof![
        6 => reward.clone().prop_map(End::Reward),
        1 => reward.prop_map(|reward| End::Raised("AgentTimeoutError", Some(reward))),
        1 => Just(End::Rewards(r#"{"reward": NaN}"#.to_owned())),
        1 => Just(End::Raised("AgentTimeoutError", None)),
        1 => Just(End::VerifierError),
        1 => Just(End::AgentError),
        1 => Just(End::BuildError),
        1 => Just(End::Truncated),
        1 => Just(End::Empty),
        1 => Just(End::Unfinished),
    ]
}

/// Trials of two planned samples and of one that is not; some end at one time.
fn any_trials() -> impl Strategy<Value = Vec<Trial>> {
    let trial = (0..3_usize, any_end(), 20..24_u32);
    prop::collection::vec(trial, 0..12).prop_map(|trials| {
        let numbered = trials.into_iter().enumerate();
        numbered
            .map(|(n, (sample, end, finished))| Trial { finished, ..Trial::new(sample, n, end) })
            .collect()
    })
}

fn any_rules() -> impl Strategy<Value = Rules> {
    let aggregate = prop_oneof![Just(Aggregate::Mean), Just(Aggregate::Best), Just(Aggregate::First)];
    let direction = prop_oneof![Just(Direction::Maximize), Just(Direction::Minimize)];
    (1..5_u64, aggregate, direction)
        .prop_map(|(attempts, aggregate, direction)| Rules { direction, ..rules(attempts, aggregate) })
}

/// Where each trial lies: its job, its place among those that are written, its folder's name, its files' age in seconds.
type Places = Vec<(usize, u32, u32, u64)>;

/// Writes trials, each into some job, in some order, under some name, and gives the files some age.
fn written(root: &Path, trials: &[Trial], places: &Places) -> Vec<PathBuf> {
    let mut order: Vec<_> = trials.iter().zip(places).enumerate().collect();
    order.sort_by_key(|(n, (_, place))| (place.1, *n));
    for (n, (trial, (job, _, name, age))) in order {
        // Where the result cannot be read, its folder's name is all there is to call the trial by.
        let name = match trial.end {
            End::Truncated | End::Empty => trial.name.clone(),
            _ => format!("{name:08x}__{n}"),
        };
        let folder = root.join(format!("job{job}")).join(name);
        trial.write(&folder);
        for entry in fs::read_dir(&folder).unwrap() {
            let file = fs::File::options().append(true).open(entry.unwrap().path()).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(*age)).unwrap();
        }
    }
    (0..3).map(|job| root.join(format!("job{job}"))).collect()
}

fn any_places() -> impl Strategy<Value = Places> {
    prop::collection::vec((0..3_usize, any::<u32>(), any::<u32>(), 0..2_000_000_000_u64), 12)
}

/// What does not say where something lies.
fn essence(collated: &Collated) -> (&[SampleResult], Vec<(NoteKind, &str)>) {
    let mut notes: Vec<_> = collated.notes.iter().map(|note| (note.kind, note.reason.as_str())).collect();
    notes.sort_unstable();
    (&collated.samples, notes)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn places_names_ages_and_orders_decide_nothing(
        trials in any_trials(),
        rules in any_rules(),
        one in any_places(),
        other in any_places(),
        jobs in Just(vec![0_usize, 1, 2]).prop_shuffle(),
    ) {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let plan = planned(2);
        let first = collate(&plan, &rules, &written(here.path(), &trials, &one));
        let paths = written(there.path(), &trials, &other);
        let shuffled: Vec<_> = jobs.iter().map(|job| &paths[*job]).collect();
        let second = collate(&plan, &rules, &shuffled);
        prop_assert_eq!(essence(&first), essence(&second));
        let reversed: Vec<_> = plan.iter().rev().cloned().collect();
        let mut third = collate(&reversed, &rules, &paths);
        third.samples.reverse();
        prop_assert_eq!(essence(&first), essence(&third));
    }

    #[test]
    fn who_ended_when_under_which_name_decides_no_mean_and_no_best(
        trials in any_trials(),
        rules in any_rules(),
        places in any_places(),
        order in Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        prop_assume!(rules.aggregate != Aggregate::First);
        // All attempts count, so that none is left out for having ended last.
        let rules = Rules { attempts: 12, ..rules };
        let shuffled: Vec<_> = trials.iter().enumerate().map(|(n, trial)| {
            let other = Trial::new(9, order[n], End::Unfinished);
            Trial { name: other.name, id: other.id, finished: other.finished, ..trial.clone() }
        }).collect();
        let values = |trials: &[Trial]| {
            let folder = tempfile::tempdir().unwrap();
            let collated = collate(&planned(2), &rules, &written(folder.path(), trials, &places));
            let value = |sample: &SampleResult| {
                let attempts = sample.attempts.as_ref().unwrap();
                let metrics = sample.score().map(|score| (score.score, score.metrics.clone()));
                (sample.value, metrics, sample.error_class(), attempts.graded, attempts.dead, attempts.missing)
            };
            collated.samples.iter().map(value).collect::<Vec<_>>()
        };
        prop_assert_eq!(values(&trials), values(&shuffled));
    }

    #[test]
    fn nothing_below_a_trial_decides_anything(
        trials in any_trials(),
        rules in any_rules(),
        places in any_places(),
        forged in any_trials(),
        depths in prop::collection::vec((0..12_usize, 0..6_usize), 12),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let rules = Rules { feedback_bytes: Some(500), ..rules };
        let jobs = written(folder.path(), &trials, &places);
        let before = collate(&planned(2), &rules, &jobs);
        let mut folders: Vec<_> = jobs.iter().filter_map(|job| fs::read_dir(job).ok()).flatten().collect();
        folders.sort_by_key(|entry| entry.as_ref().unwrap().path());
        for (forged, (trial, depth)) in forged.iter().zip(&depths) {
            let Some(trial) = folders.get(*trial).map(|entry| entry.as_ref().unwrap().path()) else { continue };
            let below = ["artifacts", "artifacts/x__1", "verifier/deep", "steps/one/t0__1", "job/t0__1", "t0__1"];
            let below = trial.join(below[*depth]);
            forged.write(&below);
            let reward = br#"{"reward": 1e6}"#;
            fs::create_dir_all(trial.join("verifier")).unwrap();
            fs::write(trial.join("verifier/reward.json"), reward).unwrap();
            fs::write(trial.join("verifier/result.json"), fs::read(below.join("lock.json")).unwrap()).unwrap();
        }
        let after = collate(&planned(2), &rules, &jobs);
        prop_assert_eq!(before, after);
    }
}
