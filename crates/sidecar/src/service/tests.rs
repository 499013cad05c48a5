//! Budgets, access and the record, tried without running anything.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use taskwright_testing::test;

use super::Service;
use super::state::lock;
use crate::api::{Charge, Choice, Evaluation, State};
use crate::events::Purpose;
use crate::journal;
use crate::problem::Kind;
use crate::service;
use crate::testing::{self, Fake, Way, commit};
use taskwright_eval::{Attempt, Attempts, Claimed, ErrorClass};

fn wait(service: &Service, evaluation: &Evaluation) -> Evaluation {
    let number = service::parse_id(&evaluation.id).unwrap();
    testing::wait_until("it is final", || service.evaluation(number).unwrap().state.is_final());
    service.evaluation(number).unwrap()
}

fn evaluate(service: &Service, number: u32, split: &str, choice: &Choice) -> Evaluation {
    let evaluation = service.evaluate(&commit(number), split, choice).unwrap();
    wait(service, &evaluation)
}

fn used(service: &Service) -> Charge {
    service.book().used("validation")
}

#[test]
fn an_evaluation_is_charged_and_scored() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    fake.set(&commit(1), Way::Value(0.5));
    let service = testing::service(folder.path(), testing::config(), &fake);
    let evaluation = evaluate(&service, 1, "validation", &Choice::All);
    assert_eq!((evaluation.state, evaluation.score), (State::Done, Some(0.5)));
    assert_eq!(used(&service), Charge { runs: 1, samples: 12 });
}

#[test]
fn what_was_evaluated_before_costs_nothing_and_is_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let service = testing::service(folder.path(), testing::config(), &fake);
    let first = evaluate(&service, 1, "validation", &Choice::Count(4));
    assert_eq!(used(&service), Charge { runs: 1, samples: 4 });
    let again = evaluate(&service, 1, "validation", &Choice::Count(3 + 1));
    assert_eq!(first.id, again.id);
    let wider = evaluate(&service, 1, "validation", &Choice::All);
    assert_eq!((wider.recorded, wider.charged), (4, Charge { runs: 1, samples: 8 }));
    assert_eq!(fake.ran.load(Ordering::SeqCst), 12);
    assert_eq!(used(&service), Charge { runs: 2, samples: 12 });
    // All of its samples are known by now.
    let part = evaluate(&service, 1, "validation", &Choice::Count(8));
    assert_eq!((part.charged, part.recorded), (Charge::default(), 8));
}

#[test]
fn a_scorer_that_varies_is_asked_again_and_charged_again() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake { noisy: true, ..Fake::default() };
    let service = testing::service(folder.path(), testing::config(), &fake);
    evaluate(&service, 1, "validation", &Choice::All);
    evaluate(&service, 1, "validation", &Choice::All);
    assert_eq!(used(&service), Charge { runs: 2, samples: 24 });
}

#[test]
fn a_budget_cannot_be_overdrawn_even_by_many_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake { noisy: true, ..Fake::default() };
    let service = testing::service(folder.path(), testing::config(), &fake);
    let accepted: usize = std::thread::scope(|scope| {
        let ask = |_| scope.spawn(|| service.evaluate(&commit(1), "validation", &Choice::All).is_ok());
        let asked: Vec<_> = (0..32).map(ask).collect();
        asked.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
    });
    // 40 samples pay for three times 12.
    assert_eq!(accepted, 3);
    assert_eq!(used(&service), Charge { runs: 3, samples: 36 });
    let refused = service.evaluate(&commit(2), "validation", &Choice::Count(8)).unwrap_err();
    assert_eq!(refused.kind, Kind::Budget);
}

#[test]
fn an_infrastructure_error_is_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    fake.set(&commit(1), Way::Infrastructure);
    let service = testing::service(folder.path(), testing::config(), &fake);
    let failed = evaluate(&service, 1, "validation", &Choice::All);
    assert_eq!((failed.state, failed.score), (State::Failed, None));
    assert_eq!(used(&service), Charge::default());
    // It is no result, so it is tried again.
    fake.set(&commit(1), Way::Value(2.0));
    assert_eq!(evaluate(&service, 1, "validation", &Choice::All).score, Some(2.0));
}

