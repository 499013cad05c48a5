//! Mode A on this machine: no Docker, the isolation that can be had, and a record of each sample as it finishes.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use taskwright_base::lock::LockFile;
use taskwright_base::{Error, failed};
use taskwright_eval::{
    Cancel, End, EvaluationResult, IsolationGap, IsolationMode, Measured, ModeA, ModelAccess, Options,
    Outcome, Plan, SampleResult, summarize,
};
use taskwright_gateway::Usage;

use super::Evaluated;
use super::candidate::Files;
use super::import::{self, Imported};
use super::paths::{self, Paths};
use super::progress::Progress;
use super::refused;
use super::task::Task;
use crate::gateway::host::{self, HostGateway};

/// Runs candidates of mode A.
pub struct Runner<'a> {
    task: &'a Task,
    mode: ModeA,
    gateway: Option<(HostGateway, ModelAccess)>,
    _runtime_lock: LockFile,
}

impl<'a> Runner<'a> {
    /// Opens the built task. Where its candidates ask language models and something is to be run, a gateway is started for them.
    pub fn open(task: &'a Task, is_dry: bool) -> anyhow::Result<Self> {
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
        let gateway = gateway(task, is_dry)?;
        Ok(Self { task, mode, gateway, _runtime_lock: runtime_lock })
    }

    /// How candidates reach language models, if they may.
    pub fn models(&self) -> Option<&ModelAccess> {
        self.gateway.as_ref().map(|(_, models)| models)
    }

    /// What candidates used of language models until now, where a gateway counted it.
    pub fn usage(&self) -> anyhow::Result<Option<Usage>> {
        Ok(self.gateway.as_ref().map(|(gateway, _)| gateway.usage()).transpose()?)
    }

    /// Whether candidates' requests to language models cannot be made any more.
    fn is_cut_off(&self) -> bool {
        self.gateway.as_ref().is_some_and(|(gateway, _)| gateway.is_cut_off())
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
        let mut settings = json!({
            "mode": "a",
            "scorer": self.task.serve.scorer,
            "objective": self.task.serve.objective,
            "sample_timeout_sec": limits.sample_timeout_sec,
            "memory_mb": limits.memory_mb,
            "processes": limits.processes,
            "file_size_mb": limits.file_size_mb,
            "output_mb": limits.output_mb,
        });
        // Only where there is one: elsewhere what was evaluated before there were any still answers.
        if let (Some(gateway), Some(settings)) = (&self.task.serve.gateway, settings.as_object_mut()) {
            settings.insert("gateway".to_owned(), host::settings(gateway));
        }
        settings
    }

    /// Evaluates a candidate on samples, as far as the record does not answer already. None if it was refused, which is said: nothing was
    /// left of what candidates may use of language models.
    pub fn evaluate(
        &self,
        imported: &Imported,
        split: &str,
        samples: &[String],
        record: Utf8PathBuf,
        cancel: &Cancel,
    ) -> anyhow::Result<Option<Evaluated>> {
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
        let stop = cancel.part();
        if !missing.is_empty() {
            let plan = Plan { candidate: imported.checkout.path(), samples: &missing, models: self.models() };
            let result = self.mode.evaluate(
                &plan,
                &|result| {
                    // What could not be asked for is no result: another call is to find it missing.
                    if self.is_cut_off() {
                        stop.cancel();
                        return;
                    }
                    let written = append(&file, &path, result);
                    if let Err(error) = written {
                        **write_failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                        cancel.cancel();
                    }
                    // What was never tried because of a stop is not finished.
                    if result.value.is_some() || !stop.is_cancelled() {
                        progress.sample(result, false);
                    }
                },
                &stop,
            );
            (end, seconds) = (result.end, result.seconds);
            known.extend(result.samples.into_iter().map(|sample| (sample.id.clone(), sample)));
        }
        let recorded = progress.finish();
        if let Some(error) = failed_to_write {
            return Err(error.into());
        }
        let kept = || Ok("what was finished is kept, and the same call goes on with the rest".to_owned());
        if refused::is_refused(self.usage()?, kept)? {
            return Ok(None);
        }
        let samples: Vec<SampleResult> = samples.iter().filter_map(|id| known.remove(id)).collect();
        let aggregate = summarize(&self.task.serve.objective, samples.iter().map(Measured::from));
        // Too many failures of what was left to do may be few of the whole.
        let threshold = self.task.serve.limits.error_rate_threshold;
        if end == End::Failed && aggregate.error_rate() <= threshold {
            end = End::Completed;
        }
        let result = EvaluationResult { end, samples, aggregate, seconds };
        Ok(Some(Evaluated {
            split: split.to_owned(),
            record,
            recorded,
            result,
            baseline: None,
            harbor: None,
        }))
    }
}

/// The gateway on loopback, and what a candidate in the sandbox has of it.
fn gateway(task: &Task, is_dry: bool) -> anyhow::Result<Option<(HostGateway, ModelAccess)>> {
    let loopback = || SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let Some(gateway) = HostGateway::of_candidates(&task.serve, &task.name, is_dry, loopback)? else {
        return Ok(None);
    };
    let (Some(spec), SocketAddr::V4(address)) = (&task.serve.gateway, gateway.address()) else {
        return Ok(None);
    };
    let (address_name, key) = (spec.upstream_base_url_env.as_str(), spec.upstream_api_key_env.as_str());
    // No secret reaches the sandbox: every name is the gateway's.
    let variables = gateway.variables(address_name, key);
    let environment = variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Ok(Some((gateway, ModelAccess { gateway: address, environment })))
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
