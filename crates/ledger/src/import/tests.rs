//! Imports of whole, broken and hostile job directories.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use taskwright_testing::test;
use tempfile::TempDir;

use super::reader::{BATCH_TRIALS, PORTION};
use super::*;
use crate::record::{Filter, Kept, Provenance, Status, Trial};

mod found;
mod gains;
mod hostile;
mod killed;
mod spending;

/// A job's folder, as Harbor writes it.
struct JobDir(PathBuf);

impl JobDir {
    fn new(root: &Path, name: &str) -> Self {
        let path = root.join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("config.json"), format!(r#"{{"job_name": "{name}", "n_attempts": 1}}"#)).unwrap();
        Self(path)
    }

    /// A trial of task `task` with the identifier `id` and this reward.
    fn trial(&self, task: &str, id: &str, reward: &str) -> PathBuf {
        let trial = self.0.join(format!("{task}__{id}"));
        for folder in ["agent", "verifier"] {
            fs::create_dir_all(trial.join(folder)).unwrap();
        }
        fs::write(trial.join("result.json"), result(task, id, reward)).unwrap();
        fs::write(trial.join("config.json"), r#"{"trial_name": "x", "agent": {"name": "oracle"}}"#).unwrap();
        fs::write(trial.join("trial.log"), format!("log of {id}\n").repeat(20)).unwrap();
        fs::write(
            trial.join("agent/oracle.txt"),
            "the same in every trial, and long enough to be worth compressing ".repeat(9),
        )
        .unwrap();
        fs::write(trial.join("verifier/reward.txt"), reward).unwrap();
        trial
    }

    fn plan(&self, tasks: &[&str]) {
        let trials: Vec<String> = tasks
            .iter()
            .map(|task| format!(r#"{{"task": {{"name": "{task}", "digest": "sha256:{task}", "path": "t/{task}"}}, "agent": {{"name": "oracle"}}}}"#))
            .collect();
        let lock = format!(r#"{{"harbor": {{"version": "0.26.0"}}, "trials": [{}]}}"#, trials.join(","));
        fs::write(self.0.join("lock.json"), lock).unwrap();
    }

    fn ended(&self, total: usize) {
        let result = format!(
            r#"{{"id": "job-{}", "n_total_trials": {total}, "stats": {{}}, "finished_at": "2026-11-27T20:34:52"}}"#,
            self.0.file_name().unwrap().to_string_lossy()
        );
        fs::write(self.0.join("result.json"), result).unwrap();
    }
}

fn result(task: &str, id: &str, reward: &str) -> String {
    format!(
        r#"{{"id": "{id}", "task_name": "acme/{task}", "trial_name": "{task}__{id}", "task_checksum": "0",
            "task_id": {{"path": "t/{task}"}}, "config": {{"agent": {{"name": "oracle"}}, "environment": {{"type": "docker"}}}},
            "agent_info": {{"name": "oracle", "version": "1.0.0"}}, "agent_result": {{"n_input_tokens": 10, "n_cache_tokens": 4}},
            "verifier_result": {{"rewards": {{"reward": {reward}}}}},
            "started_at": "2026-11-27T20:34:52Z", "finished_at": "2026-11-27T20:35:52Z"}}"#
    )
}

struct Fixture {
    root: TempDir,
    ledger: Ledger,
}

impl Fixture {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(root.path().join("ledger")).unwrap();
        Self { root, ledger }
    }

    fn job(&self, name: &str) -> JobDir {
        JobDir::new(&self.root.path().join("jobs"), name)
    }

    fn import(&mut self, options: &Options<'_>) -> (Report, Vec<Event>) {
        let mut events = Vec::new();
        let path = self.root.path().join("jobs");
        let report = self.ledger.import(&[path], options, |event| events.push(event)).unwrap();
        (report, events)
    }

    fn again(&mut self) -> (Report, Vec<Event>) {
        self.import(&Options::default())
    }

    fn trials(&self) -> Vec<Trial> {
        self.ledger.trials(&Filter::default()).unwrap()
    }

    fn content(&self, trial: &Trial, path: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut self.ledger.evidence(trial, path).unwrap(), &mut bytes).unwrap();
        bytes
    }

    /// Whether the ledger is as it should be, and nothing lies around.
    fn is_sound(&self) -> bool {
        let verified = self.ledger.verify(None, |_| {}).unwrap();
        assert_eq!(verified.problems, [""; 0]);
        verified.orphans.is_empty()
    }
}

#[test]
fn trials_are_imported_with_all_that_they_left_and_only_once() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    job.plan(&["a", "b"]);
    job.trial("a", "1", "1.0");
    job.trial("b", "2", "0.5");
    job.ended(2);
    let (report, _) = fixture.again();
    assert_eq!((report.imported, report.partial, report.is_whole()), (2, 0, true));
    let trials = fixture.trials();
    assert_eq!(trials.iter().map(|trial| trial.reward).collect::<Vec<_>>(), [Some(1.0), Some(0.5)]);
    assert_eq!(trials[0].task_digest.as_deref(), Some("sha256:a"));
    assert_eq!(trials[0].tokens.input, Some(10));
    let paths: Vec<&str> = trials[0].evidence.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["agent/oracle.txt", "config.json", "result.json", "trial.log", "verifier/reward.txt"]);
    assert_eq!(fixture.content(&trials[1], "verifier/reward.txt"), b"0.5");
    assert_eq!(fixture.content(&trials[1], "trial.log"), "log of 2\n".repeat(20).as_bytes());
    let (report, _) = fixture.again();
    assert_eq!((report.duplicates, report.imported), (2, 0));
    assert!(fixture.is_sound());
    // The five files of two trials, less the two that both have.
    let contents: i64 =
        fixture.ledger.connection.query_row("SELECT count(*) FROM blobs", [], |row| row.get(0)).unwrap();
    assert_eq!(contents, 8);
}

