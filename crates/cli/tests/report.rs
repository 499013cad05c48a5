//! `cargo xtask report` on a ledger.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use taskwright_ledger::Ledger;
use taskwright_ledger::record::{Agent, Reward, Status, Trial};

fn report(ledger: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_taskwright"))
        .arg("report")
        .arg("--ledger")
        .arg(ledger)
        .args(arguments)
        .output()
        .unwrap()
}

fn fill(ledger: &Path) {
    let agent = Agent {
        digest: "ab".repeat(32),
        label: "oracle".into(),
        version: None,
        model: None,
        configuration: "{}".into(),
    };
    let trial = |id: &str, experiment: &str, status| Trial {
        id: id.into(),
        trial_name: format!("sort__{id}"),
        task: "org/sort".into(),
        experiment: Some(experiment.into()),
        agent: "oracle".into(),
        agent_digest: agent.digest.clone(),
        status,
        reward: (status == Status::Complete).then_some(1.0),
        reward_key: Some("reward".into()),
        rewards: vec![Reward { key: "reward".into(), value: Some(1.0), ..Reward::default() }],
        reward_valid: status == Status::Complete,
        ..Trial::default()
    };
    let trials = [trial("aaaaaaa", "one", Status::Complete), trial("bbbbbbb", "two", Status::Partial)];
    Ledger::open(ledger).unwrap().add(&[agent], &trials).unwrap();
}

#[test]
fn a_page_is_written_and_is_the_same_the_next_time() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = directory.path().join("ledger");
    fill(&ledger);
    let page = directory.path().join("new/page.html");
    let output = report(&ledger, &["--output", page.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), page.to_str().unwrap());
    let first = fs::read_to_string(&page).unwrap();
    assert!(first.contains("sort__aaaaaaa") && first.contains("sort__bbbbbbb"));
    assert!(!first.contains(directory.path().to_str().unwrap()), "the place of the ledger is in the page");

    let printed = report(&ledger, &["--output", "-"]);
    assert!(printed.stdout == first.as_bytes());
    assert_eq!(
        fs::read_dir(page.parent().unwrap()).unwrap().count(),
        1,
        "something was left beside the page"
    );
}

#[test]
fn a_page_of_one_experiment_has_nothing_of_another() {
    let directory = tempfile::tempdir().unwrap();
    fill(directory.path());
    let output = report(directory.path(), &["--experiment", "one", "--output", "-"]);
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(
        page.contains("<h1>one</h1>") && page.contains("sort__aaaaaaa") && !page.contains("sort__bbbbbbb")
    );

    let output = report(directory.path(), &["--experiment", "three", "--output", "-"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("no trial in the ledger is like that"), "{said}");
}

#[test]
fn a_page_shows_what_the_verifier_said_of_a_trial_that_came_to_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (job, ledger) = (directory.path().join("job"), directory.path().join("ledger"));
    let own = taskwright_testing::own_jobs().join("jobs/two-attempts");
    assert!(Command::new("cp").arg("-r").args([&own, &job]).status().unwrap().success());
    let said =
        |trial: &str, text: &str| fs::write(job.join(trial).join("verifier/test-stdout.txt"), text).unwrap();
    said("fails__4xhe3v9", "expected 4, found 5\nDB_PASSWORD=correct-horse-battery\n");
    said("passes__mqi35G4", "all well\n");
    let import = Command::new(env!("CARGO_BIN_EXE_taskwright"))
        .args(["import", "--ledger"])
        .args([&ledger, &job])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&import.stdout).contains("10 of 10 trials"), "{import:?}");
    let page = String::from_utf8(report(&ledger, &["--output", "-"]).stdout).unwrap();
    let row = |trial: &str| page.split("<tr class=\"trial\"").find(|row| row.contains(trial)).unwrap();
    let failed = row(">fails__4xhe3v9<");
    assert!(failed.contains("The end of verifier/test-stdout.txt") && failed.contains("expected 4, found 5"));
    assert!(!failed.contains("correct-horse"), "{failed}");
    assert!(!row(">passes__mqi35G4<").contains("all well"));
}
