//! Doing an evaluation's work: what is on record is copied, the rest is run, and every sample is written as it finishes.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::state::{Progress, Service, lock};
use crate::api::{Charge, State};
use crate::budget::Location;
use crate::events::{Charged, End, Entry, Line, Outcome, Purpose, Sample};
use crate::runner::{Job, Ran, Spent};
use crate::summary;
use taskwright_base::Error;
use taskwright_base::chained_log::{self, ChainedLog};
use taskwright_eval::{Cancel, Measured};

/// Why an evaluation has no result that some model was not asked in.
const SPENT: &str =
    "what candidates may use of language models is spent, so this would not be the candidate's score";

#[derive(Default)]
struct Results {
    measured: HashMap<u32, Measured>,
    locations: Vec<(u32, Location)>,
    recorded: u64,
    /// Samples that were run and count as work done.
    done: u64,
    /// The first infrastructure error.
    error: Option<String>,
    ran: Ran,
}

impl Service {
    /// Does one evaluation's work and ends it, however that goes.
    pub(super) fn execute(&self, number: u64) {
        let Some(charged) = self.book().evaluation(number).map(|known| known.charged.clone()) else {
            return;
        };
        let Some(stop) = lock(&self.live).get(&number).map(|live| live.stop.clone()) else { return };
        // What is only to be ended need not wait for what runs.
        let _alone = (!stop.is_cancelled()).then(|| lock(&self.running));
        if charged.purpose == Purpose::Optimizer && self.book().sealed {
            stop.cancel();
        }
        let started = Instant::now();
        let path = self.record_path(number);
        let mut results = Results::default();
        let mut record = match ChainedLog::open::<Line>(&path) {
            Ok(opened) => Some(opened.log),
            Err(damage) => {
                results.error = Some(format!("the record cannot be made: {damage}"));
                None
            }
        };
        let covered = self.covered(&charged);
        if let Some(record) = &mut record {
            self.gather(&charged, &covered, record, &stop, &mut results);
        }
        let end = self.end(&charged, &covered, &stop, &results, started.elapsed());
        self.conclude(&charged, end, record, &results);
    }

    fn covered(&self, charged: &Charged) -> Vec<u32> {
        match &charged.samples {
            Some(samples) => samples.clone(),
            None => {
                let count = self.size_of(&charged.split);
                (0..u32::try_from(count).unwrap_or(u32::MAX)).collect()
            }
        }
    }

    /// Copies what is known and runs the rest.
    fn gather(
        &self,
        charged: &Charged,
        covered: &[u32],
        record: &mut ChainedLog,
        stop: &Cancel,
        results: &mut Results,
    ) {
        if stop.is_cancelled() {
            return;
        }
        self.report(charged.number, State::Running, 0, record.length());
        let mut fresh = Vec::new();
        let earlier = self.earlier(charged);
        for index in covered {
            // What we decide by is what we measure ourselves: a candidate that rolls dice does not keep its lucky throw.
            let known = match charged.purpose {
                Purpose::Optimizer => self.book().result(&charged.tree, &charged.split, *index),
                Purpose::Finalize(_) => earlier.get(index).copied(),
            };
            let Some(location) = known else {
                fresh.push(*index);
                continue;
            };
            match chained_log::read_at::<Line>(&self.record_path(location.number), location.offset) {
                Ok(Line::Sample(mut sample)) if sample.index == *index => {
                    sample.copied = Some(location.number);
                    results.recorded += 1;
                    self.take(charged, sample, record, results);
                }
                Ok(_) => fresh.push(*index),
                Err(error) => {
                    results.error.get_or_insert_with(|| format!("reading the record: {error}"));
                }
            }
        }
        if fresh.is_empty() || stop.is_cancelled() || results.error.is_some() {
            return;
        }
        let ids =
            self.config.splits.get(&charged.split).map(|split| split.samples.as_slice()).unwrap_or_default();
        let named = |index: u32| Some((index, ids.get(usize::try_from(index).ok()?)?.clone()));
        let job = Job {
            number: charged.number,
            purpose: charged.purpose.clone(),
            commit: charged.commit.clone(),
            samples: fresh.into_iter().filter_map(named).collect(),
        };
        let ran = self.runner.run(&job, stop, &mut |sample| {
            if results.measured.contains_key(&sample.index) {
                return;
            }
            if sample.value.is_some() {
                results.done += 1;
            }
            self.take(charged, sample, record, results);
            if results.error.is_some() {
                stop.cancel();
            }
        });
        match ran {
            Ok(ran) => results.ran = ran,
            Err(error) => {
                results.error.get_or_insert(error.to_string());
            }
        }
    }

    /// Results of the same step of finalizing that was cut short: it goes on where it was.
    fn earlier(&self, charged: &Charged) -> HashMap<u32, Location> {
        let mut locations = HashMap::new();
        if charged.purpose == Purpose::Optimizer {
            return locations;
        }
        let numbers: Vec<u64> = self
            .book()
            .evaluations()
            .iter()
            .filter(|known| {
                known.charged.purpose == charged.purpose
                    && known.charged.tree == charged.tree
                    && known.end.as_ref().is_some_and(|end| end.outcome == Outcome::Interrupted)
            })
            .map(|known| known.charged.number)
            .collect();
        for number in numbers {
            let Ok(values) = chained_log::read::<Line>(&self.record_path(number)) else { continue };
            for (offset, line) in values {
                if let Line::Sample(sample) = line
                    && sample.value.is_some()
                {
                    locations.entry(sample.index).or_insert(Location { number, offset });
                }
            }
        }
        locations
    }

