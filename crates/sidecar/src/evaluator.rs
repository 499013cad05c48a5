//! The runner that really runs candidates: `taskwright-eval`, told what the service knows.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use taskwright_eval::{
    Cancel, CommitId, ErrorClass, EvalError, ImportError, ImportLimits, IsolationMode, ModeA, Options,
    Outcome, Plan, Refusal, SampleResult, Store,
};
use taskwright_spec::model::Mode;
use taskwright_spec::serve::ServeConfig;

use crate::api::Candidate;
use crate::events::Sample;
use crate::places::Places;
use crate::problem::{Kind, Problem};
use crate::runner::{Job, Runner};

/// Runs candidates of Mode A.
pub struct Evaluator {
    store: Store,
    mode_a: ModeA,
    limits: ImportLimits,
    deterministic: bool,
}

/// Opens the evaluator of a container.
pub fn open(config: &ServeConfig, places: &Places) -> Result<Evaluator, String> {
    let scorer = match (config.mode, &config.scorer) {
        (Mode::A, Some(scorer)) => scorer,
        (Mode::A, None) => return Err("the serve config says nothing of a scorer".to_owned()),
        (Mode::B, _) => return Err("this sidecar does not serve tasks of mode b yet".to_owned()),
    };
    let text = |error: EvalError| error.to_string();
    let taskwright =
        std::env::current_exe().map_err(|error| format!("finding the `taskwright` binary: {error}"))?;
    // Away from a container, on a developer's machine, what isolation there is must do.
    let isolation = if places.image == Path::new("/taskwright") {
        IsolationMode::Required
    } else {
        IsolationMode::BestEffort
    };
    let mode_a = ModeA::open(Options {
        serve: Arc::new(config.clone()),
        dataset: places.image.join("dataset"),
        scorer: places.image.join("scorer"),
        taskwright,
        runtime: places.runtime.join("eval"),
        isolation,
        path: None,
    })
    .map_err(text)?;
    for gap in mode_a.gaps() {
        eprintln!("taskwright: without {}: {}", gap.name, gap.consequence);
    }
    let store = Store::open(
        &places.state.join("candidates"),
        &config.baseline,
        &places.image.join("baseline"),
        mode_a.sandbox().clone(),
    )
    .map_err(text)?;
    Ok(Evaluator {
        store,
        mode_a,
        limits: ImportLimits::from(&config.limits),
        deterministic: scorer.deterministic,
    })
}

impl Runner for Evaluator {
    fn import(&self, upload: &Path, commit: &str) -> Result<Candidate, Problem> {
        let ours = |error: &dyn std::fmt::Display| {
            eprintln!("taskwright: taking in {commit}: {error}");
            Problem::new(
                Kind::Broken,
                "the candidate could not be taken in, for reasons of the service",
                "try again",
            )
        };
        let id: CommitId = commit.parse().map_err(|error| ours(&error))?;
        let mut pack = File::open(upload).map_err(|error| ours(&error))?;
        match self.store.import(&id, &mut pack, &self.limits) {
            Ok(taken) => Ok(Candidate { commit: taken.commit.to_string(), tree: taken.tree.to_string() }),
            Err(ImportError::Refused(refusal)) => Err(refused(&refusal)),
            Err(ImportError::Failed(error)) => Err(ours(&error)),
        }
    }

    fn is_deterministic(&self) -> bool {
        self.deterministic
    }

    fn run(&self, job: &Job, stop: &Cancel, finished: &mut (dyn FnMut(Sample) + Send)) -> Result<(), String> {
        let id: CommitId = job.commit.parse().map_err(|error: EvalError| error.to_string())?;
        let candidate = match self.store.find(&id) {
            Ok(Some(candidate)) => candidate,
            Ok(None) => return Err(format!("the candidate {id} is not in the store")),
            Err(error) => return Err(error.to_string()),
        };
        let checkout = self.store.checkout(&candidate).map_err(|error| error.to_string())?;
        let indexes: std::collections::HashMap<&str, u32> =
            job.samples.iter().map(|(index, id)| (id.as_str(), *index)).collect();
        let ids: Vec<String> = job.samples.iter().map(|(_, id)| id.clone()).collect();
        let plan = Plan { candidate: checkout.path(), samples: &ids };
        let cancel = stop;
        // Samples finish on several threads; whoever records them sees one at a time.
        let one = Mutex::new(finished);
        self.mode_a.evaluate(
            &plan,
            &|result| {
                // What was never tried because of a stop is no result.
                if result.value.is_none() && cancel.is_cancelled() {
                    return;
                }
                if let Some(index) = indexes.get(result.id.as_str()) {
                    let mut finished = one.lock().unwrap_or_else(PoisonError::into_inner);
                    finished(sample(*index, result));
                }
            },
            cancel,
        );
        Ok(())
    }

    fn bundle(&self, commits: &[String], to: &Path) -> Result<(), String> {
        let ids: Result<Vec<CommitId>, EvalError> = commits.iter().map(|commit| commit.parse()).collect();
        let ids = ids.map_err(|error| error.to_string())?;
        self.store.bundle(&ids, to).map_err(|error| error.to_string())
    }
}

fn refused(refusal: &Refusal) -> Problem {
    let kind = match refusal {
        Refusal::Damaged { .. } | Refusal::Incomplete { .. } => Kind::Usage,
        Refusal::TooLarge { .. } => Kind::TooLarge,
        Refusal::Forbidden { .. } | Refusal::ReadOnly { .. } => Kind::Candidate,
    };
    let remedy = match refusal {
        Refusal::Damaged { .. } | Refusal::Incomplete { .. } => {
            "use `taskwright eval`, which makes the upload"
        }
        Refusal::TooLarge { .. } => "take large files out of the commits since the baseline",
        Refusal::Forbidden { .. } => "remove it, commit, and try again",
        Refusal::ReadOnly { .. } => "`git checkout` it from the baseline's commit, commit, and try again",
    };
    Problem::new(kind, refusal.to_string(), remedy)
}

/// A result as the record has it.
fn sample(index: u32, result: &SampleResult) -> Sample {
    let score = result.score();
    let failure = match (&result.outcome, result.error_class()) {
        (Outcome::CandidateError { kind, .. }, _) => Some(kind.as_str()),
        (_, Some(ErrorClass::Verifier)) => Some("verifier"),
        (_, Some(_)) => Some("infrastructure"),
        (_, None) => None,
    };
    let feedback = match &result.outcome {
        Outcome::Scored(score) => score.feedback.clone(),
        Outcome::CandidateError { detail, score, .. } => {
            Some(score.feedback.clone().map_or_else(|| detail.clone(), |said| format!("{said} ({detail})")))
        }
        Outcome::Infrastructure { message, .. } => Some(message.clone()),
    };
    Sample {
        index,
        id: result.id.clone(),
        value: result.value.filter(|value| value.is_finite()),
        metrics: score.map(|score| score.metrics.clone()).unwrap_or_default(),
        failure: failure.map(str::to_owned),
        feedback,
        log: Some(result.transcript.clone()).filter(|text| !text.is_empty()),
        seconds: result.seconds,
        copied: None,
    }
}
