//! What was found wrong in real ledgers, each made small: secrets in logs, names like keys, regrades, several rewards,
//! numbers too large, damaged evidence, moved experiments.

use taskwright_testing::test;

use super::*;
use crate::rank::leaderboard::Rules;
use crate::rank::patterns::TaskPatterns;
use crate::rank::statistics::Direction;
use crate::record::Failure;

const KEY: &str = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL";

/// Changes what a trial's result says.
fn edit(trial: &Path, from: &str, to: &str) {
    let path = trial.join("result.json");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

fn board(fixture: &Fixture, rules: &Rules) -> taskwright_base::Result<crate::rank::leaderboard::Leaderboard> {
    fixture.ledger.leaderboard(&Filter::default(), &TaskPatterns::default(), rules)
}

#[test]
fn what_an_agent_prints_is_stored_without_keys_and_what_tells_trials_apart_as_it_is() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    let task = "sk-learn-pipeline-repair";
    job.plan(&[task]);
    let trial = job.trial(task, "1", "1.0");
    let said =
        format!("$ env\nOPENAI_API_KEY={KEY}\nfetching https://bob:hunter2hunter2@example.com/x.git\n");
    for name in ["trial.log", "exception.txt", "agent/session.log"] {
        fs::write(trial.join(name), &said).unwrap();
    }
    // A value of a variable that `run` named, without any shape.
    fs::write(trial.join("agent/oracle.txt"), "the word is swordfish-of-no-shape").unwrap();
    edit(
        &trial,
        "\"started_at\"",
        &format!(
            "\"exception_info\": {{\"exception_type\": \"E\", \"exception_message\": \"{KEY}\"}}, \"started_at\""
        ),
    );
    let mut secrets = crate::redact::Secrets::default();
    secrets.add("swordfish-of-no-shape");
    let (report, _) = fixture.import(&Options { secrets, ..Options::default() });
    assert_eq!((report.imported + report.partial, report.missing), (1, 0));
    let record = &fixture.trials()[0];
    assert_eq!(
        (record.task.as_str(), record.trial_name.as_str()),
        ("acme/sk-learn-pipeline-repair", "sk-learn-pipeline-repair__1")
    );
    for file in &record.evidence {
        let text = String::from_utf8(fixture.content(record, &file.path)).unwrap();
        assert!(
            !text.contains("abcdefghijklmn") && !text.contains("hunter2") && !text.contains("swordfish"),
            "{}: {text}",
            file.path
        );
    }
    assert!(!serde_json::to_string(record).unwrap().contains(KEY));
    assert!(fixture.is_sound());
}

#[test]
fn a_regrade_and_what_it_is_of_are_one_attempt() {
    let mut fixture = Fixture::new();
    fixture.job("first").trial("a", "1", "0.87");
    let again = fixture.job("second").trial("a", "2", "0.42");
    edit(
        &again,
        "\"environment\": {\"type\": \"docker\"}",
        "\"source_trial\": {\"action\": \"regrade\", \"trial_id\": \"1\"}, \"environment\": {\"type\": \"docker\"}",
    );
    edit(&again, "2026-11-27T20:35:52Z", "2026-11-27T20:34:56Z");
    fixture.again();
    let board = board(&fixture, &Rules::default()).unwrap();
    let row = &board.rows[0];
    // The newer grade, and the time of the attempt: the regrade ran no agent.
    assert_eq!((row.complete, row.mean, row.seconds.mean), (1, Some(0.42), Some(60.0)));
    assert_eq!(fixture.ledger.find("second").ok().map(|trial| trial.id), None);
    let trials = fixture.trials();
    assert_eq!(trials.iter().filter_map(|trial| trial.regrade_of.as_deref()).collect::<Vec<_>>(), ["1"]);
    let of_view: (i64, f64) = fixture
        .ledger
        .connection
        .query_row("SELECT complete, mean FROM leaderboard", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert_eq!(of_view, (1, 0.42));
    assert!(fixture.is_sound());
}

#[test]
fn of_several_rewards_each_can_count_and_one_that_nobody_has_is_refused() {
    let mut fixture = Fixture::new();
    let trial = fixture.job("one").trial("a", "1", "0.5");
    edit(&trial, "{\"reward\": 0.5}", "{\"f1\": 0.5, \"acc\": 0.25}");
    fixture.again();
    let by = |fixture: &Fixture, metric: &str| {
        board(fixture, &Rules { metric: Some(metric.into()), ..Rules::default() })
    };
    let found = by(&fixture, "f1").unwrap();
    assert_eq!((found.rows[0].complete, found.rows[0].partial, found.rows[0].mean), (1, 0, Some(0.5)));
    let error = by(&fixture, "nope").unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.hint_text()),
        ("no trial has the reward `nope`", Some("there are `acc`, `f1`"))
    );
    // That another one counts can still be said.
    let options = Options { reward_key: Some("acc".into()), ..Options::default() };
    assert_eq!(fixture.import(&options).0.duplicates, 1);
    assert_eq!(fixture.import(&Options { replace: true, ..options }).0.replaced, 1);
    assert_eq!(board(&fixture, &Rules::default()).unwrap().rows[0].mean, Some(0.25));
}

#[test]
fn a_reward_that_is_too_large_is_none_for_every_reader() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    job.trial("a", "1", "1e101");
    job.trial("a", "2", "0.5");
    let (report, _) = fixture.again();
    assert_eq!((report.imported, report.partial), (1, 1));
    let row = board(&fixture, &Rules::default()).unwrap().rows.remove(0);
    assert_eq!((row.complete, row.partial, row.mean, row.planned_mean), (1, 1, Some(0.5), Some(0.25)));
    let least = Rules { direction: Direction::Minimize, ..Rules::default() };
    assert_eq!(board(&fixture, &least).unwrap().rows[0].planned_mean, None);
    let of_view: (i64, i64, f64) = fixture
        .ledger
        .connection
        .query_row("SELECT complete, partial, mean FROM leaderboard", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    assert_eq!(of_view, (1, 1, 0.5));
}

