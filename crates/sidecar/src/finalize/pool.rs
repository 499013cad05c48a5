//! Pooling: several results of one sample become one, and several evaluations of one tree become one score.

use std::collections::{HashMap, HashSet};

use taskwright_base::{Error, Result};
use taskwright_eval::Measured;
use taskwright_eval::summary::pool;
use taskwright_language::model::{Aggregate, Direction};

use crate::api::Candidate;
use crate::events::{Charged, Line, Outcome, Purpose, Sample, Summary};
use crate::service::{OwnRequest, Service};
use crate::summary;
use taskwright_base::chained_log;

/// The results of samples, each from one or more evaluations.
#[derive(Debug, Default)]
pub struct Pool {
    results: HashMap<u32, Vec<Measured>>,
    seen: HashSet<(u64, u32)>,
    pub numbers: Vec<u64>,
}

impl Pool {
    /// Adds what an evaluation recorded. A copied result counts once, with the one it is a copy of.
    pub fn add(&mut self, service: &Service, number: u64) -> Result<()> {
        let values = chained_log::read::<Line>(&service.record_path(number))
            .map_err(|damage| Error::new(damage.to_string()))?;
        for (_, line) in values {
            if let Line::Sample(sample) = line {
                self.add_sample(number, &sample);
            }
        }
        self.numbers.push(number);
        Ok(())
    }

    fn add_sample(&mut self, number: u64, sample: &Sample) {
        if self.seen.insert((sample.copied.unwrap_or(number), sample.index)) {
            self.results.entry(sample.index).or_default().push(Measured::from(sample));
        }
    }

    /// How many samples have a result.
    pub fn covered(&self) -> usize {
        self.results.values().filter(|results| results.iter().any(|result| result.value.is_some())).count()
    }

    /// The samples that have a result, in order.
    pub fn indexes(&self) -> Vec<u32> {
        let mut indexes: Vec<u32> = self.results.keys().copied().collect();
        indexes.sort_unstable();
        indexes
    }

    /// Whether the candidate failed at every one of some samples, in every attempt.
    pub fn only_failures(&self, samples: &[u32]) -> bool {
        samples.iter().all(|sample| {
            self.results.get(sample).is_some_and(|results| {
                results.iter().all(|result| result.value.is_some() && result.failure.is_some())
            })
        })
    }

    pub fn summarize(
        &self,
        service: &Service,
        split: &str,
        samples: &[u32],
        aggregate: Aggregate,
        direction: Direction,
    ) -> Result<Summary> {
        let chooser = service.chooser(split).ok_or_else(|| Error::new("the split is unknown"))?;
        let results = self
            .results
            .iter()
            .map(|(index, results)| (*index, pool(results, aggregate, direction)))
            .collect();
        summary::summarize(&service.config, split, chooser, samples, &results)
    }
}

/// One evaluation of the service's own, named so that it is made only once.
pub struct Step<'a> {
    pub name: String,
    pub candidate: &'a Candidate,
    pub split: &'a str,
    /// The samples; none if all.
    pub samples: Option<Vec<u32>>,
}

impl Step<'_> {
    /// The number of the evaluation, made now unless it was made before.
    pub fn take(self, service: &Service) -> Result<u64> {
        let purpose = Purpose::Finalize(self.name);
        let is_this = |charged: &Charged| {
            charged.purpose == purpose && charged.tree == self.candidate.tree && charged.split == self.split
        };
        let made = service
            .book()
            .evaluations()
            .iter()
            .find(|known| {
                is_this(&known.charged) && known.end.as_ref().is_some_and(|end| end.outcome == Outcome::Done)
            })
            .map(|known| known.charged.number);
        if let Some(number) = made {
            return Ok(number);
        }
        let request =
            OwnRequest { purpose, candidate: self.candidate, split: self.split, samples: self.samples };
        let number = service.evaluate_now(request)?;
        let end = service.book().evaluation(number).and_then(|known| known.end.clone());
        match end {
            Some(end) if end.outcome == Outcome::Done => Ok(number),
            Some(end) => Err(Error::new(end.error.unwrap_or_else(|| "it has no result".to_owned()))),
            None => Err(Error::new("it did not end")),
        }
    }
}