    /// Writes a finished sample down and tells those who watch.
    fn take(&self, charged: &Charged, sample: Sample, record: &mut ChainedLog, results: &mut Results) {
        let location = Location { number: charged.number, offset: record.length() };
        results.measured.insert(sample.index, Measured::from(&sample));
        if sample.copied.is_none() && sample.is_lasting() {
            results.locations.push((sample.index, location));
        }
        if let Err(error) = record.append(&Line::Sample(sample)) {
            results.error.get_or_insert_with(|| format!("writing the record: {error}"));
        }
        self.report(charged.number, State::Running, results.measured.len() as u64, record.length());
    }

    fn report(&self, number: u64, state: State, finished: u64, bytes: u64) {
        if let Some(live) = lock(&self.live).get(&number) {
            live.progress.send_replace(Progress { state, finished, bytes });
        }
    }

    /// How the evaluation ended and what is given back.
    ///
    /// An infrastructure error costs nothing. What was cancelled costs the samples that were run before it
    /// stopped, or cancelling at the last sample would be a way around the budget.
    fn end(
        &self,
        charged: &Charged,
        covered: &[u32],
        stop: &Cancel,
        results: &Results,
        took: Duration,
    ) -> End {
        let mut end = End {
            outcome: Outcome::Done,
            refund: Charge::default(),
            summary: None,
            recorded: results.recorded,
            error: None,
            seconds: took.as_secs_f64(),
            models: results.ran.models.map(Box::new),
        };
        let charge = charged.charge;
        let unused = Charge {
            runs: if results.done == 0 { charge.runs } else { 0 },
            samples: charge.samples.saturating_sub(results.done),
        };
        let valued = results.measured.values().filter(|result| result.value.is_some()).count();
        if stop.is_cancelled() && results.error.is_none() && valued < covered.len() {
            end.outcome = Outcome::Cancelled;
            let sealed = self.book().sealed && charged.purpose == Purpose::Optimizer;
            end.refund = if sealed { charge } else { unused };
            end.error = Some(if sealed {
                "the work was over before it finished".to_owned()
            } else {
                "cancelled".to_owned()
            });
            return end;
        }
        if let Some(spent) = results.ran.spent
            && results.error.is_none()
        {
            end.outcome = Outcome::Refused;
            // Who could bring it about for nothing would have another throw for each bad one.
            end.refund = match spent {
                Spent::Before => charge,
                Spent::Meanwhile => Charge::default(),
            };
            end.error = Some(SPENT.to_owned());
            return end;
        }
        let summary = match (&results.error, self.chooser(&charged.split)) {
            (None, Some(chooser)) => {
                summary::summarize(&self.config, &charged.split, chooser, covered, &results.measured)
            }
            (Some(error), _) => Err(Error::new(error.clone())),
            (None, None) => Err(Error::new("the split is unknown")),
        };
        match summary {
            Ok(summary) => {
                end.summary = Some(summary);
                end.refund = unused;
            }
            Err(error) => {
                end.outcome = Outcome::Failed;
                end.error = Some(error.to_string());
                end.refund = self.after_failure(charge, results);
            }
        }
        end
    }

    /// What an infrastructure error gives back: everything, except for samples whose results will be of use again.
    fn after_failure(&self, charge: Charge, results: &Results) -> Charge {
        if !self.runner.is_deterministic() {
            return charge;
        }
        Charge { runs: charge.runs, samples: charge.samples.saturating_sub(results.locations.len() as u64) }
    }

    /// Makes the end durable and known: in the record, then in the journal, then in the book.
    fn conclude(&self, charged: &Charged, end: End, record: Option<ChainedLog>, results: &Results) {
        let number = charged.number;
        if let (Outcome::Failed, Some(error)) = (end.outcome, &end.error) {
            eprintln!("taskwright: evaluation {number} failed: {error}");
        }
        let written = match record {
            Some(mut record) => {
                let written = record.append(&Line::End(end.clone())).and_then(|()| record.sync());
                self.count_record(record.length());
                written
            }
            None => Ok(()),
        };
        let end = match written {
            Ok(()) => end,
            // A result that is not on the disk does not count; the first error is the one to be told.
            Err(error) => End {
                outcome: Outcome::Failed,
                refund: charged.charge,
                summary: None,
                error: Some(end.error.unwrap_or_else(|| format!("writing the record: {error}"))),
                ..end
            },
        };
        let entry = Entry::Ended { number, end: end.clone() };
        {
            let mut journal = lock(&self.journal);
            if let Err(problem) = self.commit(&mut journal, &entry) {
                // Settled for good when the service starts again; until then it is known to have failed.
                let end = End {
                    outcome: Outcome::Failed,
                    refund: Charge::default(),
                    summary: None,
                    error: Some(end.error.unwrap_or(problem.detail)),
                    ..end
                };
                let _ = self.book_mut().apply(&Entry::Ended { number, end });
            }
            if self.runner.is_deterministic() {
                let mut book = self.book_mut();
                for (index, location) in &results.locations {
                    book.remember(&charged.tree, &charged.split, *index, *location);
                }
            }
        }
        // Whoever watches is told by the sender's end.
        lock(&self.live).remove(&number);
    }
}
