//! Job directories as Harbor leaves them, and what else lies in them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use taskwright_testing::{corpus, own_jobs, test};

use super::*;
use crate::document::Problem;
use crate::exceptions::{AgentCode, failure, policy, reward_is_valid};
use crate::result::{TrialResult, infer_version, kind};

fn trial_in(job: &Path, name: &str) {
    let folder = job.join(name);
    fs::create_dir_all(&folder).unwrap();
    let json = format!(r#"{{"trial_name": "{name}", "task_checksum": "0", "config": {{}}}}"#);
    fs::write(folder.join("result.json"), json).unwrap();
}

fn names(job: &Path) -> Vec<String> {
    let mut buffer = Vec::new();
    JobFolder::open(job)
        .unwrap()
        .trials()
        .unwrap()
        .map(|folder| match folder.and_then(|folder| folder.result(&mut buffer)) {
            Ok(trial) => trial.trial_name,
            Err(error) => error.to_string().rsplit('/').next().unwrap().to_owned(),
        })
        .collect()
}

#[test]
fn trials_are_found_at_harbors_own_depth_and_no_other() {
    let jobs = tempfile::tempdir().unwrap();
    let job = &jobs.path().join("job");
    for name in ["b__2", "a__1"] {
        trial_in(job, name);
    }
    // What ran in a trial left files that look like results.
    trial_in(&job.join("b__2"), "agent");
    trial_in(&job.join("b__2/artifacts"), "c__3");
    trial_in(jobs.path(), "elsewhere__1");
    symlink(jobs.path().join("elsewhere__1"), job.join("link__1")).unwrap();
    symlink("nowhere", job.join("link__2")).unwrap();
    fs::write(job.join("result.json"), "{}").unwrap();
    fs::create_dir(job.join("d__4")).unwrap();
    symlink("../a__1/result.json", job.join("d__4/result.json")).unwrap();
    assert_eq!(
        names(job),
        [
            "a__1",
            "b__2",
            "result.json` is a link, which Harbor does not put there",
            "link__1` is a link, which Harbor does not put there",
            "link__2` is a link, which Harbor does not put there",
        ]
    );
}

#[test]
fn a_trial_without_a_usable_result_does_not_stop_the_others() {
    let job = tempfile::tempdir().unwrap();
    let job = job.path();
    for name in ["a", "b", "c", "d", "e", "f"] {
        trial_in(job, name);
    }
    fs::remove_file(job.join("b/result.json")).unwrap();
    fs::write(job.join("c/result.json"), "").unwrap();
    fs::write(job.join("d/result.json"), r#"{"trial_name": "#).unwrap();
    fs::remove_file(job.join("e/result.json")).unwrap();
    let made = Command::new("mkfifo").arg(job.join("e/result.json")).status().unwrap();
    assert!(made.success());
    let found = names(job);
    let expected = ["a", "does not exist", "is empty", "ends in the middle", "is a pipe or a device", "f"];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.contains(expected), "{found}");
    }
    let unfinished = TrialFolder::open(job.join("b")).unwrap();
    symlink(job.join("b"), job.join("linked")).unwrap();
    let error = TrialFolder::open(job.join("linked")).unwrap_err();
    assert!(error.to_string().ends_with("linked` is a link, which Harbor does not put there"), "{error}");
    fs::remove_file(job.join("linked")).unwrap();
    assert!(!unfinished.is_trial() && unfinished.result(&mut Vec::new()).unwrap_err().is_missing());
    fs::write(job.join("b/trial.log"), "").unwrap();
    assert!(unfinished.is_trial() && unfinished.name() == "b");
}

#[test]
fn what_is_too_large_is_not_read() {
    let job = tempfile::tempdir().unwrap();
    trial_in(job.path(), "a");
    let file = fs::File::create(job.path().join("a/result.json")).unwrap();
    file.set_len(crate::document::MAX_DOCUMENT + 1).unwrap();
    let folder = TrialFolder::open(job.path().join("a")).unwrap();
    let error = folder.result(&mut Vec::new()).unwrap_err();
    assert!(matches!(error.problem, Problem::TooLarge { .. }), "{error}");
}

#[test]
fn tails_are_bounded_and_stay_inside() {
    let trial = tempfile::tempdir().unwrap();
    fs::create_dir(trial.path().join("verifier")).unwrap();
    fs::write(trial.path().join("verifier/test-stdout.txt"), "0123456789").unwrap();
    symlink("verifier", trial.path().join("agent")).unwrap();
    symlink("test-stdout.txt", trial.path().join("verifier/link.txt")).unwrap();
    let folder = TrialFolder::open(trial.path()).unwrap();
    assert_eq!(folder.tail("verifier", "test-stdout.txt", 4).as_deref(), Some(&b"6789"[..]));
    assert_eq!(folder.tail("verifier", "test-stdout.txt", 40).as_deref(), Some(&b"0123456789"[..]));
    assert_eq!(folder.tail("agent", "test-stdout.txt", 4), None);
    assert_eq!(folder.tail("verifier", "link.txt", 4), None);
    assert_eq!(folder.tail("verifier", "missing.txt", 4), None);
}

