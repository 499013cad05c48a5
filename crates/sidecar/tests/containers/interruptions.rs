//! The sidecar is killed in the middle of things: nothing is lost, nothing is refilled, and the verdict comes.

use std::io::{BufRead, BufReader};

use taskwright_testing::test;

use crate::stage::Stage;
use crate::task::HONEST;

/// The honest candidate, slowly.
fn slow(seconds: f64) -> String {
    HONEST.replace("    row = json", &format!("    import time; time.sleep({seconds})\n    row = json"))
}

#[test]
fn a_sidecar_that_is_killed_again_and_again_comes_back_each_time() {
    let stage = Stage::set();
    stage.commit(HONEST);
    stage.taskwright("eval --split validation", 0);
    stage.taskwright("submit", 0);
    // Even while nobody can ask it, what is collected says what was submitted.
    let interim = || stage.in_sidecar("cat /evidence/verdict.json").out;
    stage.wait_until("the submission is in the evidence", |_| interim().contains("was submitted, after 1"));
    for killed in 1..=7 {
        stage.kill_server();
        stage.wait_until("it was started again", |stage| stage.restarts() == killed);
        stage.healthy();
    }
    let (verdict, reward) = stage.finalize();
    assert_eq!((reward["reward"].as_f64(), &verdict["winner"]["by"]), (Some(1.0), &"submit".into()));
}

#[test]
fn killed_in_the_middle_of_an_evaluation() {
    let stage = Stage::set();
    stage.commit(&slow(1.0));
    stage.taskwright("eval --split validation --detach", 0);
    // Progress is told in steps of five, and twenty are to be run.
    stage.wait_until("samples are finished", |stage| stage.taskwright("results show e1", 0)["finished"] != 0);
    stage.kill_and_restart();
    let evaluation = stage.taskwright("results show e1", 0);
    assert_eq!(evaluation["state"], "failed", "{evaluation}");
    let kept = evaluation["charged"]["samples"].as_u64().unwrap();
    assert_eq!(evaluation["charged"]["runs"], 0);
    assert!(kept > 0 && kept < 20, "{evaluation}");
    assert_eq!(stage.foreign_processes(), Vec::<String>::new());
    let again = stage.taskwright("eval --split validation", 0);
    assert_eq!((again["score"].as_f64(), again["recorded"].as_u64()), (Some(1.0), Some(kept)));
    let status = stage.taskwright("status", 0);
    assert_eq!(status["budgets"]["validation"]["samples_used"], 20, "each sample was paid for once");
}

#[test]
fn killed_in_the_middle_of_finalizing() {
    let stage = Stage::set();
    stage.commit(&slow(1.0));
    stage.taskwright("submit", 0);
    stage.in_sidecar("taskwright finalize > /dev/null 2>&1 &");
    stage.wait_until("finalizing has begun", |stage| stage.taskwright("status", 0)["sealed"] == true);
    stage.kill_and_restart();
    // The work was over and stays so.
    assert_eq!(stage.agent("taskwright submit --commit HEAD~1").status, 3);
    let (verdict, reward) = stage.finalize();
    assert_eq!(reward["reward"], 1.0);
    let (again, _) = stage.finalize();
    assert_eq!(verdict, again);
}

#[test]
fn a_damaged_journal_gives_no_service_and_no_reward() {
    let stage = Stage::set();
    stage.commit(HONEST);
    stage.taskwright("eval --split validation", 0);
    stage.taskwright("submit", 0);
    let (verdict, _) = stage.finalize();
    stage.kill_and_restart();
    let (again, _) = stage.finalize();
    assert_eq!(verdict, again, "a verdict outlives the service");
    stage.in_sidecar("sed -i 's/\"runs\":1/\"runs\":0/' /var/lib/taskwright/journal.jsonl");
    refuses_and_says_why(&stage, "checksum");
}

#[test]
fn a_journal_that_lost_its_end_gives_no_service_and_no_reward() {
    let stage = Stage::set();
    stage.commit(HONEST);
    stage.taskwright("eval --split validation", 0);
    stage.taskwright("submit", 0);
    // Without its last line nothing would be submitted.
    stage.in_sidecar("sed -i '$d' /var/lib/taskwright/journal.jsonl");
    refuses_and_says_why(&stage, "missing");
}