#[test]
fn damaged_evidence_is_stored_anew_by_an_import_that_replaces() {
    let mut fixture = Fixture::new();
    fixture.job("one").trial("a", "1", "1.0");
    fixture.again();
    let folder = fixture.root.path().join("ledger/evidence");
    let pack = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(&pack).unwrap();
    fs::write(&pack, &bytes[..bytes.len() / 2]).unwrap();
    assert!(!fixture.ledger.verify(None, |_| {}).unwrap().problems.is_empty());
    assert_eq!(fixture.again().0.duplicates, 1);
    let (report, _) = fixture.import(&Options { replace: true, ..Options::default() });
    assert_eq!(report.replaced, 1);
    assert_eq!(fixture.ledger.verify(None, |_| {}).unwrap().problems, [""; 0]);
}

#[test]
fn a_record_that_was_changed_is_seen() {
    for change in [
        "DELETE FROM evidence WHERE path = 'result.json'",
        "DELETE FROM evidence WHERE path = 'trial.log'",
        "UPDATE agents SET configuration = '{}'",
        "UPDATE trials SET failure = 'infrastructure'",
    ] {
        let mut fixture = Fixture::new();
        let trial = fixture.job("one").trial("a", "1", "1.0");
        edit(
            &trial,
            "\"verifier_result\": {\"rewards\": {\"reward\": 1.0}}",
            "\"exception_info\": {\"exception_type\": \"AgentTimeoutError\", \"exception_message\": \"late\"}",
        );
        fixture.again();
        assert!(fixture.is_sound());
        fixture.ledger.connection.execute_batch(change).unwrap();
        assert_eq!(fixture.ledger.verify(None, |_| {}).unwrap().problems.len(), 1, "{change}");
    }
}

#[test]
fn what_belongs_to_an_experiment_stays_there_with_what_is_missing_and_it_is_said() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    job.plan(&["a", "b"]);
    job.trial("a", "1", "1.0");
    for (name, replace) in [("first", false), ("second", false), ("second", true)] {
        let options = Options { experiment: Some(name.into()), replace, ..Options::default() };
        let (_, events) = fixture.import(&options);
        let reasons: Vec<&String> = events[0].reasons.iter().collect();
        assert_eq!(reasons.is_empty(), name == "first", "{events:?}");
        assert!(
            reasons.iter().all(|reason| reason.contains("`first` already, and stays there")),
            "{events:?}"
        );
        assert!(fixture.trials().iter().all(|trial| trial.experiment.as_deref() == Some("first")));
    }
}

#[test]
fn a_task_that_never_ran_in_a_job_has_the_name_that_it_has_where_it_ran() {
    let mut fixture = Fixture::new();
    fixture.job("early").plan(&["a", "b", "c"]);
    let names =
        |fixture: &Fixture| -> Vec<String> { fixture.trials().into_iter().map(|trial| trial.task).collect() };
    fixture.again();
    assert_eq!(names(&fixture), ["a", "b", "c"], "the plan knows no other");
    // Before or since, and whatever its content was.
    let late = fixture.job("late");
    late.plan(&["a", "b"]);
    late.trial("a", "1", "1.0");
    fs::write(
        late.trial("b", "2", "1.0").join("lock.json"),
        r#"{"task": {"name": "b", "digest": "sha256:other", "path": "t/b"}, "agent": {"name": "oracle"}}"#,
    )
    .unwrap();
    fixture.again();
    assert_eq!(names(&fixture), ["acme/a", "acme/a", "acme/b", "acme/b", "c"]);
    let board = board(&fixture, &Rules::default()).unwrap();
    assert_eq!(board.tasks.len(), 3);
}

#[test]
fn a_folder_of_links_says_that_it_holds_links() {
    let mut fixture = Fixture::new();
    let job = fixture.root.path().join("elsewhere");
    JobDir::new(&job, "one").trial("a", "1", "1.0");
    let jobs = fixture.root.path().join("jobs");
    fs::create_dir(&jobs).unwrap();
    symlink(job.join("one"), jobs.join("one")).unwrap();
    let (report, events) = fixture.again();
    assert_eq!((report.imported, report.rejected), (0, 1));
    assert!(events[0].reasons[0].contains("but 1 link to folders, which are not followed"), "{events:?}");
}

#[test]
fn trials_that_fail_at_one_moment_are_counted_together() {
    let mut fixture = Fixture::new();
    let job = fixture.job("one");
    let fails = |id: &str, kind: &str, second: u32| {
        let trial = job.trial("a", id, "1.0");
        edit(&trial, "2026-11-27T20:35:52Z", &format!("2026-11-27T20:35:{second:02}Z"));
        let raised = format!("\"exception_info\": {{\"exception_type\": \"{kind}\"}}, \"started_at\"");
        edit(&trial, "\"started_at\"", &raised);
    };
    for (id, kind, second) in
        [("1", "RuntimeError", 10), ("2", "DownloadVerifierDirError", 11), ("3", "E", 13)]
    {
        fails(id, kind, second);
    }
    fails("4", "E", 40);
    assert_eq!(fixture.again().0.jobs[0].failed_together, 0, "three may be chance");
    fails("5", "E", 12);
    assert_eq!(fixture.again().0.jobs[0].failed_together, 4);
    // What could not be copied is no doing of the agent's, nor of the verifier's.
    let copied = fixture.trials().into_iter().find(|trial| trial.id == "2").unwrap();
    assert_eq!(copied.failure, Some(Failure::Infrastructure));
}