#[test]
fn what_candidates_may_use_of_models_is_spent_is_a_refusal_and_no_score() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    fake.set(&commit(1), Way::Spent(1.0, 5));
    let service = testing::service(folder.path(), testing::config(), &fake);
    let refused = evaluate(&service, 1, "validation", &Choice::All);
    assert_eq!((refused.state, refused.score), (State::Refused, None));
    assert!(refused.error.unwrap().contains("language models is spent"));
    // On this split only the aggregate may be known.
    assert_eq!(refused.models, None);
    // A candidate could bring it about, and so it is charged like every other.
    assert_eq!(used(&service), Charge { runs: 1, samples: 12 });
    fake.set(&commit(1), Way::Value(0.5));
    let scored = evaluate(&service, 1, "validation", &Choice::All);
    assert_eq!((scored.state, scored.recorded, scored.score), (State::Done, 5, Some(8.5 / 12.0)));
}

#[test]
fn a_failing_candidate_pays() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    fake.set(&commit(1), Way::Crash);
    let service = testing::service(folder.path(), testing::config(), &fake);
    let evaluation = evaluate(&service, 1, "validation", &Choice::All);
    assert_eq!((evaluation.score, evaluation.failures["crash"]), (Some(0.0), 12));
    assert_eq!(used(&service), Charge { runs: 1, samples: 12 });
}

#[test]
fn a_constraint_on_the_score_beside_another_objective_holds_in_a_trial() {
    let mut config = testing::config();
    config.objective.metric = "accuracy".to_owned();
    let constraint = r#"{"metric":"score","operator":">=","value":0.1}"#;
    config.objective.constraints = vec![serde_json::from_str(constraint).unwrap()];
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    fake.set(&commit(1), Way::Accuracy(0.9, 0.5));
    fake.set(&commit(2), Way::Accuracy(0.9, 0.0));
    let service = testing::service(folder.path(), config, &fake);
    let holds = evaluate(&service, 1, "validation", &Choice::All);
    assert_eq!((holds.score, holds.eligible), (Some(0.9), Some(true)));
    // From the record it is the same.
    evaluate(&service, 1, "validation", &Choice::Count(4));
    assert_eq!(service.evaluation(2).unwrap().eligible, Some(true));
    assert_eq!(evaluate(&service, 2, "validation", &Choice::All).eligible, Some(false));
}

#[test]
fn cancelling_costs_what_was_run() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    fake.set(&commit(1), Way::Stuck(1.0, 3));
    let service = testing::service(folder.path(), testing::config(), &fake);
    let running = service.evaluate(&commit(1), "validation", &Choice::All).unwrap();
    let waiting = service.evaluate(&commit(2), "validation", &Choice::Count(4)).unwrap();
    testing::wait_until("three samples ran", || fake.ran.load(Ordering::SeqCst) == 3);
    // What waits is over at once and costs nothing.
    let cancelled = service.cancel(2).unwrap();
    assert_eq!((cancelled.id, cancelled.state), (waiting.id, State::Cancelled));
    service.cancel(1).unwrap();
    let cancelled = wait(&service, &running);
    assert_eq!((cancelled.state, cancelled.score), (State::Cancelled, None));
    assert_eq!(used(&service), Charge { runs: 1, samples: 3 });
    // What was run is on record: only the rest is charged.
    fake.set(&commit(1), Way::Value(1.0));
    evaluate(&service, 1, "validation", &Choice::All);
    assert_eq!(used(&service), Charge { runs: 2, samples: 12 });
}

#[test]
fn nothing_is_shown_of_single_samples_where_only_the_aggregate_may_be() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let service = testing::service(folder.path(), testing::config(), &fake);
    let evaluation = evaluate(&service, 1, "validation", &Choice::All);
    assert_eq!(service.samples(1, 0, u64::MAX).unwrap_err().kind, Kind::Access);
    assert!(!serde_json::to_string(&evaluation).unwrap().contains("secret"));
    evaluate(&service, 1, "train", &Choice::Count(2));
    assert_eq!(service.samples(2, 0, u64::MAX).unwrap().len(), 2);
    let refused = service.evaluate(&commit(1), "test", &Choice::All).unwrap_err();
    assert_eq!(refused.kind, Kind::Access);
}

#[test]
fn budgets_and_results_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let service = open(&folder, &fake);
    evaluate_alone(&service, 1, "validation", &Choice::All);
    drop(service);
    let service = open(&folder, &fake);
    assert_eq!(used(&service), Charge { runs: 1, samples: 12 });
    let again = service.evaluate(&commit(1), "validation", &Choice::All).unwrap();
    assert_eq!((again.id.as_str(), again.score), ("e1", Some(1.0)));
    assert_eq!(fake.ran.load(Ordering::SeqCst), 12);
}

