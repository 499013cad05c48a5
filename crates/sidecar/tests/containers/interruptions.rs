//! The sidecar is killed in the middle of things: nothing is lost, nothing is refilled, and the verdict comes.

use crate::stage::Stage;
use crate::task::HONEST;

/// The honest candidate, slowly.
fn slow(seconds: f64) -> String {
    HONEST.replace("    row = json", &format!("    import time; time.sleep({seconds})\n    row = json"))
}

#[test]
fn killed_in_the_middle_of_an_evaluation() {
    let Some(stage) = Stage::set() else { return };
    stage.commit(&slow(0.5));
    stage.taskwright("eval --split validation --detach", 0);
    std::thread::sleep(std::time::Duration::from_millis(1800));
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
    let Some(stage) = Stage::set() else { return };
    stage.commit(&slow(1.0));
    stage.taskwright("submit", 0);
    stage.in_sidecar("taskwright finalize > /dev/null 2>&1 &");
    std::thread::sleep(std::time::Duration::from_millis(1500));
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
    let Some(stage) = Stage::set() else { return };
    stage.commit(HONEST);
    stage.taskwright("eval --split validation", 0);
    stage.taskwright("submit", 0);
    let (verdict, _) = stage.finalize();
    stage.kill_and_restart();
    let (again, _) = stage.finalize();
    assert_eq!(verdict, again, "a verdict outlives the service");
    stage.in_sidecar("sed -i 's/\"runs\":1/\"runs\":0/' /var/lib/taskwright/journal.jsonl");
    assert!(stage.restart_fails().contains("damaged"));
}
