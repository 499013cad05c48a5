//! Every real trial of the corpus is imported, or rejected for a stated reason. The corpus is not part of the project:
//! `TASKWRIGHT_CORPUS` says where it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use taskwright_ledger::import::{Event, Options, Outcome, Report};
use taskwright_ledger::record::{Failure, Status, Trial};
use taskwright_ledger::{Filter, Ledger};
use taskwright_testing::{corpus, own_jobs, test};

fn import(ledger: &mut Ledger, paths: &[PathBuf]) -> (Report, Vec<Event>) {
    let mut events = Vec::new();
    let report = ledger.import(paths, &Options::default(), |event| events.push(event)).unwrap();
    (report, events)
}

fn by_job(ledger: &Ledger, job: &str) -> BTreeMap<String, Trial> {
    let filter = Filter { job: Some(job.into()), ..Filter::default() };
    let name = |trial: &Trial| trial.trial_name.split("__").next().unwrap_or_default().to_owned();
    ledger.trials(&filter).unwrap().into_iter().map(|trial| (name(&trial), trial)).collect()
}

fn what(trial: &Trial) -> (Status, Option<Failure>, Option<f64>) {
    (trial.status, trial.failure, trial.reward)
}

#[test]
fn a_job_of_ours_is_imported() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(folder.path()).unwrap();
    let (report, events) = import(&mut ledger, &[own_jobs().join("jobs")]);
    assert_eq!((report.imported + report.partial, report.rejected), (10, 0), "{events:#?}");
    let trials = by_job(&ledger, "two-attempts");
    assert_eq!(what(&trials["passes"]), (Status::Complete, None, Some(1.0)));
    assert_eq!(what(&trials["fails"]), (Status::Complete, None, Some(0.0)));
    assert_eq!(what(&trials["late"]), (Status::Complete, Some(Failure::Timeout), Some(1.0)));
    assert_eq!(what(&trials["silent"]), (Status::Partial, Some(Failure::Verifier), None));
    assert_eq!(trials["keys"].rewards.len(), 2);
    assert_eq!(ledger.verify(None, |_| {}).unwrap().problems, [""; 0]);
}

