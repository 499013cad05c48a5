//! Somebody else writes into a job's folder: nothing that is put there becomes a score.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use taskwright_language::model::Aggregate;
use taskwright_testing::test;

use super::super::*;
use super::trials::{End, Trial, planned, rules};

/// Makes something in the place of a file that was removed.
type Replace<'a> = dyn Fn(&Path) + 'a;

/// A job that planned so many trials of `t0`, `t1` ...
fn job(trials: &[u64]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let one = |n: usize| format!(r#"{{"task": {{"name": "t{n}", "path": "/inner/t{n}"}}}}"#);
    let planned = trials.iter().enumerate();
    let all: Vec<String> = planned
        .flat_map(|(n, times)| std::iter::repeat_n(one(n), usize::try_from(*times).unwrap()))
        .collect();
    fs::write(folder.path().join("lock.json"), format!(r#"{{"trials": [{}]}}"#, all.join(","))).unwrap();
    folder
}

fn put(job: &Path, sample: usize, number: usize, end: End) -> std::path::PathBuf {
    let trial = Trial::new(sample, number, end);
    let folder = job.join(&trial.name);
    trial.write(&folder);
    folder
}

/// The values of two samples, and what is said of the folder.
fn come_to(job: &Path, attempts: u64, aggregate: Aggregate) -> (Vec<Option<f64>>, Vec<(NoteKind, String)>) {
    let collated = collate(&planned(2), &rules(attempts, aggregate), &[job]);
    let values = collated.samples.iter().map(|sample| sample.value).collect();
    (values, collated.notes.into_iter().map(|note| (note.kind, note.reason)).collect())
}

#[test]
fn a_trial_more_than_was_planned_is_no_score() {
    for aggregate in [Aggregate::Mean, Aggregate::Best, Aggregate::First] {
        let job = job(&[1, 1]);
        let genuine = put(job.path(), 0, 5, End::Reward(0.0));
        put(job.path(), 1, 5, End::Reward(0.5));
        assert_eq!(come_to(job.path(), 1, aggregate), (vec![Some(0.0), Some(0.5)], Vec::new()));
        // It ended before the genuine one, and has more; the other sample is not touched by it.
        put(job.path(), 0, 0, End::Reward(1.0));
        let (values, notes) = come_to(job.path(), 1, aggregate);
        assert_eq!(values, [None, Some(0.5)]);
        let reason =
            "it holds more trials of the task `t0` than the 1 it planned, so that none of them counts";
        assert_eq!(notes, [(NoteKind::Foreign, reason.to_owned())]);
        // Nor is it one while the genuine one has not ended.
        fs::remove_file(genuine.join("result.json")).unwrap();
        assert_eq!(come_to(job.path(), 1, aggregate).0, [None, Some(0.5)]);
    }
}

#[test]
fn attempts_that_were_planned_all_count_and_a_copy_is_none() {
    let job = job(&[2, 1]);
    put(job.path(), 0, 0, End::Reward(0.0));
    put(job.path(), 0, 1, End::Reward(1.0));
    Trial::new(0, 1, End::Reward(1.0)).write(&job.path().join("t0__1.bak"));
    assert_eq!(come_to(job.path(), 2, Aggregate::Mean), (vec![Some(0.5), None], Vec::new()));
    // The same trial with another reward is no copy.
    Trial::new(0, 1, End::Reward(9.0)).write(&job.path().join("t0__1.bak"));
    assert_eq!(come_to(job.path(), 2, Aggregate::Mean).0, [None, None]);
}

#[test]
fn a_trial_of_a_task_that_the_job_did_not_plan_is_no_score() {
    let job = job(&[1]);
    put(job.path(), 0, 0, End::Reward(0.25));
    // One of a sample that another job runs, and one of no sample at all.
    put(job.path(), 1, 0, End::Reward(1.0));
    put(job.path(), 7, 0, End::Reward(1.0));
    let (values, notes) = come_to(job.path(), 1, Aggregate::Mean);
    assert_eq!(values, [Some(0.25), None]);
    assert_eq!(notes.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [NoteKind::Foreign; 2]);
}

#[test]
fn what_takes_a_results_place_is_no_score_and_not_waited_for() {
    let elsewhere = tempfile::tempdir().unwrap();
    let forged = put(elsewhere.path(), 0, 0, End::Reward(1.0));
    let replaced: [(&str, &Replace<'_>); 4] = [
        ("is a pipe or a device", &|result| {
            rustix::fs::mkfifoat(rustix::fs::CWD, result, rustix::fs::Mode::RUSR).unwrap();
        }),
        ("is too large", &|result| fs::File::create(result).unwrap().set_len(1 << 30).unwrap()),
        ("is a link", &|result| symlink(forged.join("result.json"), result).unwrap()),
        ("is a folder", &|result| fs::create_dir(result).unwrap()),
    ];
    for (reason, replace) in replaced {
        let job = job(&[1, 1]);
        let trial = put(job.path(), 0, 0, End::Reward(0.0));
        put(job.path(), 1, 0, End::Reward(0.5));
        fs::remove_file(trial.join("result.json")).unwrap();
        replace(&trial.join("result.json"));
        let (values, notes) = come_to(job.path(), 1, Aggregate::Mean);
        assert_eq!(values, [None, Some(0.5)], "{reason}");
        assert!(matches!(&notes[..], [(NoteKind::Damaged, said)] if said.contains(reason)), "{notes:?}");
    }
}

#[test]
fn a_trial_that_is_a_link_is_no_score() {
    let (job, elsewhere) = (job(&[1, 1]), tempfile::tempdir().unwrap());
    let forged = put(elsewhere.path(), 0, 0, End::Reward(1.0));
    symlink(&forged, job.path().join("t0__0")).unwrap();
    let (values, notes) = come_to(job.path(), 1, Aggregate::Mean);
    assert_eq!(values, [None, None]);
    assert!(matches!(&notes[..], [(NoteKind::Damaged, said)] if said.contains("is a link")), "{notes:?}");
    // A collation that runs beside the job opens it by name as well, and follows the link as little.
    assert!(TrialFolder::open(job.path().join("t0__0")).is_err());
}

#[test]
fn a_job_inside_a_trial_is_no_job() {
    let outer = job(&[1, 1]);
    let trial = put(outer.path(), 0, 0, End::Reward(0.0));
    let inner = job(&[1, 1]);
    put(inner.path(), 0, 1, End::Reward(1.0));
    put(inner.path(), 1, 1, End::Reward(1.0));
    fs::create_dir(trial.join("artifacts")).unwrap();
    fs::rename(inner.keep(), trial.join("artifacts/job")).unwrap();
    assert_eq!(come_to(outer.path(), 1, Aggregate::Mean), (vec![Some(0.0), None], Vec::new()));
}
