//! Choosing, scoring and the evidence, tried without running anything.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use taskwright_testing::{Need, not_run, test};

use serde_json::Value;
use taskwright_base::Digest;
use taskwright_gateway::{Address, Gateway, Key, Setup, Upstream};
use taskwright_language::model::{Constraint, Direction};
use taskwright_language::serve::ServeConfig;

use crate::api::{Choice, State};
use crate::paths::Paths;
use crate::service::Service;
use crate::testing::{self, BASELINE, Fake, Way, commit};

struct Trial {
    root: tempfile::TempDir,
    fake: Fake,
    service: Arc<Service>,
}

impl Trial {
    fn new(config: ServeConfig, fake: Fake) -> Self {
        let root = tempfile::tempdir().unwrap();
        let service = testing::service(&root.path().join("state"), config, &fake);
        Self { root, fake, service }
    }

    fn evaluate(&self, number: u32, choice: &Choice) {
        let evaluation = self.service.evaluate(&commit(number), "validation", choice).unwrap();
        let number = crate::service::parse_id(&evaluation.id).unwrap();
        let is_final = || self.service.evaluation(number).unwrap().state.is_final();
        testing::wait_until("it is final", is_final);
        assert_eq!(self.service.evaluation(number).unwrap().state, State::Done);
    }

    fn paths(&self) -> Paths {
        Paths::under(self.root.path())
    }

    fn finalize(&self) -> Value {
        let answer = super::finalize(&self.service, &self.paths(), &|_| {}).unwrap();
        answer["verdict"].clone()
    }

    fn reward(&self) -> Option<Value> {
        read(&self.paths().evidence.join("reward.json"))
    }
}

fn read(path: &Path) -> Option<Value> {
    Some(serde_json::from_slice(&std::fs::read(path).ok()?).unwrap())
}

fn reasons(verdict: &Value) -> String {
    verdict["reasons"].to_string()
}

#[test]
fn the_submission_counts() {
    let trial = Trial::new(testing::config(), Fake::default());
    trial.fake.set(&commit(1), Way::Value(0.25));
    trial.evaluate(2, &Choice::All);
    trial.service.submit(&commit(2)).unwrap();
    trial.service.submit(&commit(1)).unwrap();
    let verdict = trial.finalize();
    assert_eq!(verdict["winner"]["commit"], commit(1));
    assert_eq!(trial.reward().unwrap(), serde_json::json!({ "reward": 0.25 }));
    assert_eq!(verdict["evidence"].as_object().unwrap().len(), 3);
    let digest = Digest::of_file(trial.paths().evidence.join("reward.json")).unwrap().to_string();
    assert_eq!(verdict["evidence"]["reward.json"], digest);
}

#[test]
fn without_a_submission_the_best_counts_and_the_verdict_says_so() {
    let trial = Trial::new(testing::config(), Fake::default());
    trial.fake.set(&commit(1), Way::Value(0.5));
    trial.fake.set(&commit(2), Way::Value(0.75));
    trial.evaluate(1, &Choice::All);
    trial.evaluate(2, &Choice::All);
    let verdict = trial.finalize();
    assert_eq!(verdict["winner"]["commit"], commit(2));
    assert!(reasons(&verdict).contains("nothing was submitted"));
}

#[test]
fn less_is_better_where_the_task_says_so() {
    let mut config = testing::config();
    config.objective.direction = Direction::Minimize;
    config.targets[0].direction = Direction::Minimize;
    let trial = Trial::new(config, Fake::default());
    trial.fake.set(&commit(1), Way::Value(0.5));
    trial.fake.set(&commit(2), Way::Value(0.75));
    trial.evaluate(2, &Choice::All);
    trial.evaluate(1, &Choice::All);
    assert_eq!(trial.finalize()["winner"]["commit"], commit(1));
}