#[test]
fn single_results_of_every_version_are_imported() {
    let corpus = corpus();
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(folder.path()).unwrap();
    let mut files: Vec<_> =
        std::fs::read_dir(corpus.join("results")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (report, events) = import(&mut ledger, &files);
    let rejected: BTreeMap<String, String> = events
        .iter()
        .filter(|event| event.outcome == Outcome::Rejected)
        .map(|event| {
            (
                Path::new(&event.path).file_name().unwrap().to_string_lossy()[..2].to_owned(),
                event.reasons[0].clone(),
            )
        })
        .collect();
    assert_eq!(rejected.keys().collect::<Vec<_>>(), ["13", "15", "16"], "{rejected:#?}");
    assert!(rejected["13"].contains("Terminal-Bench 1"), "{rejected:?}");
    assert!(rejected["16"].contains("the result of a Harbor job"), "{rejected:?}");
    assert_eq!(report.imported + report.partial, files.len() as u64 - 3);
    let (again, _) = import(&mut ledger, &files);
    assert_eq!((again.duplicates, again.rejected, again.imported), (files.len() as u64 - 3, 3, 0));

    let find = |id: &str| ledger.find(id).unwrap();
    assert_eq!(what(&find("065e54a5")), (Status::Complete, None, Some(0.0)));
    assert_eq!(what(&find("31d1fcea")), (Status::Complete, Some(Failure::Timeout), Some(1.0)));
    assert_eq!(what(&find("cf0d4788")), (Status::Complete, None, Some(0.833)));
    assert_eq!(what(&find("9439cd3e")), (Status::Partial, Some(Failure::Verifier), None));
    assert_eq!(what(&find("129666d9")), (Status::Partial, Some(Failure::Infrastructure), None));
    assert_eq!(what(&find("de5148f2")), (Status::Partial, Some(Failure::Infrastructure), None));
    let by_path = find("3fabe9ad");
    assert!(by_path.agent.contains(':') && by_path.environment.unwrap().contains(':'), "{}", by_path.agent);
    let verified = ledger.verify(None, |_| {}).unwrap();
    assert_eq!(verified.problems, [""; 0]);
}

#[test]
fn whole_jobs_are_imported_with_what_is_special_about_them() {
    let corpus = corpus();
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(folder.path()).unwrap();
    let (report, events) = import(&mut ledger, &[corpus.join("jobs")]);
    assert_eq!((report.conflicts, report.rejected), (0, 0), "{events:#?}");
    let jobs: BTreeMap<_, _> =
        report.jobs.iter().map(|job| (job.name.as_str(), (job.planned, job.found, job.missing))).collect();
    assert_eq!(
        jobs.into_iter().collect::<Vec<_>>(),
        [
            ("A-k2-r1", (Some(4), 4, 0)),
            ("A-resume", (Some(4), 4, 0)),
            ("B2-rewards", (Some(25), 25, 0)),
            ("B3-rewards", (Some(25), 25, 0)),
            ("C-failures", (Some(8), 8, 0)),
            ("D2-int", (Some(2), 2, 0)),
            ("F-create", (Some(3), 0, 3)),
            ("M-multi", (Some(1), 1, 0)),
            ("N-reg", (Some(1), 1, 0)),
            ("RG-fast", (Some(1), 1, 0)),
            ("S-sep", (Some(1), 1, 0)),
            ("X-sec", (Some(1), 1, 0)),
        ]
    );

    let missing = by_job(&ledger, "F-create");
    assert_eq!(missing.keys().collect::<Vec<_>>(), ["aok", "nonet", "zslow"]);
    assert!(missing.values().all(|trial| trial.status == Status::Missing && trial.agent == "oracle"));
    let oracle = ledger.find("270ec5c2").unwrap();
    assert!(missing.values().all(|trial| trial.agent_digest == oracle.agent_digest));

    let failures = by_job(&ledger, "C-failures");
    assert_eq!(what(&failures["solvefail"]), (Status::Complete, None, Some(1.0)));
    assert_eq!(what(&failures["agenttimeout"]), (Status::Complete, Some(Failure::Timeout), Some(1.0)));
    assert_eq!(what(&failures["veriftimeout"]), (Status::Partial, Some(Failure::Verifier), None));
    for broken in ["buildfail", "noimage", "setupnobash", "unhealthy"] {
        assert_eq!(
            what(&failures[broken]),
            (Status::Partial, Some(Failure::Infrastructure), None),
            "{broken}"
        );
    }

    let rewards = by_job(&ledger, "B3-rewards");
    assert_eq!(rewards["jbig"].rewards[0].text.as_deref(), Some("123456789012345678901234567890"));
    assert_eq!(what(&rewards["jempty"]).0, Status::Partial);
    assert_eq!(rewards["jnoreward"].reward_key.as_deref(), Some("score"));
    assert_eq!(rewards["jmulti"].rewards.len(), 2);

    let steps = ledger.find("9a2f11d1").unwrap();
    assert_eq!(what(&steps), (Status::Partial, Some(Failure::Verifier), Some(0.75)));
    assert_eq!(steps.steps.len(), 3);
    assert_eq!(steps.exception.unwrap().step.as_deref(), Some("three"));
    assert!(steps.evidence.iter().any(|file| file.path.starts_with("steps/one/")));

    assert_eq!(oracle.harbor_version.as_deref(), Some("0.26.0"));
    assert!(oracle.task_digest.unwrap().starts_with("sha256:4b2cca03f3ff8"));
    let verified = ledger.verify(None, |_| {}).unwrap();
    assert_eq!(verified.problems, [""; 0]);

    let (again, _) = import(&mut ledger, &[corpus.join("jobs")]);
    assert_eq!((again.imported, again.partial, again.missing), (0, 0, 3));
    assert_eq!(again.duplicates, report.imported + report.partial + report.duplicates);
}

#[test]
fn no_secret_of_a_job_is_stored() {
    let corpus = corpus();
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(folder.path()).unwrap();
    import(&mut ledger, &[corpus.join("jobs/X-sec")]);
    let trial = ledger.trials(&Filter::default()).unwrap().remove(0);
    for file in trial.evidence.iter().filter(|file| file.digest.is_some()) {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut ledger.evidence(&trial, &file.path).unwrap(), &mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for secret in ["tok-****999", "agse****789"] {
            assert!(!text.contains(secret), "{}: {text}", file.path);
        }
        if file.path == "config.json" {
            assert!(text.contains("${HOSTKEY}") && text.contains("visible"), "{text}");
        }
    }
}

fn main() -> std::process::ExitCode {
    taskwright_testing::main()
}
