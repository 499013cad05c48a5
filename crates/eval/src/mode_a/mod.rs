//! Mode A: samples are rows of the task's dataset, the candidate's `run` answers them and the task's `score` judges.
//!
//! `evaluate` is the loop of attempts, `schedule` one of them: it has `pool` run the candidate, one `candidate_process`
//! for each batch, and hands the answers to the `scorer`. `rows` knows what a candidate may see, `json` lets nothing
//! through that could mislead a scorer, `limits` says what all may take.

mod candidate_process;
mod evaluate;
mod json;
mod limits;
mod placeholders;
mod pool;
mod rows;
mod schedule;
mod scorer;

use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::value::RawValue;
use taskwright_base::{Error, Result, failed};
use taskwright_language::serve::{ServeConfig, ServeScorer};

use self::rows::Rows;
use crate::cancel::Cancel;
use crate::evaluation::EvaluationResult;
use crate::result::SampleResult;
use crate::sandbox::{IsolationGap, IsolationMode, Sandbox, SandboxOptions};
use taskwright_base::copy::copy;

/// What an evaluator needs to know.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the task says.
    pub serve: Arc<ServeConfig>,
    /// The dataset's folder.
    pub dataset: PathBuf,
    /// The scorer's folder.
    pub scorer: PathBuf,
    /// The `taskwright` binary.
    pub taskwright: PathBuf,
    /// A folder of ours for everything that lives no longer than the process; made if missing, emptied if not.
    pub runtime: PathBuf,
    /// How much isolation there must be.
    pub isolation: IsolationMode,
    /// `PATH` of `run` and `score`; without it that of a Debian container.
    pub path: Option<String>,
    /// Folders that no candidate may read besides the dataset and the scorer; see [`SandboxOptions::hidden`].
    pub hidden: Vec<PathBuf>,
}

/// What is to be evaluated.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The candidate's files; see [`crate::Store::checkout`].
    pub candidate: &'a Path,
    /// The samples, each at most once.
    pub samples: &'a [String],
    /// How the candidate's `run` reaches language models, if it may.
    pub models: Option<&'a ModelAccess>,
}

/// A candidate's way to language models. Neither the scorer nor what a scorer runs has it.
#[derive(Clone)]
pub struct ModelAccess {
    /// Where the gateway is. It is all of the network that a candidate reaches.
    pub gateway: SocketAddrV4,
    /// What the candidate finds in its environment: an address, which need not be that one, and a token.
    pub environment: BTreeMap<String, String>,
}

impl std::fmt::Debug for ModelAccess {
    /// Without the environment, which holds a token.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ModelAccess").field("gateway", &self.gateway).finish_non_exhaustive()
    }
}

/// Who is told of a sample and what a candidate answered to it.
type Hear<'a> = dyn Fn(&str, &RawValue) + Sync + 'a;

/// Evaluates candidates on rows of a dataset. Share it: evaluations may run at the same time.
#[derive(Debug)]
pub struct ModeA {
    serve: Arc<ServeConfig>,
    scorer: ServeScorer,
    sandbox: Sandbox,
    rows: Arc<Rows>,
    dataset: PathBuf,
    /// The copy of the scorer's folder that candidates may read.
    scorer_folder: PathBuf,
}

impl ModeA {
    /// Reads and checks the dataset, stages the scorer and opens the sandbox.
    pub fn open(options: Options) -> Result<Self> {
        let Options {
            serve,
            dataset,
            scorer: scorer_files,
            taskwright,
            runtime,
            isolation,
            path,
            mut hidden,
        } = options;
        let Some(scorer) = serve.scorer.clone() else {
            return Err(Error::new(format!("the task `{}` has no scorer: it is not of mode A", serve.task)));
        };
        if scorer.score.is_empty() {
            return Err(Error::new(format!(
                "the task `{}` has a scorer without a `score` command",
                serve.task
            )));
        }
        hidden.extend([dataset.clone(), scorer_files.clone()]);
        let sandbox = Sandbox::open(SandboxOptions { taskwright, runtime, isolation, path, hidden })?;
        let dataset = std::path::absolute(&dataset).map_err(failed("finding", &dataset))?;
        let private = sandbox.private_folder()?;
        let splits = serve.splits.values().flat_map(|split| &split.samples);
        let targets = serve.targets.iter().flat_map(|target| &target.samples);
        let wanted: HashSet<&str> = splits.chain(targets).map(String::as_str).collect();
        let rows = Arc::new(Rows::open(&dataset, &scorer, &wanted, &private)?);
        let scorer_folder = sandbox.folder("staged")?.join("scorer");
        copy(&scorer_files, &scorer_folder)?;
        Ok(Self { serve, scorer, sandbox, rows, dataset, scorer_folder })
    }

    /// The sandbox that candidates run in.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The isolation that could not be given here.
    pub fn gaps(&self) -> &[IsolationGap] {
        self.sandbox().gaps()
    }

    /// Evaluates a candidate. Blocks until it is done. `observe` is called once for each planned sample as it finishes,
    /// in any order, with what also stands in the result; a sample that gets another attempt is not finished.
    ///
    /// A scorer that has answered everything is ended; it need not clean up in its temporary folder.
    ///
    /// Besides what the spec says, `run` finds in the folder `$TASKWRIGHT_DATA` the files of the dataset that its
    /// inputs name, and `score` finds there the whole dataset.
    pub fn evaluate(
        &self,
        plan: &Plan<'_>,
        observe: &(dyn Fn(&SampleResult) + Sync),
        cancel: &Cancel,
    ) -> EvaluationResult {
        evaluate::evaluate(self, plan, observe, &|_, _| {}, cancel)
    }

    /// The same, and `hear` is told what the candidate answered to each sample, before it is judged.
    #[cfg(feature = "controls")]
    pub(crate) fn evaluate_and_hear(
        &self,
        plan: &Plan<'_>,
        hear: &Hear<'_>,
        cancel: &Cancel,
    ) -> EvaluationResult {
        evaluate::evaluate(self, plan, &|_| {}, hear, cancel)
    }

    /// The same task with another command in the place of `run`.
    #[cfg(feature = "controls")]
    pub(crate) fn with_run(&self, run: Vec<String>) -> Self {
        Self {
            serve: Arc::clone(&self.serve),
            scorer: ServeScorer { run, ..self.scorer.clone() },
            sandbox: self.sandbox.clone(),
            rows: Arc::clone(&self.rows),
            dataset: self.dataset.clone(),
            scorer_folder: self.scorer_folder.clone(),
        }
    }

    /// What a candidate is shown of a sample, and all of it.
    #[cfg(feature = "controls")]
    pub(crate) fn row(&self, id: &str) -> Result<(Box<RawValue>, Box<RawValue>)> {
        let row = self.rows.get(id)?;
        Ok((row.input, row.sample))
    }

    /// The dataset's folder.
    #[cfg(feature = "controls")]
    pub(crate) fn dataset(&self) -> &Path {
        &self.dataset
    }
}