#[test]
fn a_lucky_measurement_does_not_win() {
    let trial = Trial::new(testing::config(), Fake { noisy: true, ..Fake::default() });
    // The first twelve samples that are run at all are lucky.
    trial.fake.set(&commit(1), Way::Lucky(9.0, 0.1));
    trial.fake.set(&commit(2), Way::Value(0.5));
    trial.evaluate(1, &Choice::All);
    trial.evaluate(2, &Choice::All);
    let verdict = trial.finalize();
    assert_eq!(verdict["ranking"].as_array().unwrap().len(), 2);
    assert_eq!(verdict["winner"]["commit"], commit(2));
}

#[test]
fn a_candidate_that_was_evaluated_on_too_little_does_not_count() {
    let trial = Trial::new(testing::config(), Fake::default());
    trial.fake.set(&commit(1), Way::Value(9.0));
    trial.evaluate(1, &Choice::Count(4));
    trial.evaluate(2, &Choice::All);
    let verdict = trial.finalize();
    assert_eq!(verdict["winner"]["commit"], commit(2));
    assert!(verdict["ranking"].to_string().contains("33.3 %"));
}

#[test]
fn nothing_done_is_the_baseline_with_its_pinned_score() {
    let mut config = testing::config();
    config.targets[0].baseline_reward = Some(2.5);
    let trial = Trial::new(config, Fake::default());
    let verdict = trial.finalize();
    assert_eq!(verdict["winner"]["by"], "baseline");
    assert!(reasons(&verdict).contains("nothing was submitted"));
    assert_eq!(trial.reward().unwrap(), serde_json::json!({ "reward": 2.5 }));
    assert_eq!(trial.fake.ran.load(Ordering::SeqCst), 0);
}

#[test]
fn the_floor_puts_the_baseline_in_the_place_of_what_is_no_better() {
    let mut config = testing::config();
    config.selection.baseline_floor = true;
    let trial = Trial::new(config, Fake::default());
    trial.fake.set(BASELINE, Way::Value(0.5));
    trial.fake.set(&commit(1), Way::Value(0.5));
    trial.evaluate(1, &Choice::All);
    let verdict = trial.finalize();
    assert_eq!(verdict["winner"]["by"], "baseline");
    assert!(reasons(&verdict).contains("not better than the baseline"));
}

#[test]
fn a_constraint_that_does_not_hold_rules_a_candidate_out() {
    let mut config = testing::config();
    let constraint = r#"{"metric":"score","operator":"<","value":1}"#;
    config.objective.constraints = vec![serde_json::from_str::<Constraint>(constraint).unwrap()];
    let trial = Trial::new(config, Fake::default());
    trial.fake.set(&commit(1), Way::Value(5.0));
    trial.fake.set(&commit(2), Way::Value(0.5));
    trial.evaluate(1, &Choice::All);
    trial.evaluate(2, &Choice::All);
    assert_eq!(trial.finalize()["winner"]["commit"], commit(2));
    assert_eq!(trial.reward().unwrap()["reward"], 0.5);
}

#[test]
fn a_target_with_an_infrastructure_error_is_no_reward_and_can_be_scored_again() {
    let trial = Trial::new(testing::config(), Fake::default());
    trial.fake.set(&commit(1), Way::Infrastructure);
    trial.service.submit(&commit(1)).unwrap();
    let verdict = trial.finalize();
    assert_eq!(verdict["outcome"], "unscored");
    assert!(reasons(&verdict).contains("has no score"));
    assert!(trial.reward().is_none());
    assert!(read(&trial.paths().evidence.join("verdict.json")).is_some());
    trial.fake.set(&commit(1), Way::Value(3.0));
    assert_eq!(trial.finalize()["outcome"], "scored");
    assert_eq!(trial.reward().unwrap()["reward"], 3.0);
}