#[test]
fn documents_of_a_job() {
    let jobs = tempfile::tempdir().unwrap();
    let job = jobs.path().join("job");
    fs::create_dir(&job).unwrap();
    let write = |name: &str, content: &str| fs::write(job.join(name), content).unwrap();
    let opened = JobFolder::open(&job).unwrap();
    assert!(opened.config().unwrap().is_none() && opened.lock().unwrap().is_none());
    assert_eq!(kind_of_folder(&job).unwrap(), FolderKind::Other);
    write("config.json", r#"{"job_name": "j", "n_attempts": 3, "agents": []}"#);
    assert_eq!(opened.config().unwrap().unwrap().n_attempts, Some(3));
    assert_eq!(kind_of_folder(&job).unwrap(), FolderKind::Job);
    assert_eq!(kind_of_folder(jobs.path()).unwrap(), FolderKind::Jobs);
    write(
        "lock.json",
        r#"{"schema_version": 3, "harbor": {"version": "0.26.0"}, "trials": [
            {"task": {"name": "a", "type": "local", "digest": "sha256:00", "path": "x/a/"}, "agent": {"name": "nop"}},
            {"task": {"name": "b"}}, {"task": 1}, 7]}"#,
    );
    let lock = opened.lock().unwrap().unwrap();
    let planned: Vec<_> = lock.trials.iter().map(|trial| trial.task_folder()).collect();
    assert_eq!((lock.harbor_version.as_deref(), planned), (Some("0.26.0"), vec![Some("a"), Some("b")]));
    assert_eq!(lock.trials.iter().next().unwrap().agent.name.as_deref(), Some("nop"));
    write("result.json", r#"{"id": "i", "n_total_trials": 4, "stats": {"n_trials": 3, "n_errors": 1}}"#);
    let result = opened.result().unwrap().unwrap();
    assert_eq!((result.n_completed, result.n_errored, result.finished_at), (Some(3), Some(1), None));
    write("lock.json", "{}");
    assert!(opened.lock().unwrap_err().to_string().contains("not the lock of a Harbor job"));
}

#[test]
fn real_results() {
    let corpus = corpus();
    let mut seen = Vec::new();
    let mut paths: Vec<_> =
        fs::read_dir(corpus.join("results")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let bytes = fs::read(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let line = match TrialResult::parse(&bytes) {
            Ok(trial) => {
                let reward =
                    trial.rewards.as_ref().and_then(|rewards| Some(rewards.choose(None).ok()?.value));
                let class = failure(&trial, AgentCode::Stock)
                    .map(|failure| format!("{} in {}", failure.class, failure.phase));
                let class = class.unwrap_or_default();
                let version = infer_version(&bytes).unwrap();
                assert!(
                    trial.id.is_some() && trial.finished_at.is_some() && trial.task_id.folder().is_some()
                );
                let config = trial.config();
                assert!(config.agent.name.is_some() || config.agent.import_path.is_some(), "{name}");
                format!("{name}: {reward:?} {} {class} [{version}]", reward_is_valid(&trial))
            }
            Err(problem) => format!("{name}: {problem} ({})", kind(&bytes).unwrap()),
        };
        seen.push(line);
    }
    same_lines(&seen, include_str!("tests/results.txt"));
}

#[test]
fn a_job_of_ours() {
    let known = "two-attempts: 10 planned, 10 ended, 8 valid, 4 failed, over true\n";
    same_lines(&jobs_of(&own_jobs()), known);
}

#[test]
fn real_jobs() {
    same_lines(&jobs_of(&corpus()), include_str!("tests/jobs.txt"));
}

/// What is in each job of a folder, in a line.
fn jobs_of(corpus: &Path) -> Vec<String> {
    assert_eq!(kind_of_folder(&corpus.join("jobs")).unwrap(), FolderKind::Jobs);
    let mut seen = Vec::new();
    let mut jobs: Vec<_> =
        fs::read_dir(corpus.join("jobs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    jobs.sort();
    let mut buffer = Vec::new();
    for path in jobs {
        assert_eq!(kind_of_folder(&path).unwrap(), FolderKind::Job);
        let job = JobFolder::open(&path).unwrap();
        let (lock, config) = (job.lock().unwrap().unwrap(), job.config().unwrap().unwrap());
        assert_eq!(lock.harbor_version.as_deref(), Some("0.26.0"));
        assert!(config.job_name.is_some());
        let (mut ended, mut valid, mut failed) = (0, 0, 0);
        for folder in job.trials().unwrap() {
            let folder = folder.unwrap();
            assert_eq!(kind_of_folder(folder.path()).unwrap(), FolderKind::Trial);
            assert!(folder.is_trial());
            let trial = match folder.result(&mut buffer) {
                Ok(trial) => trial,
                Err(error) if error.is_missing() => continue,
                Err(error) => panic!("{error}"),
            };
            assert_eq!(infer_version(&buffer).unwrap().from, "0.26");
            assert_eq!(folder.name(), trial.trial_name);
            let own = folder.lock(&mut buffer).unwrap().unwrap();
            assert!(own.task_digest.unwrap().starts_with("sha256:"));
            assert_eq!(own.task_name.as_deref(), trial.task_id.folder());
            // What follows from the table is what Harbor says.
            let unsaid = TrialResult { reward_valid: None, ..trial.clone() };
            assert_eq!(Some(reward_is_valid(&unsaid)), trial.reward_valid);
            for exception in trial.exceptions() {
                assert_eq!(exception.policy, Some(policy(&exception.kind)));
            }
            ended += 1;
            valid += u32::from(reward_is_valid(&trial));
            failed += u32::from(failure(&trial, AgentCode::Stock).is_some());
        }
        let over = job.result().unwrap().is_some_and(|result| result.finished_at.is_some());
        let name = path.file_name().unwrap().to_str().unwrap();
        seen.push(format!(
            "{name}: {} planned, {ended} ended, {valid} valid, {failed} failed, over {over}",
            lock.trials.len()
        ));
    }
    seen
}

/// Compares with what was looked at by hand and written down.
fn same_lines(seen: &[String], known: &str) {
    let seen = seen.join("\n") + "\n";
    assert!(seen == known, "not what is written down:\n{seen}");
}
