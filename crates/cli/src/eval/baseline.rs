//! The baseline beside a candidate: what it came to on the same samples, if it was evaluated here with the same settings.

use std::collections::BTreeMap;

use anyhow::Context;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};
use taskwright_base::failed;
use taskwright_base::number::mean;
use taskwright_base::student;
use taskwright_base::write::{self, Durable};
use taskwright_eval::EvaluationResult;

/// The file of a record that holds the value of each sample.
const VALUES: &str = "values.json";

/// The baseline on one split.
pub struct Baseline {
    record: Utf8PathBuf,
    values: BTreeMap<String, f64>,
}

/// Numbers and their mean.
pub struct Mean {
    /// How many there are.
    pub count: usize,
    pub value: Option<f64>,
    /// Student's 95 % interval of the mean, as of samples that were drawn from samples like them.
    pub interval: Option<(f64, f64)>,
}

/// A candidate and the baseline on the samples that both have a value of.
pub struct Comparison {
    pub baseline: Mean,
    /// Of the differences sample by sample.
    pub difference: Mean,
}

impl Mean {
    pub fn of(values: &[f64]) -> Self {
        Self { count: values.len(), value: mean(values.iter().copied()), interval: student::interval(values) }
    }

    pub fn json(&self) -> Value {
        let interval = self
            .interval
            .map(|(low, high)| json!({"low": low, "high": high, "confidence": 0.95, "method": "student_t"}));
        json!({"samples": self.count, "mean": self.value, "interval": interval})
    }
}

/// The values that a candidate has.
pub fn values(result: &EvaluationResult) -> Vec<f64> {
    result.samples.iter().filter_map(|sample| sample.value).collect()
}

/// Keeps what came out of an evaluation, beside its record, with what earlier ones on other samples left there.
pub fn keep(record: &Utf8Path, result: &EvaluationResult) -> anyhow::Result<()> {
    let known = result.samples.iter().filter_map(|sample| Some((sample.id.clone(), sample.value?)));
    let mut values = read(record)?.unwrap_or_default();
    values.extend(known);
    let text = serde_json::to_vec(&values).context("writing the values")?;
    Ok(write::atomic(record.join(VALUES), Durable::No, &text)?)
}

/// What was kept in a record; none if nothing was, or nothing that is whole.
fn read(record: &Utf8Path) -> anyhow::Result<Option<BTreeMap<String, f64>>> {
    let path = record.join(VALUES);
    match std::fs::read(&path) {
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("reading", &path)(error).into()),
    }
}

impl Baseline {
    /// Reads what was kept in a record; none if nothing was.
    pub fn read(record: Utf8PathBuf) -> anyhow::Result<Option<Self>> {
        Ok(read(&record)?.map(|values| Self { record, values }))
    }

    pub fn record(&self) -> &Utf8Path {
        &self.record
    }

    /// Compares a candidate with it; none if they have no sample in common.
    pub fn compare(&self, result: &EvaluationResult) -> Option<Comparison> {
        let pairs: Vec<(f64, f64)> = result
            .samples
            .iter()
            .filter_map(|sample| Some((*self.values.get(&sample.id)?, sample.value?)))
            .collect();
        let baseline: Vec<f64> = pairs.iter().map(|(baseline, _)| *baseline).collect();
        let differences: Vec<f64> = pairs.iter().map(|(baseline, value)| value - baseline).collect();
        let compared = Comparison { baseline: Mean::of(&baseline), difference: Mean::of(&differences) };
        (!pairs.is_empty()).then_some(compared)
    }

    /// Its value of a sample.
    pub fn value(&self, sample: &str) -> Option<f64> {
        self.values.get(sample).copied()
    }
}