/// A service without a worker, so that it can be closed.
fn open(folder: &tempfile::TempDir, fake: &Fake) -> Arc<Service> {
    let open = service::open(testing::config(), "sha256:0".to_owned(), folder.path(), Box::new(fake.clone()));
    let service = Arc::new(open.unwrap());
    for number in 1..=5 {
        let commit = commit(number);
        service.know(&crate::api::Candidate { commit: commit.clone(), tree: commit }).unwrap();
    }
    service
}

fn evaluate_alone(service: &Service, number: u32, split: &str, choice: &Choice) {
    let evaluation = service.evaluate(&commit(number), split, choice).unwrap();
    let number = service::parse_id(&evaluation.id).unwrap();
    lock(&service.queue).retain(|queued| *queued != number);
    service.execute(number);
}

#[test]
fn an_evaluation_cut_short_is_settled_and_its_samples_kept() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let service = open(&folder, &fake);
    evaluate_alone(&service, 1, "validation", &Choice::Count(4));
    evaluate_alone(&service, 2, "validation", &Choice::Count(8));
    drop(service);
    // As if the sidecar had been killed after three samples of the second one: its end never came.
    journal::testing::cut(folder.path(), 1, false);
    let record = folder.path().join("records/000002.jsonl");
    let text = std::fs::read_to_string(&record).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    std::fs::write(&record, format!("{}{}", lines[..3].concat(), &lines[3][..20])).unwrap();

    let service = open(&folder, &fake);
    let settled = service.evaluation(2).unwrap();
    assert_eq!((settled.state, settled.charged), (State::Failed, Charge { runs: 0, samples: 3 }));
    assert_eq!(used(&service), Charge { runs: 1, samples: 7 });
    let ran = fake.ran.load(Ordering::SeqCst);
    evaluate_alone(&service, 2, "validation", &Choice::Count(8));
    assert_eq!(fake.ran.load(Ordering::SeqCst) - ran, 5);
    assert_eq!(used(&service), Charge { runs: 2, samples: 12 });
}

#[test]
fn an_evaluation_whose_record_is_whole_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let service = open(&folder, &fake);
    evaluate_alone(&service, 1, "validation", &Choice::All);
    drop(service);
    journal::testing::cut(folder.path(), 1, false);
    let service = open(&folder, &fake);
    assert_eq!(service.evaluation(1).unwrap().score, Some(1.0));
    assert_eq!(used(&service), Charge { runs: 1, samples: 12 });
}

#[test]
fn a_damaged_state_gives_no_service() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let service = open(&folder, &fake);
    evaluate_alone(&service, 1, "validation", &Choice::All);
    drop(service);
    let journal = folder.path().join("journal.jsonl");
    let whole = std::fs::read(&journal).unwrap();
    let refused = |bytes: &[u8]| {
        std::fs::write(&journal, bytes).unwrap();
        let opened =
            service::open(testing::config(), "sha256:0".to_owned(), folder.path(), Box::new(Fake::default()));
        opened.err().map(|error| error.to_string())
    };
    assert!(refused(b"").unwrap().contains("damaged"), "emptied");
    let end_of_first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in (0..whole.len()).filter(|end| *end == 0 || whole[end - 1] == b'\n') {
        assert!(refused(&whole[..cut]).unwrap().contains("missing"), "whole lines lost after {cut} bytes");
    }
    assert!(refused(&whole[end_of_first..]).is_some(), "the beginning cut off");
    let mut changed = whole.clone();
    changed[end_of_first + 30] ^= 1;
    assert!(refused(&changed).unwrap().contains("checksum"), "changed");
    std::fs::remove_file(&journal).unwrap();
    assert!(refused(b"garbage\n").is_some());
    assert!(refused(&whole).is_none());
}

#[test]
fn another_task_and_a_second_service_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let service = open(&folder, &fake);
    let open = |digest: &str| {
        service::open(testing::config(), digest.to_owned(), folder.path(), Box::new(fake.clone()))
    };
    assert!(open("sha256:0").err().unwrap().to_string().contains("another service"));
    drop(service);
    assert!(open("sha256:1").err().unwrap().to_string().contains("another task"));
}