/// That nothing is served and nothing rewarded any more: the optimizer is told so much, and root why.
fn refuses_and_says_why(stage: &Stage, why: &str) {
    assert!(stage.restart_refuses().contains("damaged"));
    let refused = stage.agent("taskwright eval --split train");
    assert!(refused.status == 4 && refused.err.contains("damaged"), "{}", refused.err);
    assert!(!refused.err.contains(why) && !refused.err.contains("journal"), "{}", refused.err);
    let ran = stage.in_sidecar("taskwright finalize");
    assert_eq!(ran.status, 1, "{} {}", ran.out, ran.err);
    assert_eq!(stage.in_sidecar("ls /evidence").out.trim(), "verdict.json");
    let verdict = stage.in_sidecar("cat /evidence/verdict.json").out;
    assert!(verdict.contains("\"unscored\"") && verdict.contains(why), "{verdict}");
}

/// Asks for evaluations of ever other samples, as fast as they are answered, and prints the names of those it was given.
const CHARGES: &str = r#"
import json, random, sys, threading, urllib.request
def ask(seed):
    dice = random.Random(seed)
    for _ in range(200):
        ids = dice.sample([f"train-{n}" for n in range(24)], dice.randint(1, 24))
        body = {"commit": sys.argv[1], "split": "train", "samples": {"ids": ids}}
        try:
            request = urllib.request.Request("http://eval-sidecar:8700/v1/evaluations", json.dumps(body).encode(), method="POST")
            print(json.loads(urllib.request.urlopen(request, timeout=20).read())["id"], flush=True)
        except OSError as error:
            if getattr(error, "code", 0) != 429: return
threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"#;

#[test]
fn killed_in_the_middle_of_charges() {
    let stage = Stage::set();
    stage.write("/tmp/charges.py", CHARGES);
    for round in 0..4_usize {
        stage.commit(&format!("{}# {round}\n", slow(0.05)));
        stage.taskwright("eval --split train --samples 1", 0);
        let mut asking = stage.start("python3 /tmp/charges.py $(git rev-parse HEAD)");
        let mut lines = BufReader::new(asking.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut given: Vec<String> = lines.by_ref().take(5 + 7 * round).collect();
        stage.kill_and_restart();
        given.extend(lines);
        asking.wait().unwrap();
        // Whoever was told of an evaluation finds it, and the budget is the sum of what they all cost.
        let list = stage.taskwright("results list", 0);
        let known: Vec<&str> =
            list["evaluations"].as_array().unwrap().iter().filter_map(|known| known["id"].as_str()).collect();
        assert!(given.len() >= 5 + 7 * round, "{given:?}");
        for id in &given {
            assert!(known.contains(&id.as_str()), "{id} was given and is not known after round {round}");
        }
        let sum = |what: &str| -> u64 {
            let all = list["evaluations"].as_array().unwrap();
            all.iter().filter_map(|known| known["charged"][what].as_u64()).sum()
        };
        let used = &stage.taskwright("status", 0)["budgets"]["train"];
        assert_eq!(used["samples_used"], sum("samples"), "after round {round}");
        assert_eq!(used["runs_used"], sum("runs"), "after round {round}");
        // At most once for each sample of each of the programs.
        assert!(sum("samples") <= 24 * (round as u64 + 1), "{} after round {round}", sum("samples"));
    }
    assert_eq!(stage.taskwright("eval --split train", 0)["score"], 1.0);
    stage.taskwright("submit", 0);
    let (_, reward) = stage.finalize();
    assert_eq!(reward["reward"], 1.0);
}

#[test]
fn a_server_that_is_killed_comes_back_by_itself() {
    let stage = Stage::set();
    stage.commit(&slow(0.3));
    stage.taskwright("eval --split validation --detach", 0);
    stage.wait_until("it has begun", |stage| stage.taskwright("results show e1", 0)["state"] != "queued");
    stage.kill_server();
    stage.healthy();
    assert_eq!(stage.foreign_processes(), Vec::<String>::new());
    assert_eq!(stage.taskwright("eval --split validation", 0)["score"], 1.0);
    stage.taskwright("submit", 0);
    assert_eq!(stage.finalize().1["reward"], 1.0);
}
