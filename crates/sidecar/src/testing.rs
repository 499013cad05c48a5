//! What the tests of this crate share: a task, and a runner that runs nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use taskwright_base::{Result, failed};
use taskwright_eval::{Attempts, Cancel, FailureKind};
use taskwright_gateway::Usage;
use taskwright_language::serve::ServeConfig;

use crate::api::Candidate;
use crate::events::Sample;
use crate::problem::Problem;
use crate::runner::{Job, Ran, Runner, Spent};
use crate::service::{self, Service};

pub const BASELINE: &str = "ba5e11e0ba5e11e0ba5e11e0ba5e11e0ba5e11e0";

pub fn config() -> ServeConfig {
    let ids = |prefix: &str, count: u32| (0..count).map(|i| format!("{prefix}-{i}")).collect::<Vec<_>>();
    let value = serde_json::json!({
        "serve_version": 1, "task": "tests/task", "version": "1.0.0", "description": "A task", "mode": "a",
        "baseline": { "commit": BASELINE, "tree": BASELINE, "read_only": [] },
        "objective": { "metric": "score", "direction": "maximize", "failure_value": 0.0, "constraints": [] },
        "splits": {
            "train": { "access": "viewable", "budget": {}, "min_samples": 5, "expose": false,
                "samples": ids("train", 10) },
            "validation": { "access": "non_viewable", "budget": { "runs": 5, "samples": 40 }, "min_samples": 4,
                "expose": false, "samples": ids("validation", 12) },
            "test": { "access": "no_access", "budget": {}, "min_samples": 5, "expose": false,
                "samples": ids("test", 3) },
        },
        "selection": { "split": "validation" },
        "targets": [{ "split": "test", "reward_key": "reward", "samples": ids("test", 3), "attempts": 1,
            "aggregate": "mean", "failure_value": 0.0, "direction": "maximize", "max_attempts": 1 }],
        "limits": {}, "feedback": { "transcripts": true, "max_bytes": 1000, "attempts": false }, "secrets": [],
    });
    serde_json::from_value(value).unwrap()
}

#[derive(Debug, Clone, Copy)]
pub enum Way {
    Value(f64),
    /// The values of one sample after the other attempt: the first time this, later that.
    Lucky(f64, f64),
    Crash,
    /// An infrastructure error at each sample.
    Infrastructure,
    /// An infrastructure error at the first sample, and this value at the others.
    LeftOut(f64),
    /// This value of the metric `accuracy`, and this score.
    Accuracy(f64, f64),
    /// Every sample has this value, but they take their time.
    Slow(f64),
    /// So many samples have this value; then nothing more comes until the evaluation is stopped.
    Stuck(f64, u64),
    /// So many samples have this value; then nothing is left of the budget for language models.
    Spent(f64, u64),
}

/// A runner that runs nothing. The tree of a commit is the commit.
#[derive(Clone, Default)]
pub struct Fake {
    pub ways: Arc<Mutex<BTreeMap<String, Way>>>,
    pub noisy: bool,
    pub ran: Arc<AtomicU64>,
    /// What each sample tells of its attempts.
    pub attempts: Option<Box<Attempts>>,
    pub kept: Arc<AtomicU64>,
}

impl Fake {
    pub fn set(&self, commit: &str, way: Way) {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner).insert(commit.to_owned(), way);
    }
}

impl Runner for Fake {
    fn import(&self, _: &Path, commit: &str, _: u64) -> Result<Candidate, Problem> {
        Ok(Candidate { commit: commit.to_owned(), tree: commit.to_owned() })
    }

    fn kept_bytes(&self) -> u64 {
        self.kept.load(Ordering::SeqCst)
    }

    fn is_deterministic(&self) -> bool {
        !self.noisy
    }

    fn run(&self, job: &Job, stop: &Cancel, finished: &mut (dyn FnMut(Sample) + Send)) -> Result<Ran> {
        let way = self.ways.lock().unwrap().get(&job.commit).copied().unwrap_or(Way::Value(1.0));
        for (index, id) in &job.samples {
            match way {
                Way::Slow(_) => std::thread::sleep(Duration::from_millis(20)),
                Way::Stuck(_, most) if self.ran.load(Ordering::SeqCst) >= most => {
                    wait_until("the evaluation is stopped", || stop.is_cancelled());
                }
                _ => {}
            }
            if stop.is_cancelled() {
                return Ok(Ran::default());
            }
            if matches!(way, Way::Spent(_, most) if u64::from(*index) >= most) {
                return Ok(Ran {
                    models: Some(Usage { requests: 3, spent: 1, ..Usage::default() }),
                    spent: Some(Spent::Meanwhile),
                });
            }
            let before = self.ran.fetch_add(1, Ordering::SeqCst);
            let (value, failure) = match way {
                Way::Accuracy(accuracy, _) => (Some(accuracy), None),
                Way::LeftOut(_) if *index == 0 => (None, Some(FailureKind::Infrastructure)),
                Way::LeftOut(value)
                | Way::Value(value)
                | Way::Slow(value)
                | Way::Stuck(value, _)
                | Way::Spent(value, _) => (Some(value), None),
                Way::Lucky(first, later) => (Some(if before < 12 { first } else { later }), None),
                Way::Crash => (Some(0.0), Some(FailureKind::Crash)),
                Way::Infrastructure => (None, Some(FailureKind::Infrastructure)),
            };
            let (score, metrics) = match way {
                Way::Accuracy(accuracy, score) => {
                    (Some(score), BTreeMap::from([("accuracy".to_owned(), accuracy)]))
                }
                _ => (None, BTreeMap::new()),
            };
            finished(Sample {
                index: *index,
                id: id.clone(),
                value,
                score,
                metrics,
                failure,
                feedback: Some(format!("secret of {id}")),
                log: Some(format!("log of {id}")),
                seconds: 0.01,
                attempts: self.attempts.clone(),
                copied: None,
            });
        }
        Ok(Ran::default())
    }

    fn bundle(&self, commits: &[String], to: &Path) -> Result<()> {
        std::fs::write(to, commits.join("\n")).map_err(failed("writing", to))
    }
}

/// Waits until something holds, for so long that a busy machine is no reason to give up.
pub fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(2);
    while !holds() {
        assert!(Instant::now() < deadline, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub fn commit(number: u32) -> String {
    format!("{number:040x}")
}

/// A service on a folder, with the baseline and candidates 1 to 5, and its worker.
pub fn service(folder: &Path, config: ServeConfig, fake: &Fake) -> Arc<Service> {
    let service =
        Arc::new(service::open(config, "sha256:0".to_owned(), folder, Box::new(fake.clone())).unwrap());
    service.know(&Candidate { commit: BASELINE.to_owned(), tree: BASELINE.to_owned() }).unwrap();
    for number in 1..=5 {
        let commit = commit(number);
        service.know(&Candidate { commit: commit.clone(), tree: commit }).unwrap();
    }
    let worker = Arc::clone(&service);
    std::thread::spawn(move || worker.work());
    service
}