#[test]
fn sealing_ends_everything_and_gives_it_back() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    for number in 1..=3 {
        fake.set(&commit(number), Way::Stuck(1.0, 2));
    }
    let service = testing::service(folder.path(), testing::config(), &fake);
    for number in 1..=3 {
        service.evaluate(&commit(number), "validation", &Choice::All).unwrap();
    }
    testing::wait_until("two samples ran", || fake.ran.load(Ordering::SeqCst) == 2);
    service.seal().unwrap();
    for number in 1..=3 {
        assert_eq!(service.evaluation(number).unwrap().state, State::Cancelled);
    }
    assert_eq!(used(&service), Charge::default());
    assert_eq!(service.submit(&commit(1)).unwrap_err().kind, Kind::Sealed);
    assert_eq!(service.evaluate(&commit(1), "train", &Choice::All).unwrap_err().kind, Kind::Sealed);
}

#[test]
fn a_charge_that_cannot_be_written_is_no_charge() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let service = open(&folder, &fake);
    let Some(full) = journal::testing::full(folder.path()) else { return };
    *lock(&service.journal) = full;
    let refused = service.evaluate(&commit(1), "validation", &Choice::All).unwrap_err();
    assert_eq!(refused.kind, Kind::Broken);
    assert_eq!(used(&service), Charge::default());
    assert_eq!(service.book().evaluations().len(), 0);
}

#[test]
fn each_attempt_is_shown_where_the_task_says_so() {
    let attempt = |reward, class, message: &str| Attempt {
        reward,
        class,
        exception: class.map(|_| "RuntimeError".to_owned()),
        message: message.to_owned(),
        transcript: "what it said".to_owned(),
        claimed: Claimed { n_input_tokens: Some(12), ..Claimed::default() },
        ..Attempt::default()
    };
    let list = vec![
        attempt(Some(0.5), None, ""),
        attempt(None, Some(ErrorClass::Candidate), ""),
        attempt(None, Some(ErrorClass::Infrastructure), "no such label"),
    ];
    let attempts = Some(Box::new(Attempts { expected: 3, list, ..Attempts::default() }));
    for shown in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let fake = Fake { attempts: attempts.clone(), ..Fake::default() };
        let mut config = testing::config();
        config.feedback.attempts = shown;
        let service = testing::service(folder.path(), config, &fake);
        evaluate(&service, 1, "train", &Choice::Count(1));
        let views = service.samples(1, 0, u64::MAX).unwrap().remove(0).attempts;
        assert!(!serde_json::to_string(&views).unwrap().contains("label"));
        // What its agent claims stands where its transcript does.
        assert!(views.iter().all(|view| view.claimed.is_some() == view.log.is_some()));
        let seen: Vec<_> =
            views.iter().map(|view| (view.score, view.error.as_deref(), view.log.is_some())).collect();
        let all = [
            (Some(0.5), None, true),
            (None, Some("RuntimeError"), true),
            (None, Some("infrastructure"), false),
        ];
        assert_eq!(seen, if shown { &all[..] } else { &[] });
    }
}

#[test]
fn where_there_is_no_room_nothing_more_is_taken_and_what_is_there_counts() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let service = testing::service(folder.path(), testing::config(), &fake);
    evaluate(&service, 1, "validation", &Choice::All);
    fake.kept.store(2048 << 20, Ordering::SeqCst);
    let refused = service.evaluate(&commit(2), "validation", &Choice::All).unwrap_err();
    assert_eq!(refused.kind, Kind::Full);
    let upload = folder.path().join("upload");
    std::fs::write(&upload, "pack").unwrap();
    assert_eq!(service.import(&upload, &commit(9)).unwrap_err().kind, Kind::Full);
    // Nothing was charged, and what is known is still told and taken.
    assert_eq!(used(&service), Charge { runs: 1, samples: 12 });
    assert_eq!(evaluate(&service, 1, "validation", &Choice::All).score, Some(1.0));
    service.submit(&commit(1)).unwrap();
    // A little less, and there is room again.
    fake.kept.store((2048 << 20) - (1 << 20), Ordering::SeqCst);
    assert!(service.evaluate(&commit(2), "train", &Choice::Count(2)).is_ok());
}

#[test]
fn results_count_among_what_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake { noisy: true, ..Fake::default() };
    let mut config = testing::config();
    config.limits.state_mb = 1;
    fake.kept.store((1 << 20) - 3000, Ordering::SeqCst);
    let service = testing::service(folder.path(), config, &fake);
    let taken = (0..20).take_while(|_| {
        let asked = service.evaluate(&commit(1), "train", &Choice::All);
        asked.is_ok_and(|evaluation| wait(&service, &evaluation).state == State::Done)
    });
    let taken = taken.count();
    assert!((1..10).contains(&taken), "{taken}");
}