#[test]
fn what_many_trials_left_is_stored_once_however_many_batches_they_come_in() {
    let mut fixture = Fixture::new();
    let job = fixture.job("many");
    for number in 0..BATCH_TRIALS * 4 {
        job.trial("task", &format!("id-{number:04}"), "1.0");
    }
    assert_eq!(fixture.again().0.imported, 4 * BATCH_TRIALS as u64);
    // Every byte of the packs belongs to a content that the database knows.
    let packs = crate::db::layout::packs(fixture.ledger.directory()).unwrap();
    let sql = "SELECT sum(length + 56) FROM blobs";
    let known: i64 = fixture.ledger.connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(packs.iter().map(|(_, size)| size).sum::<u64>(), known.unsigned_abs());
    assert!(packs.len() > 2 && fixture.is_sound());
}

#[test]
fn a_trial_that_has_not_changed_is_not_read_again_and_one_that_has_is_a_conflict() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    let trial = job.trial("a", "1", "1.0");
    // Until the files are old enough for their stamps to be trusted: the clock of a file system cannot be set.
    thread::sleep(std::time::Duration::from_millis(60));
    fixture.again();
    // Were it read, that would be noticed.
    let seen: i64 =
        fixture.ledger.connection.query_row("SELECT count(*) FROM seen", [], |row| row.get(0)).unwrap();
    assert_eq!(seen, 1);
    fs::write(trial.join("result.json"), result("a", "1", "0.0")).unwrap();
    let (report, events) = fixture.again();
    assert_eq!((report.conflicts, report.duplicates, report.imported), (1, 0, 0));
    assert!(events[0].reasons.contains(&"reward: 1.0 -> 0.0".to_owned()), "{events:?}");
    assert_eq!(fixture.trials()[0].reward, Some(1.0));
    let (report, _) = fixture.import(&Options { replace: true, ..Options::default() });
    assert_eq!((report.replaced, report.conflicts), (1, 0));
    assert_eq!(fixture.trials()[0].reward, Some(0.0));
    assert!(fixture.is_sound());
    let collected = fixture.ledger.gc(false).unwrap();
    assert_eq!(collected.contents, 1, "the old result");
    assert!(fixture.is_sound());
    assert_eq!(fixture.content(&fixture.trials()[0], "verifier/reward.txt"), b"1.0");
}

