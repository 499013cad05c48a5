//! Mode A on this machine: no Docker, the isolation that can be had, and a record of each sample as it finishes.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::sync::{Arc, Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use taskwright_base::lock::LockFile;
use taskwright_base::{Error, failed};
use taskwright_eval::{
    Cancel, End, EvaluationResult, IsolationGap, IsolationMode, Measured, ModeA, Options, Outcome, Plan,
    SampleResult, summarize,
};

use super::Evaluated;
use super::candidate::Files;
use super::import::{self, Imported};
use super::paths::{self, Paths};
use super::progress::Progress;
use super::task::Task;

/// Runs candidates of mode A.
pub struct Runner<'a> {
    task: &'a Task,
    mode: ModeA,
    _runtime_lock: LockFile,
}

impl<'a> Runner<'a> {
    /// Opens the built task.
    pub fn open(task: &'a Task) -> anyhow::Result<Self> {
        let (runtime, runtime_lock) = Paths::runtime()?;
        let sidecar = task.dir.join("environment/sidecar");
        let mode = ModeA::open(Options {
            serve: Arc::new(task.serve.clone()),
            dataset: sidecar.join("dataset").into(),
            scorer: sidecar.join("scorer").into(),
            taskwright: task.binary().into(),
            runtime: runtime.into(),
            isolation: IsolationMode::BestEffort,
            path: std::env::var("PATH").ok(),
            // The dataset that the task was built from, other tasks, earlier results: wherever the workspace lies.
            hidden: vec![crate::workspace::this()?.root.into()],
        })?;
        Ok(Self { task, mode, _runtime_lock: runtime_lock })
    }

    /// The task, opened.
    pub fn mode(&self) -> &ModeA {
        &self.mode
    }

    /// The isolation that could not be given.
    pub fn gaps(&self) -> &[IsolationGap] {
        self.mode.gaps()
    }

    /// Imports a candidate.
    pub fn import(&self, files: &Files, paths: &Paths) -> anyhow::Result<Imported> {
        import::import(self.task, paths, self.mode.sandbox(), files)
    }

    /// All that a score depends on besides the candidate.
    pub fn settings(&self) -> Value {
        let limits = &self.task.serve.limits;
        json!({
            "mode": "a",
            "scorer": self.task.serve.scorer,
            "objective": self.task.serve.objective,
            "sample_timeout_sec": limits.sample_timeout_sec,
            "memory_mb": limits.memory_mb,
            "processes": limits.processes,
            "file_size_mb": limits.file_size_mb,
            "output_mb": limits.output_mb,
        })
    }

    /// Evaluates a candidate on samples, as far as the record does not answer already.
    pub fn evaluate(
        &self,
        imported: &Imported,
        split: &str,
        samples: &[String],
        record: Utf8PathBuf,
        cancel: &Cancel,
    ) -> anyhow::Result<Evaluated> {
        let Record { mut known, path, file, lock: _lock } = Record::open(&record)?;
        let file = Mutex::new(file);
        let progress = Progress::new(split, samples.len());
        for id in samples {
            if let Some(result) = known.get(id) {
                progress.sample(result, true);
            }
        }
        let missing: Vec<String> = samples.iter().filter(|id| !known.contains_key(*id)).cloned().collect();
        let mut failed_to_write = None;
        let write_failure = Mutex::new(&mut failed_to_write);
        let (mut end, mut seconds) = (End::Completed, 0.0);
        if !missing.is_empty() {
            let plan = Plan { candidate: imported.checkout.path(), samples: &missing };
            let result = self.mode.evaluate(
                &plan,
                &|result| {
                    let written = append(&file, &path, result);
                    if let Err(error) = written {
                        **write_failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        cancel.cancel();
                    }
                    // What was never tried because of a stop is not finished.
                    if result.value.is_some() || !cancel.is_cancelled() {
                        progress.sample(result, false);
                    }
                },
                cancel,
            );
            (end, seconds) = (result.end, result.seconds);
            known.extend(result.samples.into_iter().map(|sample| (sample.id.clone(), sample)));
        }
        let recorded = progress.finish();
        if let Some(error) = failed_to_write {
            return Err(error.into());
        }
        let samples: Vec<SampleResult> = samples.iter().filter_map(|id| known.remove(id)).collect();
        let aggregate = summarize(&self.task.serve.objective, samples.iter().map(Measured::from));
        // Too many failures of what was left to do may be few of the whole.
        let threshold = self.task.serve.limits.error_rate_threshold;
        if end == End::Failed && aggregate.error_rate() <= threshold {
            end = End::Completed;
        }
        let result = EvaluationResult { end, samples, aggregate, seconds };
        Ok(Evaluated { split: split.to_owned(), record, recorded, result, baseline: None, harbor: None })
    }
}

/// The samples of a record: one JSON object a line, as they finished.
struct Record {
    known: HashMap<String, SampleResult>,
    path: Utf8PathBuf,
    file: File,
    lock: LockFile,
}

impl Record {
    fn open(folder: &Utf8Path) -> anyhow::Result<Self> {
        let path = folder.join("samples.jsonl");
        let lock = paths::lock(&folder.join("samples.lock"), "works on the same evaluation")?;
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .append(true)
            .open(&path)
            .map_err(failed("opening", &path))?;
        let mut known = HashMap::new();
        let mut is_whole = true;
        for line in BufReader::new(&file).split(b'\n') {
            let line = line.map_err(failed("reading", &path))?;
            if line.is_empty() {
                continue;
            }
            match serde_json::from_slice::<SampleResult>(&line) {
                Ok(result) if !matches!(result.outcome, Outcome::Infrastructure { .. }) => {
                    known.insert(result.id.clone(), result);
                }
                Ok(_) => {}
                // The last line of a process that was killed, or of a disk that was full.
                Err(_) => is_whole = false,
            }
        }
        if !is_whole {
            file.write_all(b"\n").map_err(failed("writing", &path))?;
        }
        Ok(Self { known, path, file, lock })
    }
}

/// Keeps a sample, so that it is there whatever happens next.
fn append(file: &Mutex<File>, path: &Utf8Path, result: &SampleResult) -> Result<(), Error> {
    if matches!(result.outcome, Outcome::Infrastructure { .. }) {
        return Ok(());
    }
    let mut line =
        serde_json::to_vec(result).map_err(|error| Error::new(format!("writing a result: {error}")))?;
    line.push(b'\n');
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    file.write_all(&line).map_err(failed("writing", path))
}
