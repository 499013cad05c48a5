//! The candidate's side: one `run` process for a batch of samples, and what it answers.

use std::collections::HashMap;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use taskwright_base::{Error, Result, failed};

use super::json;
use super::limits::{FAREWELL, MOST_GARBAGE, TICK};
use super::placeholders::Placeholders;
use super::rows::{Row, named_files};
use crate::failure::RunErrorKind;
use crate::sandbox::order::{Cause, Report, RunLimits};
use crate::sandbox::running::{Running, Start, Stream};
use crate::sandbox::{Cell, folder};
use crate::tail::Tail;
use taskwright_base::copy::copy;

/// What became of a sample's `run`.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// Its output as compact JSON, or how it failed. None where the scorer runs the candidate itself.
    pub output: Result<Option<Box<RawValue>>, Failure>,
    /// Seconds from the answer before it.
    pub seconds: f64,
    /// The tail of standard error meanwhile.
    pub transcript: Arc<str>,
}

/// How a candidate failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub kind: RunErrorKind,
    pub detail: String,
}

/// What all runs of an evaluation share.
pub(crate) struct Runner<'a> {
    pub placeholders: &'a Placeholders<'a>,
    pub command: &'a [String],
    pub environment: &'a std::collections::BTreeMap<String, String>,
    pub limits: RunLimits,
    pub output_bytes: u64,
    pub sample_timeout: Duration,
    pub transcript_bytes: usize,
    pub dataset: &'a Path,
    pub row_files: &'a [String],
    /// Whether to stop at once: cancelled, or the evaluation's time is over.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// A sample of a batch.
pub(crate) struct Request<'a> {
    /// Its position among the samples.
    pub sample: usize,
    pub id: &'a str,
    pub row: Row,
}

/// A line that a candidate reads.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    input: &'a RawValue,
}

impl Runner<'_> {
    /// Runs a batch in a cell. Each sample is delivered once, as it is answered; those that are not when this fails, or
    /// when it is told to stop, are not delivered.
    pub fn run(
        &self,
        cell: &Cell,
        batch: &[Request<'_>],
        deliver: &mut dyn FnMut(usize, Answer),
    ) -> Result<()> {
        let mut input = self.input(cell, batch)?;
        input.seek(SeekFrom::Start(0)).map_err(failed("rewinding", cell.path()))?;
        let command = self.placeholders.fill_all(self.command);
        let mut environment = self.environment.clone();
        environment.insert("TASKWRIGHT_DATA".to_owned(), data_folder(cell).to_string_lossy().into_owned());
        let running = cell.start(&Start {
            command: &command,
            folder: self.placeholders.candidate,
            limits: self.limits.clone(),
            read: vec![self.placeholders.candidate.to_owned(), self.placeholders.scorer.to_owned()],
            environment: &environment,
            input: Some(input),
        })?;
        let mut talk = Talk {
            runner: self,
            waiting: batch.iter().map(|request| (request.id, request.sample)).collect(),
            line: Vec::new(),
            printed: 0,
            garbage: None,
            garbage_lines: 0,
            transcript: Tail::new(self.transcript_bytes),
            last: Instant::now(),
            deliver,
        };
        let end = talk.listen(running, batch.len())?;
        talk.close(end, &command)
    }

    /// Writes the requests, and the files that they name.
    fn input(&self, cell: &Cell, batch: &[Request<'_>]) -> Result<std::fs::File> {
        let data = data_folder(cell);
        folder::remove(&data).map_err(failed("removing", &data))?;
        crate::sandbox::make_folder(&data, 0o750)?;
        cell.give(&data)?;
        let (mut file, path) = cell.readable("requests")?;
        let mut text = Vec::new();
        for request in batch {
            serde_json::to_writer(&mut text, &Line { id: request.id, input: &request.row.input })
                .map_err(|error| Error::new(format!("a request cannot be written: {error}")))?;
            text.push(b'\n');
            for name in named_files(self.dataset, self.row_files, &request.row.texts) {
                copy(&self.dataset.join(&name), &data.join(&name))?;
            }
        }
        file.write_all(&text).map_err(failed("writing", &path))?;
        // The same file, but not writable: whoever is given this descriptor cannot change what it reads.
        let _ = file.set_permissions(PermissionsExt::from_mode(0o440));
        std::fs::File::open(&path).map_err(failed("opening", &path))
    }
}

fn data_folder(cell: &Cell) -> PathBuf {
    cell.path().join("data")
}

/// A line that a candidate answers with.
#[derive(Deserialize)]
struct Answered<'a> {
    id: String,
    #[serde(borrow)]
    output: &'a RawValue,
}

