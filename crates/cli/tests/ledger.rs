//! The commands that fill, list and check a ledger, as a user calls them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

struct Place {
    root: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taskwright"));
        command
            .args(["--root", concat!(env!("CARGO_MANIFEST_DIR"), "/../..")])
            .args(words)
            .arg("--ledger")
            .arg(self.path("ledger"))
            .current_dir(self.root.path())
            .env("NO_COLOR", "1");
        command
    }

    /// The exit status, what was answered, and what was said.
    fn run(&self, words: &[&str]) -> (i32, String, String) {
        let Output { status, stdout, stderr } = self.command(words).output().unwrap();
        (status.code().unwrap(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
    }

    /// Writes a job that planned trials of some tasks.
    fn job(&self, planned: &[&str]) {
        let job = self.path("jobs/one");
        fs::create_dir_all(&job).unwrap();
        let trials: Vec<String> = planned
            .iter()
            .map(|task| format!(r#"{{"task": {{"name": "{task}"}}, "agent": {{"name": "oracle"}}}}"#))
            .collect();
        let lock = format!(r#"{{"harbor": {{"version": "0.26.0"}}, "trials": [{}]}}"#, trials.join(","));
        fs::write(job.join("lock.json"), lock).unwrap();
        fs::write(job.join("config.json"), r#"{"job_name": "one"}"#).unwrap();
    }

    fn ended(&self) {
        let text = r#"{"id": "j", "n_total_trials": 2, "stats": {}, "finished_at": "2026-11-27T20:34:52"}"#;
        fs::write(self.path("jobs/one/result.json"), text).unwrap();
    }

    fn trial(&self, task: &str, reward: &str) -> PathBuf {
        let trial = self.path(&format!("jobs/one/{task}__aaaaaaa"));
        fs::create_dir_all(&trial).unwrap();
        write_result(&trial, task, reward);
        fs::write(trial.join("trial.log"), "\u{1b}[31mred\n").unwrap();
        trial
    }
}

fn write_result(trial: &Path, task: &str, reward: &str) {
    let text = format!(
        r#"{{"id": "{task}-0000-1111", "task_name": "acme/{task}", "trial_name": "{task}__aaaaaaa", "task_checksum": "0",
            "task_id": {{"path": "t/{task}"}}, "config": {{"agent": {{"name": "oracle"}}, "environment": {{"type": "docker"}}}},
            "agent_info": {{"name": "oracle", "version": "1.0.0"}}, "verifier_result": {{"rewards": {{"reward": {reward}}}}}}}"#
    );
    // As Harbor does, so that whoever looks meanwhile sees all of it or nothing.
    fs::write(trial.join("new"), text).unwrap();
    fs::rename(trial.join("new"), trial.join("result.json")).unwrap();
}

#[test]
fn a_job_is_imported_listed_shown_and_checked() {
    let place = Place::new();
    place.job(&["a", "b"]);
    place.trial("a", "1.0");
    place.trial("b", "0.5");
    place.ended();
    let (status, answer, said) = place.run(&["import", "jobs", "--experiment", "smoke"]);
    assert_eq!((status, answer.as_str()), (0, "job one: 2 of 2 trials\n2 imported\n"), "{said}");
    let (status, answer, _) = place.run(&["import", "jobs"]);
    assert_eq!((status, answer.as_str()), (0, "job one: 2 of 2 trials\n2 already there\n"));

    let (status, answer, said) = place.run(&["trials", "--columns", "trial,status,reward,experiment"]);
    assert_eq!(
        (status, answer.as_str(), said.as_str()),
        (
            0,
            "trial       status    reward  experiment\n\
             a__aaaaaaa  complete   1.000  smoke\n\
             b__aaaaaaa  complete   0.500  smoke\n",
            "2 trials\n"
        )
    );
    let (_, answer, _) = place.run(&["trials", "--task", "b", "--json"]);
    let trials: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((trials.as_array().unwrap().len(), &trials[0]["reward"]), (1, &Value::from(0.5)));
    assert_eq!(place.run(&["trials", "--status", "missing", "--json"]).1, "[]\n");

    let (status, answer, _) = place.run(&["show", "a-0000"]);
    assert_eq!(status, 0);
    for line in ["task           acme/a\n", "reward         1 (`reward`)\n", "harbor         0.26.0\n"] {
        assert!(answer.contains(line), "{answer}");
    }
    let (_, answer, _) = place.run(&["show", "a__aaaaaaa", "--json"]);
    let shown: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(shown["agent_configuration"]["configuration"]["name"], "oracle");
    let (status, answer, _) = place.run(&["show", "a__aaaaaaa", "--evidence", "trial.log"]);
    assert_eq!((status, answer.as_str()), (0, "\u{1b}[31mred\n"));
    let (status, _, said) = place.run(&["show", "a__aaaaaaa", "--evidence", "../x"]);
    assert_eq!(status, 1);
    assert!(said.contains("left no file `../x`"), "{said}");

    let (status, answer, said) = place.run(&["verify"]);
    assert_eq!(status, 0, "{said}");
    assert!(
        answer.starts_with("2 trials, 3 contents") && answer.ends_with("all as it was stored\n"),
        "{answer}"
    );
    assert_eq!(place.run(&["gc"]).0, 0);
}

#[test]
fn the_exit_status_says_what_was_refused_missing_or_contradicted() {
    let place = Place::new();
    place.job(&["a", "b"]);
    let trial = place.trial("a", "1.0");
    let (status, answer, said) = place.run(&["import", "jobs"]);
    assert_eq!(status, 3);
    assert!(answer.contains("1 of 2 trials, 1 missing; not finished"), "{answer}");
    assert!(said.contains("missing b (in "), "{said}");
    place.trial("b", "1.0");
    place.ended();
    assert_eq!(place.run(&["import", "jobs"]).0, 0);

    write_result(&trial, "a", "0.0");
    let (status, answer, said) = place.run(&["import", "jobs", "--json"]);
    assert_eq!(status, 3, "{said}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!((&answer["conflicts"], &answer["duplicates"]), (&Value::from(1), &Value::from(1)));
    assert_eq!(
        place.run(&["import", "jobs", "--replace"]).1,
        "job one: 2 of 2 trials\n1 replaced, 1 already there\n"
    );

    fs::write(place.path("other.json"), "{}").unwrap();
    let (status, _, said) = place.run(&["import", "other.json"]);
    assert_eq!(status, 1);
    assert!(
        said.contains("is a JSON object that Harbor does not write") && said.contains("nothing was imported"),
        "{said}"
    );
    assert_eq!(place.run(&["import"]).0, 2);
    assert_eq!(place.run(&["show", "nobody"]).0, 2);
    assert_eq!(place.run(&["import", "nowhere"]).0, 2);
    for pack in fs::read_dir(place.path("ledger/evidence")).unwrap() {
        fs::remove_file(pack.unwrap().path()).unwrap();
    }
    let (status, _, said) = place.run(&["verify"]);
    assert_eq!(status, 1);
    assert!(said.contains("is gone"), "{said}");
    let (status, answer, _) = place.run(&["show", "a__aaaaaaa"]);
    assert_eq!((status, answer.matches("\ndamaged        `").count()), (0, 2), "{answer}");
}

#[test]
fn a_question_that_cannot_be_answered_is_refused_and_a_long_name_takes_no_screen() {
    let place = Place::new();
    let task = "a".repeat(200);
    place.job(&[&task]);
    place.trial(&task, "1.0");
    place.ended();
    assert_eq!(place.run(&["import", "jobs"]).0, 0);
    // Where less is better, failing at 0 would be the best there is.
    let failing_is_best = ["leaderboard", "--include", "partial", "--direction", "minimize"];
    for (words, status, reason) in [
        (&failing_is_best[..], 2, "--partial-value"),
        (&["trials", "--task", "nope"], 1, "no trial in the ledger is like that"),
        (&["leaderboard", "--task", "nope"], 1, "no trial in the ledger is like that"),
        (&["leaderboard", "--metric", "nope"], 2, "there are `reward`"),
    ] {
        let (found, _, said) = place.run(words);
        assert!(found == status && said.contains(reason), "{words:?}: {found} {said}");
    }
    let (_, answer, _) = place.run(&["trials"]);
    assert!(answer.contains("aaaa…") && answer.lines().all(|line| line.chars().count() < 300), "{answer}");
}

#[test]
fn a_job_of_an_experiment_brings_its_name_along() {
    let place = Place::new();
    place.job(&["a"]);
    place.trial("a", "1.0");
    place.ended();
    let record = r#"{"version": 1, "experiment": "smoke", "manifest": "experiments/smoke.toml", "reward_key": null,
        "planned": 1, "tasks": []}"#;
    fs::write(place.path("jobs/one/experiment.json"), record).unwrap();
    let (status, answer, said) = place.run(&["import", "jobs"]);
    assert_eq!((status, answer.as_str()), (0, "job one: 1 of 1 trial\n1 imported\n"), "{said}");
    assert!(place.run(&["verify"]).1.starts_with("1 trial, 2 contents and 0 files outside of the store, "));
    let (_, answer, said) = place.run(&["leaderboard", "--experiment", "smoke", "--json"]);
    let board: Value = serde_json::from_str(&answer).expect(&said);
    assert_eq!(board["rows"].as_array().map(Vec::len), Some(1), "{answer}");
}

#[test]
fn a_running_job_is_watched_until_it_has_finished() {
    let place = Place::new();
    place.job(&["a", "b"]);
    place.trial("a", "1.0");
    let mut watching = place
        .command(&["import", "jobs", "--watch", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(watching.stdout.take().unwrap()));
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let first = next();
    assert_eq!((&first["imported"], &first["missing"]), (&Value::from(1), &Value::from(1)));
    place.trial("b", "1.0");
    place.ended();
    let last = next();
    assert_eq!((&last["duplicates"], &last["missing"]), (&Value::from(1), &Value::from(0)));
    assert_eq!(watching.wait().unwrap().code(), Some(0));
}