#[test]
fn the_journal_counts_among_what_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = testing::config();
    config.limits.state_mb = 1;
    let fake = Fake { noisy: true, ..Fake::default() };
    let service = testing::service(folder.path(), config, &fake);
    let asked = |_: &usize| {
        let asked = service.evaluate(&commit(1), "train", &Choice::Count(1));
        asked.is_ok_and(|evaluation| {
            service.cancel(service::parse_id(&evaluation.id).unwrap()).unwrap();
            wait(&service, &evaluation).state == State::Cancelled
        })
    };
    fake.set(&commit(1), Way::Stuck(1.0, 0));
    let taken = (0..10_000).take_while(asked).count();
    // A record of a few bytes takes a block of the disk, and each is two lines of the journal.
    assert!((50..256).contains(&taken), "{taken}");
}

#[test]
fn submissions_do_not_fill_the_journal_and_the_last_one_stands() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let service = testing::service(folder.path(), testing::config(), &fake);
    service.book_mut().submissions = super::request::MOST_SUBMISSIONS - 1;
    service.submit(&commit(1)).unwrap();
    assert_eq!(service.submit(&commit(2)).unwrap_err().kind, Kind::Full);
    assert_eq!(service.submit(&commit(1)).unwrap().commit, commit(1));
    assert_eq!(service.book().submitted.as_ref().unwrap().commit, commit(1));
}

#[test]
fn what_finalizing_writes_is_set_aside_as_a_file_until_the_work_is_over() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let service = testing::service(folder.path(), testing::config(), &fake);
    let reserve = folder.path().join("reserve");
    let size = || std::fs::metadata(&reserve).map_or(0, |file| file.blocks() * 512);
    assert!(size() >= 64 << 20, "{}", size());
    service.seal().unwrap();
    assert_eq!(size(), 0);
    drop(service);
}

#[test]
fn what_we_say_of_our_own_failure_is_not_for_the_optimizer() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let mut config = testing::config();
    config.limits.error_rate_threshold = 1.0;
    fake.set(&commit(1), Way::Infrastructure);
    let service = testing::service(folder.path(), config, &fake);
    evaluate(&service, 1, "train", &Choice::Count(2));
    let views = service.samples(1, 0, u64::MAX).unwrap();
    assert_eq!(views.len(), 2);
    for view in views {
        assert_eq!(view.error.as_deref(), Some("infrastructure"));
        assert_eq!((view.feedback, view.log), (None, None));
    }
    // And of what the candidate did, everything that the split shows.
    fake.set(&commit(2), Way::Crash);
    evaluate(&service, 2, "train", &Choice::Count(1));
    let view = service.samples(2, 0, u64::MAX).unwrap().remove(0);
    assert!(view.feedback.is_some_and(|said| said.starts_with("secret of")) && view.log.is_some());
}

#[test]
fn finalizing_takes_nothing_from_what_the_optimizer_evaluated() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake::default();
    let service = testing::service(folder.path(), testing::config(), &fake);
    evaluate(&service, 1, "validation", &Choice::All);
    assert_eq!(fake.ran.load(Ordering::SeqCst), 12);
    // By the record it would have one result, measured now it has another.
    fake.set(&commit(1), Way::Value(0.25));
    let candidate = service.candidate(&commit(1)).unwrap();
    let number = service
        .evaluate_now(service::OwnRequest {
            purpose: Purpose::Finalize("target 1".to_owned()),
            candidate: &candidate,
            split: "validation",
            samples: None,
        })
        .unwrap();
    assert_eq!(fake.ran.load(Ordering::SeqCst), 24);
    let end = service.book().evaluation(number).unwrap().end.clone().unwrap();
    assert_eq!((end.recorded, end.summary.unwrap().score), (0, 0.25));
}

#[test]
fn the_thousandth_evaluation_leaves_as_much_behind_as_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let fake = Fake { noisy: true, ..Fake::default() };
    let service = open(&folder, &fake);
    let mut lengths = Vec::new();
    let size = || std::fs::metadata(folder.path().join("journal.jsonl")).unwrap().len();
    for _ in 0..300 {
        let before = size();
        evaluate_alone(&service, 1, "train", &Choice::All);
        lengths.push(size() - before);
    }
    assert!(lengths[299] < lengths[0] + 20, "{} and {}", lengths[0], lengths[299]);
}