/// A conversation with one process.
struct Talk<'a, 'r> {
    runner: &'a Runner<'r>,
    waiting: HashMap<&'a str, usize>,
    line: Vec<u8>,
    printed: u64,
    /// What was wrong with a line that belongs to no sample.
    garbage: Option<String>,
    garbage_lines: u32,
    transcript: Tail,
    last: Instant,
    deliver: &'a mut dyn FnMut(usize, Answer),
}

enum Ending {
    /// The process ended, or was ended for passing a limit.
    Process(Box<Report>, Option<String>),
    Late(String),
    /// It printed too much, as this says.
    Flood(String),
    /// Everything was answered, or we were told to stop.
    Done,
}

impl Talk<'_, '_> {
    fn listen(&mut self, mut running: Running, count: usize) -> Result<Ending> {
        let start = Instant::now();
        let each = self.runner.sample_timeout;
        let whole = each.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX));
        loop {
            if (self.runner.stop)() {
                running.stop();
                return Ok(Ending::Done);
            }
            let left = if self.waiting.is_empty() {
                FAREWELL.saturating_sub(self.last.elapsed())
            } else {
                each.saturating_sub(self.last.elapsed()).min(whole.saturating_sub(start.elapsed()))
            };
            if left.is_zero() {
                running.stop();
                return Ok(if self.waiting.is_empty() {
                    Ending::Done
                } else {
                    Ending::Late(format!("no answer within {} s", each.as_secs()))
                });
            }
            let waited = running.wait(left.min(TICK), &mut |stream, bytes| self.hear(stream, bytes))?;
            if let Some(flood) = self.flood() {
                running.stop();
                return Ok(Ending::Flood(flood));
            }
            if waited.is_end() {
                self.last_line();
                let order = running.order().clone();
                let report = running.stop();
                let said = report.violation.map(|violation| order.limits.passed(violation));
                return Ok(Ending::Process(Box::new(report), said));
            }
        }
    }

    fn flood(&self) -> Option<String> {
        if self.printed > self.runner.output_bytes {
            return Some(format!("printed more than {} MiB", self.runner.output_bytes >> 20));
        }
        let garbage = self.garbage.as_deref().filter(|_| self.garbage_lines > MOST_GARBAGE)?;
        Some(format!("printed more than {MOST_GARBAGE} lines that answer nothing; of the first, {garbage}"))
    }

    fn hear(&mut self, stream: Stream, bytes: &[u8]) {
        self.printed = self.printed.saturating_add(bytes.len() as u64);
        if stream == Stream::Error {
            self.transcript.add(bytes);
            return;
        }
        if self.flood().is_some() {
            return;
        }
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&rest[..end]);
            self.last_line();
            rest = &rest[end + 1..];
        }
        self.line.extend_from_slice(rest);
    }

    fn last_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.iter().all(u8::is_ascii_whitespace) {
            self.answer(&line);
        }
    }

    fn answer(&mut self, line: &[u8]) {
        if self.garbage_lines > MOST_GARBAGE {
            return;
        }
        let invalid = |what: String| Failure { kind: RunErrorKind::InvalidOutput, detail: what };
        let (id, output) = match json::compact(line) {
            Ok(text) => match serde_json::from_str::<Answered<'_>>(&text) {
                Ok(answered) => (Some(answered.id), Ok(answered.output.to_owned())),
                Err(_) => (
                    json::id_of_damaged(line),
                    Err(invalid("the answer is not an object with an `id` and an `output`".to_owned())),
                ),
            },
            Err(what) => (json::id_of_damaged(line), Err(invalid(format!("the answer {what}")))),
        };
        match (id.and_then(|id| self.waiting.remove(id.as_str())), output) {
            (Some(sample), output) => self.finish(sample, output.map(Some)),
            (None, Err(failure)) => self.discard(failure.detail),
            (None, Ok(_)) => {
                self.discard("an answer's id is none that was asked for, or was answered before".to_owned());
            }
        }
    }

    fn discard(&mut self, why: String) {
        self.garbage_lines += 1;
        self.garbage.get_or_insert(why);
    }

    fn finish(&mut self, sample: usize, output: Result<Option<Box<RawValue>>, Failure>) {
        let seconds = self.last.elapsed().as_secs_f64();
        self.last = Instant::now();
        let transcript = self.transcript.take();
        (self.deliver)(sample, Answer { output, seconds, transcript });
    }

    /// Delivers what was not answered.
    fn close(mut self, ending: Ending, command: &[String]) -> Result<()> {
        let failure = match ending {
            Ending::Done => return Ok(()),
            Ending::Late(detail) => Failure { kind: RunErrorKind::Timeout, detail },
            Ending::Flood(what) => {
                Failure { kind: RunErrorKind::InvalidOutput, detail: format!("ended: {what}") }
            }
            Ending::Process(report, violation) => self.failure(&report, violation, command)?,
        };
        let seconds = self.last.elapsed().as_secs_f64();
        // What it complained of may have come together with the answer before.
        let transcript = self.transcript.whole();
        let mut samples: Vec<usize> = self.waiting.drain().map(|(_, sample)| sample).collect();
        samples.sort_unstable();
        for (number, sample) in samples.into_iter().enumerate() {
            // Once is enough: a batch may have thousands.
            let transcript = if number == 0 { Arc::clone(&transcript) } else { Arc::from("") };
            (self.deliver)(sample, Answer { output: Err(failure.clone()), seconds, transcript });
        }
        Ok(())
    }

    /// Whose fault it is that a process ended without having answered.
    fn failure(&mut self, report: &Report, violation: Option<String>, command: &[String]) -> Result<Failure> {
        let crash = |detail: String| Failure { kind: RunErrorKind::Crash, detail };
        if let Some(not_started) = &report.not_started {
            // A program out of the candidate's own files may be missing or broken; any other is the image's to provide.
            let program = command.first().map(String::as_str).unwrap_or_default();
            let is_theirs = Path::new(program).starts_with(self.runner.placeholders.candidate)
                || (program.contains('/') && !program.starts_with('/'));
            return match not_started.cause {
                Cause::Program if is_theirs => Ok(crash(not_started.message.clone())),
                Cause::Program | Cause::Infrastructure => Err(not_started.to_error()),
            };
        }
        if report.survivors > 0 {
            return Err(Error::new(format!("{} processes of a run cannot be ended", report.survivors)));
        }
        Ok(match (violation, report.status, report.signal) {
            (Some(violation), ..) => crash(violation),
            (None, Some(0), _) => match self.garbage.take() {
                Some(detail) => Failure { kind: RunErrorKind::InvalidOutput, detail },
                None => Failure {
                    kind: RunErrorKind::NoOutput,
                    detail: "the program ended without an answer for this sample".to_owned(),
                },
            },
            (None, Some(status), _) => crash(format!("the program ended with exit status {status}")),
            (None, None, Some(signal)) => crash(format!("the program was ended by signal {signal}")),
            (None, None, None) => return Err(Error::new("a run ended without a status")),
        })
    }
}