#[test]
fn samples_that_a_score_is_without_are_counted_and_told() {
    let mut config = testing::config();
    config.limits.error_rate_threshold = 0.5;
    let trial = Trial::new(config, Fake::default());
    trial.fake.set(&commit(1), Way::LeftOut(1.0));
    trial.service.submit(&commit(1)).unwrap();
    let verdict = trial.finalize();
    let target = &verdict["targets"][0];
    assert_eq!((target["scored"].as_u64(), target["left_out"].as_u64()), (Some(2), Some(1)), "{verdict}");
    assert!(reasons(&verdict).contains("1 of 3 samples of `test` have no value"), "{verdict}");
}

#[test]
fn a_candidate_that_fails_everywhere_gets_the_failure_value() {
    let mut config = testing::config();
    config.targets[0].failure_value = -1.0;
    let trial = Trial::new(config, Fake::default());
    trial.fake.set(&commit(1), Way::Crash);
    trial.service.submit(&commit(1)).unwrap();
    let verdict = trial.finalize();
    assert_eq!(trial.reward().unwrap()["reward"], -1.0);
    assert!(reasons(&verdict).contains("failed at every sample"));
}

#[test]
fn the_first_verdict_stands() {
    let trial = Trial::new(testing::config(), Fake { noisy: true, ..Fake::default() });
    trial.service.submit(&commit(1)).unwrap();
    let first = trial.finalize();
    let ran = trial.fake.ran.load(Ordering::SeqCst);
    trial.fake.set(&commit(1), Way::Value(100.0));
    std::fs::remove_dir_all(trial.paths().evidence).unwrap();
    assert_eq!(trial.finalize(), first);
    assert_eq!(trial.reward().unwrap()["reward"], 1.0);
    assert_eq!(trial.fake.ran.load(Ordering::SeqCst), ran);
}

#[test]
fn a_verdict_that_was_changed_is_not_published() {
    let trial = Trial::new(testing::config(), Fake::default());
    trial.finalize();
    std::fs::write(super::evidence_master(&trial.service).join("verdict.json"), "{}").unwrap();
    assert!(super::finalize(&trial.service, &trial.paths(), &|_| {}).is_err());
}

#[test]
fn several_targets_have_keys_of_their_own_and_the_first_is_the_reward() {
    let mut config = testing::config();
    config.targets[0].reward_key = "accuracy".to_owned();
    let mut second = config.targets[0].clone();
    second.reward_key = "again".to_owned();
    second.samples.truncate(1);
    second.attempts = 3;
    config.targets.push(second);
    let trial = Trial::new(config, Fake { noisy: true, ..Fake::default() });
    trial.service.submit(&commit(1)).unwrap();
    let verdict = trial.finalize();
    let expected = serde_json::json!({ "accuracy": 1.0, "again": 1.0, "reward": 1.0 });
    assert_eq!(trial.reward().unwrap(), expected);
    assert_eq!(verdict["targets"][1]["evaluations"].as_array().unwrap().len(), 3);
}

struct Mounted(std::path::PathBuf);
impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_disk_that_is_full_to_the_last_byte_ends_in_a_verdict() {
    let root = tempfile::tempdir().unwrap();
    let state = root.path().join("state");
    std::fs::create_dir(&state).unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=128m", "tmpfs"];
    let mounted = std::process::Command::new("mount").args(mount).arg(&state).status();
    if !mounted.is_ok_and(|status| status.success()) {
        not_run(Need::Root, "this user may not mount a small disk");
    }
    let _mounted = Mounted(state.clone());
    let fake = Fake::default();
    let service = testing::service(&state, testing::config(), &fake);
    let trial = Trial { root, fake, service };
    trial.fake.set(&commit(1), Way::Value(0.25));
    trial.fake.set(&commit(2), Way::Value(0.25));
    trial.evaluate(1, &Choice::All);
    trial.service.submit(&commit(1)).unwrap();
    // Whatever it is that fills it.
    let mut noise = std::fs::File::create(state.join("noise")).unwrap();
    while std::io::Write::write(&mut noise, &[1; 4096]).is_ok() {}
    // What is left of the last block takes a few lines more.
    while trial.service.submit(&commit(2)).and_then(|_| trial.service.submit(&commit(1))).is_ok() {}
    assert_eq!(trial.finalize()["outcome"], "scored");
    assert_eq!(trial.reward().unwrap(), serde_json::json!({ "reward": 0.25 }));
}