#[test]
fn one_damaged_trial_costs_nothing_but_itself() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    job.plan(&["a", "b", "c", "d", "e"]);
    job.ended(5);
    job.trial("a", "1", "1.0");
    for (task, content) in
        [("b", "{\"trial_name\": \"b__2\", "), ("c", "{\"is_resolved\": true}"), ("d", "\u{0}")]
    {
        fs::write(job.trial(task, "x", "1").join("result.json"), content).unwrap();
    }
    fs::write(job.trial("e", "y", "1").join("result.json"), b"{\"trial_name\": \"\xff\"}").unwrap();
    let (report, events) = fixture.again();
    assert_eq!((report.imported, report.rejected, report.missing), (1, 4, 4));
    let reasons: Vec<&str> = events
        .iter()
        .filter(|event| event.outcome == Outcome::Rejected)
        .map(|event| event.reasons[0].as_str())
        .collect();
    assert!(reasons[0].contains("ends in the middle"), "{reasons:?}");
    assert!(reasons[1].contains("Terminal-Bench 1"), "{reasons:?}");
    assert!(reasons[2].contains("not valid JSON"), "{reasons:?}");
    assert!(reasons[3].contains("not UTF-8"), "{reasons:?}");
    assert!(
        events.iter().all(|event| event.outcome != Outcome::Rejected || event.path.ends_with("result.json"))
    );
}

#[test]
fn what_was_planned_and_is_not_there_is_missing_until_it_comes() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    job.plan(&["a", "a", "b"]);
    job.trial("a", "1", "1.0");
    let (report, events) = fixture.again();
    assert_eq!((report.imported, report.missing), (1, 2));
    assert!(!report.jobs[0].finished);
    assert!(events.last().unwrap().reasons[0].contains("has not finished"), "{events:?}");
    let missing: Vec<(String, Status)> =
        fixture.trials().into_iter().map(|trial| (trial.task, trial.status)).collect();
    assert_eq!(
        missing,
        [
            ("acme/a".into(), Status::Missing),
            ("acme/a".into(), Status::Complete),
            ("b".into(), Status::Missing)
        ]
    );
    let digests: Vec<String> = fixture.trials().into_iter().map(|trial| trial.agent_digest).collect();
    assert!(
        digests.iter().all(|digest| *digest == digests[0]),
        "what is missing counts for the agent it was planned for"
    );
    job.trial("b", "2", "1.0");
    let (report, _) = fixture.again();
    assert_eq!((report.imported, report.duplicates, report.missing), (1, 1, 1));
    // One trial alone, named by its own folder.
    let alone = job.trial("a", "3", "1.0");
    job.ended(3);
    let report = fixture.ledger.import(&[alone], &Options::default(), |_| {}).unwrap();
    assert_eq!(report.imported, 1);
    assert_eq!(fixture.again().0.missing, 0);
    assert_eq!(fixture.trials().len(), 3);
}

#[test]
fn trials_are_found_at_harbors_depth_and_no_other() {
    let mut fixture = Fixture::new();
    let job = fixture.job("deep/er/one");
    let trial = job.trial("a", "1", "1.0");
    let inner = trial.join("agent/jobs/inner/b__2");
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("result.json"), result("b", "2", "1.0")).unwrap();
    fs::create_dir_all(job.0.join("my-notes/c__3")).unwrap();
    fs::write(job.0.join("my-notes/c__3/result.json"), result("c", "3", "1.0")).unwrap();
    symlink(&trial, job.0.join("d__4")).unwrap();
    let (report, events) = fixture.again();
    assert_eq!((report.imported, report.rejected), (1, 1));
    assert!(events[0].reasons[0].contains("is a link"), "{events:?}");
    let evidence = &fixture.trials()[0].evidence;
    assert!(evidence.iter().any(|file| file.path == "agent/jobs/inner/b__2/result.json"));
}

