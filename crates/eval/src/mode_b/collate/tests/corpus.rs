//! Real jobs, if they are there.

use std::path::Path;

use taskwright_harbor::job::JobFolder;
use taskwright_language::model::Aggregate;
use taskwright_testing::{corpus, own_jobs, test};

use super::super::*;
use super::trials::rules;
use crate::result::Outcome;

/// The samples of a job with so many attempts each, in a line.
fn collated(corpus: &Path, organization: &str, job: &str, attempts: u64) -> String {
    let path = corpus.join("jobs").join(job);
    let lock = JobFolder::open(&path).unwrap().lock().unwrap().unwrap();
    let mut planned: Vec<PlannedSample> = Vec::new();
    for trial in lock.trials.iter() {
        let directory = trial.task_folder().unwrap().to_owned();
        if planned.iter().all(|known| known.directory != directory) {
            let name = format!("{organization}/{}", directory.trim_end_matches("_v11"));
            planned.push(PlannedSample {
                id: directory.clone(),
                name: Some(name),
                directory,
                digest: trial.task_digest.clone(),
            });
        }
    }
    planned.sort_by(|a, b| a.id.cmp(&b.id));
    let collated = collate(&planned, &rules(attempts, Aggregate::Mean), &[&path]);
    let told = |sample: &SampleResult| {
        let attempts = sample.attempts.as_ref().unwrap();
        let counts = format!("{}/{}/{}", attempts.graded, attempts.dead, attempts.missing);
        match (&sample.outcome, sample.value) {
            (Outcome::Scored(_), Some(value)) => format!("{} {value} {counts}", sample.id),
            _ => format!("{} {:?} {counts}", sample.id, sample.error_class().unwrap()),
        }
    };
    let samples: Vec<_> = collated.samples.iter().map(told).collect();
    assert!(collated.notes.iter().all(|note| note.kind == NoteKind::Unfinished), "{:?}", collated.notes);
    samples.join(", ")
}

#[test]
fn a_job_of_ours_is_collated() {
    let line = |attempts| collated(&own_jobs(), "own", "two-attempts", attempts);
    let own = "fails 0 2/0/0, keys Verifier 0/2/0, late 1 2/0/0, passes 1 2/0/0, silent Verifier 0/2/0";
    assert_eq!(line(2), own);
}

#[test]
fn real_jobs_are_collated() {
    let corpus = corpus();
    let line = |job: &str, attempts| collated(&corpus, "demo", job, attempts);
    assert_eq!(line("A-k2-r1", 2), "boom 1 2/0/0, ok 1 2/0/0");
    assert_eq!(line("A-k2-r1", 3), "boom Infrastructure 2/0/1, ok Infrastructure 2/0/1");
    assert_eq!(line("M-multi", 1), "multi Verifier 0/1/0");
    assert_eq!(line("RG-fast", 1), "fast_v11 0.42 1/0/0");
    assert_eq!(
        line("F-create", 1),
        "aok Infrastructure 0/0/1, nonet Infrastructure 0/0/1, zslow Infrastructure 0/0/1"
    );
    assert_eq!(line("D2-int", 1), "aok 1 1/0/0, zok 1 1/0/0");
    assert_eq!(
        line("C-failures", 1),
        "agenttimeout 1 1/0/0, buildfail Infrastructure 0/1/0, noimage Infrastructure 0/1/0, \
         partialtimeout 1 1/0/0, setupnobash Infrastructure 0/1/0, solvefail 1 1/0/0, \
         unhealthy Infrastructure 0/1/0, veriftimeout Verifier 0/1/0"
    );
    let rewards = line("B3-rewards", 1);
    let graded: Vec<_> = rewards.split(", ").filter(|sample| sample.ends_with("1/0/0")).collect();
    assert_eq!(
        graded,
        [
            "both 0.75 1/0/0",
            "exit1 1 1/0/0",
            "jbig 123456789012345680000000000000 1/0/0",
            "jbool 1 1/0/0",
            "jmulti 0.25 1/0/0",
            "jnoreward 7 1/0/0",
            "spaces 0.5 1/0/0",
            "underscore 10 1/0/0",
        ]
    );
    assert_eq!(rewards.matches("Verifier 0/1/0").count(), 25 - graded.len());
}