#[test]
fn while_the_work_goes_on_the_evidence_says_why_there_is_no_reward() {
    let trial = Trial::new(testing::config(), Fake::default());
    let (service, paths) = (Arc::clone(&trial.service), trial.paths());
    std::thread::spawn(move || super::interim::keep(&service, &paths));
    let verdict = || read(&trial.paths().evidence.join("verdict.json")).unwrap_or_default();
    testing::wait_until("there is something", || reasons(&verdict()).contains("nothing was submitted"));
    assert_eq!(verdict()["outcome"], "unscored");
    trial.evaluate(1, &Choice::All);
    trial.service.submit(&commit(1)).unwrap();
    let said = format!("commit {} was submitted, after 1 evaluation", commit(1));
    testing::wait_until("the submission is told of", || reasons(&verdict()).contains(&said));
    let bundle = trial.paths().evidence.join("candidates.bundle");
    testing::wait_until("the candidate is there", || {
        std::fs::read_to_string(&bundle).is_ok_and(|text| text == commit(1))
    });
    assert!(!trial.paths().evidence.join("evaluations.jsonl").exists());
    // And the verdict is the last word.
    let last = trial.finalize();
    assert_eq!(last["outcome"], "scored");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!((verdict(), trial.reward().unwrap()["reward"].as_f64()), (last, Some(1.0)));
}

/// With a gateway as it stands beside a task, less the upstream, which nobody asks.
#[test]
fn the_verdict_says_what_each_user_took_of_language_models() {
    let allowed = serde_json::json!({ "allowed_models": ["m"] });
    let mut config = testing::config();
    config.gateway =
        serde_json::from_value(serde_json::json!({ "producer": allowed, "evaluation": allowed })).unwrap();
    let trial = Trial::new(config, Fake::default());
    let paths = trial.paths();
    std::fs::create_dir_all(&paths.gateway).unwrap();
    let gateway = Gateway::start(Setup {
        config: serde_json::from_value(serde_json::json!({ "producer": allowed, "evaluation": allowed }))
            .unwrap(),
        upstream: Upstream {
            address: Address::new("http://127.0.0.1:9/v1").unwrap(),
            key: Key::new("not-a-key").unwrap(),
        },
        state: trial.root.path().join("gateway"),
        producer: None,
        evaluation: None,
        control: Some(paths.gateway_socket()),
    })
    .unwrap();
    trial.service.submit(&commit(1)).unwrap();
    let verdict = trial.finalize();
    let mut users: Vec<&String> = verdict["usage"].as_object().unwrap().keys().collect();
    users.sort();
    assert_eq!(users, ["evaluation", "finalization", "producer"]);
    assert_eq!(verdict["usage"]["finalization"]["requests"], 0);
    gateway.stop(std::time::Duration::ZERO);
    // Without it there is a verdict all the same, and no sum that nobody made.
    let silent = Trial::new(trial.service.config.clone(), Fake::default());
    assert_eq!(silent.finalize()["usage"], Value::Null);
}

#[test]
fn an_archive_has_no_verdict() {
    let trial = Trial::new(testing::config(), Fake::default());
    trial.evaluate(1, &Choice::All);
    super::archive(&trial.service, &trial.paths(), &|_| {}).unwrap();
    let evidence = trial.paths().evidence;
    assert!(evidence.join("evaluations.jsonl").exists());
    assert!(!evidence.join("verdict.json").exists() && !evidence.join("reward.json").exists());
    // The work goes on.
    trial.evaluate(2, &Choice::All);
}