#[test]
fn referenced_evidence_stays_where_it_is_and_can_be_stored_later() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    let trial = job.trial("a", "1", "1.0");
    fixture.import(&Options { reference: true, ..Options::default() });
    let record = fixture.trials().remove(0);
    assert!(record.evidence.iter().all(|file| file.kept == Kept::Referenced));
    assert_eq!(fixture.content(&record, "verifier/reward.txt"), b"1.0");
    assert!(fixture.is_sound());
    assert!(crate::db::layout::packs(fixture.ledger.directory()).unwrap().is_empty());
    fs::write(trial.join("trial.log"), "other").unwrap();
    fs::remove_file(trial.join("agent/oracle.txt")).unwrap();
    symlink("/etc/hostname", trial.join("agent/oracle.txt")).unwrap();
    let problems = fixture.ledger.verify(None, |_| {}).unwrap().problems;
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[1].contains("`trial.log` has changed"), "{problems:?}");
    let (report, _) = fixture.import(&Options { replace: true, ..Options::default() });
    assert_eq!(report.replaced, 1);
    let record = fixture.trials().remove(0);
    assert_eq!(fixture.content(&record, "trial.log"), b"other");
    assert_eq!(record.evidence.iter().filter(|file| file.kept == Kept::Skipped).count(), 1);
    assert!(fixture.is_sound());
}

#[test]
fn secrets_are_in_no_record_and_in_no_file_that_is_stored() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    let trial = job.trial("a", "1", "1.0");
    let secret = "s3cr\\\"et-väl";
    let spoken = "s3cr\"et-väl";
    let config = format!(
        r#"{{"agent": {{"name": "x", "kwargs": {{"api_key": "{secret}"}}, "env": {{"A_TOKEN": "${{A_TOKEN}}"}}}}}}"#
    );
    fs::write(trial.join("config.json"), &config).unwrap();
    let text = result("a", "1", "1.0").replace(r#"{"agent": {"name": "oracle"}"#, config.trim_end_matches('}')).replace(
        "\"started_at\"",
        &format!(r#""exception_info": {{"exception_type": "ValueError", "exception_message": "bad key {secret}"}}, "started_at""#),
    );
    let text = text.replace(r#""${A_TOKEN}""#, r#""${A_TOKEN}"}}"#);
    fs::write(trial.join("result.json"), text).unwrap();
    fs::write(trial.join("trial.log"), format!("{spoken} {secret} s3cr\\\"et-v\\u00e4l end")).unwrap();
    fixture.again();
    let record = fixture.trials().remove(0);
    let told = serde_json::to_string(&(&record, fixture.ledger.agents().unwrap())).unwrap();
    assert!(!told.contains("s3cr"), "{told}");
    assert!(told.contains("bad key [REDACTED]"), "{told}");
    for file in &record.evidence {
        let content = String::from_utf8(fixture.content(&record, &file.path)).unwrap();
        assert!(!content.contains("s3cr"), "{}: {content}", file.path);
    }
    assert_eq!(fixture.content(&record, "trial.log"), b"[REDACTED] [REDACTED] [REDACTED] end");
    assert!(String::from_utf8(fixture.content(&record, "config.json")).unwrap().contains("${A_TOKEN}"));
    drop(fixture.ledger);
    let database = fs::read(fixture.root.path().join("ledger/ledger.sqlite")).unwrap();
    assert!(!database.windows(4).any(|window| window == b"s3cr"));
}

#[test]
fn trials_that_belong_to_no_experiment_are_given_to_the_one_that_is_named() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    job.trial("a", "1", "1.0");
    fixture.again();
    let name = |name: &str| Options { experiment: Some(name.into()), ..Options::default() };
    fixture.import(&name("first"));
    job.trial("b", "2", "1.0");
    fixture.import(&name("second"));
    let experiments: Vec<_> = fixture.trials().into_iter().map(|trial| trial.experiment).collect();
    assert_eq!(experiments, [Some("first".into()), Some("second".into())]);
}

