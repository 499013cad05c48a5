//! The runner that really runs candidates: `taskwright-eval`, told what the service knows.

mod models;
mod nested;
mod sandboxed;

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use taskwright_base::{Error, Result, failed_to};
use taskwright_eval::{
    Cancel, CommitId, ImportError, ImportLimits, IsolationMode, ModeA, Options, Refusal, SampleResult,
    Sandbox, SandboxOptions, Store,
};
use taskwright_language::model::{Mode, Objective};
use taskwright_language::serve::ServeConfig;

use self::models::Way;
use self::nested::Nested;
use self::sandboxed::Sandboxed;
use crate::api::{Candidate, Models};
use crate::events::Sample;
use crate::paths::Paths;
use crate::problem::{Kind, Problem};
use crate::runner::{Job, Ran, Runner};

pub struct Evaluator {
    store: Store,
    engine: Engine,
    limits: ImportLimits,
    deterministic: bool,
    objective: Objective,
    models: Option<Way>,
}

enum Engine {
    A(Box<Sandboxed>),
    B(Box<Nested>),
}

pub fn open(config: &ServeConfig, paths: &Paths) -> Result<Evaluator> {
    let taskwright = std::env::current_exe().map_err(failed_to("finding the `taskwright` binary"))?;
    // Away from a container, on a developer's machine, what isolation there is must do.
    let isolation = if paths.image == Path::new("/taskwright") {
        IsolationMode::Required
    } else {
        IsolationMode::BestEffort
    };
    let runtime = paths.runtime.join("eval");
    let serve = Arc::new(config.clone());
    let models = Way::of(config, paths);
    let (engine, sandbox) = match config.mode {
        Mode::A => {
            let mode = ModeA::open(Options {
                serve,
                dataset: paths.image.join("dataset"),
                scorer: paths.image.join("scorer"),
                taskwright,
                runtime,
                isolation,
                path: None,
                hidden: vec![paths.image.clone()],
            })?;
            let sandboxed = Sandboxed::new(mode, models.clone());
            let sandbox = sandboxed.sandbox().clone();
            (Engine::A(Box::new(sandboxed)), sandbox)
        }
        Mode::B => {
            let hidden = vec![paths.image.clone()];
            let options = SandboxOptions { taskwright, runtime, isolation, path: None, hidden };
            let sandbox = Sandbox::open(options)?;
            (Engine::B(Box::new(Nested::open(serve, paths, sandbox.clone(), models.clone())?)), sandbox)
        }
    };
    for gap in sandbox.gaps() {
        eprintln!("taskwright: without {}: {}", gap.name, gap.consequence);
    }
    let store = Store::open(
        &paths.state.join("candidates"),
        &config.baseline,
        &paths.image.join("baseline"),
        sandbox,
    )?;
    Ok(Evaluator {
        store,
        engine,
        limits: ImportLimits::from(&config.limits),
        // A trial that was graded is not run again: the same commit on the same inner task is answered from the record.
        deterministic: config.scorer.as_ref().is_none_or(|scorer| scorer.deterministic),
        objective: config.objective.clone(),
        models,
    })
}

impl Runner for Evaluator {
    fn import(&self, upload: &Path, commit: &str, room: u64) -> Result<Candidate, Problem> {
        let failed = |error: &dyn std::fmt::Display| {
            eprintln!("taskwright: importing {commit}: {error}");
            Problem::new(
                Kind::Broken,
                "the candidate could not be imported, for reasons of the service",
                "try again",
            )
        };
        let id: CommitId = commit.parse().map_err(|error| failed(&error))?;
        let mut pack = File::open(upload).map_err(|error| failed(&error))?;
        let limits = ImportLimits { disk_bytes: room, ..self.limits };
        match self.store.import(&id, &mut pack, &limits) {
            Ok(new) => Ok(Candidate { commit: new.commit.to_string(), tree: new.tree.to_string() }),
            Err(ImportError::Refused(refusal)) => Err(refused(&refusal)),
            Err(ImportError::Failed(error)) => Err(failed(&error)),
        }
    }

    fn kept_bytes(&self) -> u64 {
        self.store.kept_bytes()
    }

    fn is_deterministic(&self) -> bool {
        self.deterministic
    }

    fn run(&self, job: &Job, stop: &Cancel, finished: &mut (dyn FnMut(Sample) + Send)) -> Result<Ran> {
        let id: CommitId = job.commit.parse()?;
        let known = self.store.find(&id)?;
        let candidate = known.ok_or_else(|| Error::new(format!("the candidate {id} is not in the store")))?;
        let checkout = self.store.checkout(&candidate)?;
        let indexes: HashMap<&str, u32> =
            job.samples.iter().map(|(index, id)| (id.as_str(), *index)).collect();
        let ids: Vec<String> = job.samples.iter().map(|(_, id)| id.clone()).collect();
        // Samples finish on several threads; whoever records them sees one at a time.
        let one = Mutex::new(finished);
        let finished = |result: &SampleResult| {
            // What was never tried because of a stop is no result.
            if result.value.is_none() && stop.is_cancelled() {
                return;
            }
            if let Some(index) = indexes.get(result.id.as_str()) {
                let mut finished = one.lock().unwrap_or_else(PoisonError::into_inner);
                finished(Sample::of(*index, result, &self.objective));
            }
        };
        match &self.engine {
            Engine::A(sandboxed) => sandboxed.run(job, checkout.path(), &ids, &finished, stop),
            Engine::B(nested) => nested.run(job, checkout.path(), &ids, &finished, stop),
        }
    }

    fn models(&self) -> Result<Models> {
        self.models.as_ref().map_or_else(|| Ok(Models::new()), Way::left)
    }

    fn bundle(&self, commits: &[String], to: &Path) -> Result<()> {
        let ids: Result<Vec<CommitId>> = commits.iter().map(|commit| commit.parse()).collect();
        self.store.bundle(&ids?, to)
    }
}

fn refused(refusal: &Refusal) -> Problem {
    let kind = match refusal {
        Refusal::Damaged { .. } | Refusal::Incomplete { .. } => Kind::Usage,
        Refusal::TooLarge { .. } => Kind::TooLarge,
        Refusal::NoRoom { .. } => Kind::Full,
        Refusal::Forbidden { .. } | Refusal::InHistory { .. } | Refusal::ReadOnly { .. } => Kind::Candidate,
    };
    let hint = match refusal {
        Refusal::Damaged { .. } | Refusal::Incomplete { .. } => {
            "use `taskwright eval`, which makes the upload"
        }
        Refusal::NoRoom { .. } => {
            "submit the best of what was evaluated (`taskwright results list`), or commit fewer files and changes"
        }
        Refusal::TooLarge { .. } => "take large files out of the commits since the baseline",
        Refusal::InHistory { .. } => {
            "make one commit of your work: `git reset --soft` to the baseline's commit, commit, and try again"
        }
        Refusal::Forbidden { .. } => "remove it, commit, and try again",
        Refusal::ReadOnly { .. } => "`git checkout` it from the baseline's commit, commit, and try again",
    };
    Problem::new(kind, refusal.to_string(), hint)
}