#[test]
fn what_is_known_of_a_job_fills_in_what_is_not_said() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    job.plan(&["a", "b"]);
    job.trial("a", "1111", r#"0.5, "tests": 0.25"#);
    fixture.again();
    job.trial("b", "2222", r#"0.5, "tests": 0.25"#);
    let describe = |_: &Path| JobDescription {
        experiment: Some("smoke".into()),
        reward_key: Some("tests".into()),
        provenance: [("sha256:b".to_owned(), Provenance { spec: "b".into(), ..Provenance::default() })]
            .into(),
    };
    fixture.import(&Options { job: Some(&describe), ..Options::default() });
    let trials = fixture.trials();
    assert_eq!(
        trials.iter().map(|trial| trial.experiment.as_deref()).collect::<Vec<_>>(),
        [Some("smoke"); 2]
    );
    assert_eq!(trials.iter().map(|trial| trial.reward).collect::<Vec<_>>(), [Some(0.5), Some(0.25)]);
    assert_eq!(trials[1].provenance.as_ref().map(|provenance| provenance.spec.as_str()), Some("b"));

    // What is said has the last word.
    let options = Options {
        job: Some(&describe),
        experiment: Some("other".into()),
        replace: true,
        ..Options::default()
    };
    fixture.import(&options);
    assert!(
        fixture.trials().iter().all(|trial| trial.experiment.as_deref() != Some("other")),
        "they belong to one"
    );
    job.trial("c", "3333", "1.0");
    fixture.import(&options);
    assert_eq!(fixture.trials()[2].experiment.as_deref(), Some("other"));
}

#[test]
fn an_agent_that_broke_before_it_said_its_version_is_the_one_that_did() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    job.trial("a", "1", "1.0");
    let broken = job.trial("b", "2", "1.0");
    fs::write(broken.join("result.json"), result("b", "2", "1.0").replace("1.0.0", "unknown")).unwrap();
    fixture.again();
    let trials = fixture.trials();
    assert_eq!(trials[0].agent_digest, trials[1].agent_digest);
    assert_eq!(trials[1].agent_version, None);
    assert!(fixture.is_sound());
}

#[test]
fn an_import_that_is_stopped_keeps_what_is_whole() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    for number in 0..40 {
        job.trial("a", &number.to_string(), "1.0");
    }
    let stop = AtomicBool::new(false);
    let mut count = 0;
    let path = fixture.root.path().join("jobs");
    let options = Options { stop: Some(&stop), ..Options::default() };
    stop.store(true, Ordering::Relaxed);
    let error = fixture.ledger.import(&[path], &options, |_| count += 1).unwrap_err();
    assert!(error.is_interrupt());
    assert_eq!(fixture.trials().len(), count);
    assert!(fixture.is_sound());
    assert_eq!(fixture.again().0.imported, 40 - count as u64);
}

#[test]
fn nothing_to_import_is_said() {
    let mut fixture = Fixture::new();
    fs::create_dir_all(fixture.root.path().join("jobs/empty")).unwrap();
    let (report, events) = fixture.again();
    assert!(report.is_empty());
    assert_eq!(
        events[0].reasons,
        ["holds no job and no trial of Harbor's; results outside of trials' folders are named one by one"]
    );
    let nowhere = fixture.root.path().join("nowhere");
    let mut reasons = Vec::new();
    fixture.ledger.import(&[nowhere], &Options::default(), |event| reasons.extend(event.reasons)).unwrap();
    assert_eq!(reasons, ["does not exist"]);
}

#[test]
fn a_stamp_of_another_release_matches_nothing_and_is_replaced() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    job.plan(&["a"]);
    job.trial("a", "1", "1.0");
    job.ended(1);
    assert_eq!(fixture.again().0.imported, 1);
    let seen = |fixture: &Fixture, condition: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM seen WHERE {condition}");
        fixture.ledger.connection.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    // Within a tick of being made the files are not trusted yet.
    std::thread::sleep(std::time::Duration::from_millis(60));
    assert_eq!((fixture.again().0.duplicates, seen(&fixture, "length(stamp) = 44")), (1, 2));
    fixture.ledger.connection.execute("UPDATE seen SET stamp = zeroblob(48)", []).unwrap();
    assert_eq!((fixture.again().0.duplicates, seen(&fixture, "stamp = zeroblob(48)")), (1, 0));
    assert!(fixture.is_sound());
}

#[test]
fn a_job_that_got_its_id_since_misses_nothing_twice() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    job.plan(&["a", "b"]);
    job.trial("a", "1", "1.0");
    assert_eq!(fixture.again().0.missing, 1);
    // Old enough that what was read is known by its stamp, and is not read again.
    let pause = || std::thread::sleep(std::time::Duration::from_millis(60));
    pause();
    assert_eq!(fixture.again().0.missing, 1);
    let alone = job.trial("b", "2", "1.0");
    job.ended(2);
    pause();
    fixture.ledger.import(&[alone], &Options::default(), |_| {}).unwrap();
    assert_eq!(fixture.again().0.missing, 0);
    assert_eq!(fixture.trials().len(), 2);
}
