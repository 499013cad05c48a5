//! One attempt at some samples: runs go on side by side, the scorer gets what they answer in the order of the plan.
//!
//! ```text
//!            answer                its turn              score
//!  Running ─────────▶ Answered ───────────────▶ Given ───────────▶ Done
//!     │                   │                       │                  ▲
//!     └─ no process ──────┴─ no row ──────────────┴─ no usable score ┤
//!                                                                    │
//!  the scorer is late, has ended or is broken; the evaluation is     │
//!  cancelled or its time is over: whatever is not Done ──────────────┘
//! ```
//!
//! Where the scorer runs the candidate itself there is nothing to wait for: samples begin as Answered.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::value::RawValue;
use taskwright_base::{Error, Result, failed_to};

use super::candidate_process::{Answer, Failure, Runner};
use super::limits::{Clock, Cut, LAST_CALL, MOST_WAITING, TICK, run_limits};
use super::placeholders::Placeholders;
use super::pool::Pool;
use super::scorer::{Said, Scorer, verdict};
use super::{Hear, ModeA, ModelAccess};
use crate::failure::{ErrorClass, RunErrorKind};
use crate::result::{Outcome, SampleResult, Score};
use crate::sandbox::order::{Network, RunLimits, VARIABLE};
use crate::sandbox::{Cell, MOST_CELLS, make_folder};
use crate::summary::value;

/// What the runs and the scorer have to say.
enum Event {
    /// The sample at a position was answered, or there is no answer for reasons that are not the candidate's.
    Ran(usize, Result<Answer, String>),
    Said(Said),
}

/// How far a sample is.
enum Stage {
    Running,
    /// Answered; one before it in the plan is not.
    Answered(Answer),
    /// In the scorer's hands.
    Given(Given),
    Done,
}

struct Given {
    failure: Option<Failure>,
    seconds: f64,
    transcript: String,
}

/// Why the scorer got no further.
enum Leftover {
    /// It did not: everything has a result.
    None,
    /// There is no more time for it.
    Cut(Cut),
    /// It did not answer in time.
    Late,
    Ended,
    /// It said something after which nothing more that it says can be believed.
    Broken(String),
}

/// How a sample ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub result: SampleResult,
    /// Why it was not carried to its end, if it was not.
    pub cut: Option<Cut>,
}

/// One attempt at some samples, each known by its position among them.
pub(super) struct Pass<'a> {
    mode: &'a ModeA,
    candidate: &'a Path,
    models: Option<&'a ModelAccess>,
    samples: &'a [&'a str],
    clock: &'a Clock<'a>,
    finished: &'a (dyn Fn(&SampleResult) + 'a),
    hear: &'a Hear<'a>,
    stages: Vec<Stage>,
    ended: Vec<Option<Ended>>,
    /// How many are not Done.
    open: usize,
    positions: HashMap<&'a str, usize>,
    /// Bytes of answers that wait for one before them.
    waiting: u64,
    /// The next sample for the scorer.
    next: usize,
    /// How many the scorer has and did not answer.
    given: u32,
    /// When the scorer answered last, or was given something when it had nothing.
    last: Instant,
}

/// A line for the scorer.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    sample: &'a RawValue,
    output: Option<&'a RawValue>,
    error: Option<RunErrorKind>,
}

impl<'a> Pass<'a> {
    /// `finished` is told of every result, `hear` of every answer.
    pub fn new(
        mode: &'a ModeA,
        (candidate, models): (&'a Path, Option<&'a ModelAccess>),
        samples: &'a [&'a str],
        clock: &'a Clock<'a>,
        finished: &'a (dyn Fn(&SampleResult) + 'a),
        hear: &'a Hear<'a>,
    ) -> Self {
        let first = |_: &&str| {
            if mode.scorer.run.is_empty() {
                Stage::Answered(Answer { output: Ok(None), seconds: 0.0, transcript: "".into() })
            } else {
                Stage::Running
            }
        };
        Self {
            mode,
            candidate,
            models,
            samples,
            clock,
            finished,
            hear,
            stages: samples.iter().map(first).collect(),
            ended: vec![None; samples.len()],
            open: samples.len(),
            positions: samples.iter().enumerate().map(|(position, id)| (*id, position)).collect(),
            waiting: 0,
            next: 0,
            given: 0,
            last: Instant::now(),
        }
    }

    pub fn go(mut self) -> Vec<Ended> {
        if let Err(error) = self.run() {
            self.finish_rest(None, |id, _| infrastructure(id, error.to_string()));
        }
        self.ended.into_iter().flatten().collect()
    }

    fn run(&mut self) -> Result<()> {
        let count = self.samples.len();
        let batch = usize::try_from(self.mode.scorer.batch).unwrap_or(usize::MAX).clamp(1, count.max(1));
        let positions: Vec<usize> = (0..count).collect();
        let batches: Vec<Vec<usize>> = positions.chunks(batch).map(<[usize]>::to_vec).collect();
        let threads = if self.mode.scorer.run.is_empty() {
            0
        } else {
            usize::try_from(self.mode.serve.limits.concurrency)
                .unwrap_or(usize::MAX)
                .min(batches.len())
                .clamp(1, MOST_CELLS / 2)
        };
        let clock = self.clock;
        let Some(mut cells) = self.mode.sandbox.cells(threads + 1, &|| clock.is_over().is_some())? else {
            self.close(Leftover::Cut(clock.is_over().unwrap_or(Cut::TimeOver)), "");
            return Ok(());
        };
        let Some(score_cell) = cells.pop() else { return Ok(()) };
        let (sender, events) = channel();
        let mut scorer = self.start_scorer(&score_cell, sender.clone())?;
        let abort = AtomicBool::new(false);
        let stop = || clock.is_over().is_some() || abort.load(Ordering::Relaxed);
        let placeholders = self.placeholders();
        let environment = self.environment();
        let runner = self.runner(&placeholders, &environment, batch, &stop);
        let pool = Pool {
            runner: &runner,
            rows: &self.mode.rows,
            samples: self.samples,
            batches: &batches,
            next: AtomicUsize::new(0),
            waiting: AtomicU64::new(0),
        };
        let leftover = std::thread::scope(|scope| {
            let start = |cell: Cell| {
                let (pool, sender) = (&pool, sender.clone());
                let mut deliver = move |position, answer| drop(sender.send(Event::Ran(position, answer)));
                std::thread::Builder::new()
                    .name("run".to_owned())
                    .spawn_scoped(scope, move || pool.work(&cell, &mut deliver))
                    .map(drop)
            };
            let started = cells.into_iter().try_for_each(start).map_err(failed_to("starting a thread"));
            let leftover = started.map(|()| self.listen(&events, &mut scorer, &pool.waiting));
            abort.store(true, Ordering::Relaxed);
            leftover
        })?;
        let how = scorer.stop();
        self.close(leftover, &how);
        Ok(())
    }

    fn placeholders(&self) -> Placeholders<'a> {
        Placeholders {
            scorer: &self.mode.scorer_folder,
            candidate: self.candidate,
            taskwright: self.mode.sandbox.taskwright(),
        }
    }

    /// What `run` finds in its environment. The way to language models has its names, whatever the spec says under them.
    fn environment(&self) -> BTreeMap<String, String> {
        let mut environment = self.mode.scorer.env.clone();
        environment.extend(self.models.iter().flat_map(|models| models.environment.clone()));
        environment
    }

    fn runner<'r>(
        &self,
        placeholders: &'r Placeholders<'r>,
        environment: &'r BTreeMap<String, String>,
        batch: usize,
        stop: &'r (dyn Fn() -> bool + Sync),
    ) -> Runner<'r>
    where
        'a: 'r,
    {
        let (mode, serve) = (self.mode, &self.mode.serve);
        Runner {
            placeholders,
            command: &mode.scorer.run,
            environment,
            limits: RunLimits {
                network: self.models.map_or(Network::Nothing, |models| Network::Gateway(models.gateway)),
                ..run_limits(mode, u64::try_from(batch).unwrap_or(u64::MAX))
            },
            output_bytes: serve.limits.output_mb.saturating_mul(1 << 20),
            sample_timeout: Duration::from_secs(serve.limits.sample_seconds()),
            transcript_bytes: usize::try_from(serve.feedback.max_bytes).unwrap_or(usize::MAX).min(1 << 20),
            dataset: &mode.dataset,
            row_files: &mode.scorer.rows,
            stop,
        }
    }

    fn start_scorer(&self, cell: &Cell, sender: Sender<Event>) -> Result<Scorer> {
        let mode = self.mode;
        let folder = cell.path().join("score");
        // Its own, but what it makes readable in there the sandbox's user can reach.
        make_folder(&folder, 0o750)?;
        cell.give(&folder)?;
        let read = vec![self.candidate.to_owned(), mode.scorer_folder.clone()];
        let order = cell.order(run_limits(mode, 1), read, &mode.scorer.env);
        let mut environment: BTreeMap<String, String> = [
            ("PATH", mode.sandbox.search_path().to_owned()),
            ("HOME", folder.to_string_lossy().into_owned()),
            ("TMPDIR", folder.to_string_lossy().into_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TASKWRIGHT_DATA", mode.dataset.to_string_lossy().into_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        environment.extend(mode.scorer.env.clone());
        environment.insert(VARIABLE.to_owned(), order.to_variable()?);
        let command = self.placeholders().fill_all(&mode.scorer.score);
        Scorer::start(&command, &folder, &environment, move |said| sender.send(Event::Said(said)))
    }

    /// Takes what happens until every sample has a result or the scorer gets no further.
    fn listen(&mut self, events: &Receiver<Event>, scorer: &mut Scorer, waiting: &AtomicU64) -> Leftover {
        let mut last_call = None;
        loop {
            self.feed(scorer);
            let queued = scorer.queued.load(Ordering::Relaxed);
            waiting.store(self.waiting.saturating_add(queued), Ordering::Relaxed);
            if self.open == 0 {
                return Leftover::None;
            }
            match self.clock.is_over() {
                Some(Cut::Cancelled) => return Leftover::Cut(Cut::Cancelled),
                Some(Cut::TimeOver) => {
                    if last_call.is_none() {
                        self.feed_rest(scorer);
                    }
                    let end = *last_call.get_or_insert_with(|| Instant::now() + LAST_CALL);
                    if self.given == 0 || self.mode.scorer.run.is_empty() || end <= Instant::now() {
                        return Leftover::Cut(Cut::TimeOver);
                    }
                }
                None => {}
            }
            if self.given > 0 && self.last.elapsed() >= self.patience() {
                return Leftover::Late;
            }
            match events.recv_timeout(TICK) {
                Ok(Event::Ran(position, Ok(answer))) => {
                    if matches!(self.stages[position], Stage::Running) {
                        self.waiting += size(&answer);
                        self.stages[position] = Stage::Answered(answer);
                    }
                }
                Ok(Event::Ran(position, Err(message))) => {
                    self.finish(position, infrastructure(self.samples[position], message), None);
                }
                Ok(Event::Said(Said::Line(line))) => {
                    if let Err(broken) = self.take_verdict(&line) {
                        return Leftover::Broken(broken);
                    }
                }
                Ok(Event::Said(Said::End)) => {
                    scorer.has_ended();
                    return Leftover::Ended;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Leftover::Ended,
            }
        }
    }

    /// How long the scorer may be silent. Where it runs the candidate itself, a sample's time is its own; else it may
    /// collect what it is given before it answers.
    fn patience(&self) -> Duration {
        let each = Duration::from_secs(self.mode.serve.limits.sample_seconds());
        if self.mode.scorer.run.is_empty() { each } else { each.saturating_mul(self.given) }
    }

    /// Hands over what is next, as long as the scorer keeps up.
    fn feed(&mut self, scorer: &mut Scorer) {
        while self.next < self.stages.len() {
            if scorer.queued.load(Ordering::Relaxed) > MOST_WAITING
                || matches!(self.stages[self.next], Stage::Running)
            {
                return;
            }
            self.give(self.next, scorer);
            self.next += 1;
        }
        scorer.finish();
    }

    /// Hands over what is answered although something before it is not, and says that nothing else comes.
    fn feed_rest(&mut self, scorer: &mut Scorer) {
        for position in self.next..self.stages.len() {
            self.give(position, scorer);
        }
        self.next = self.stages.len();
        scorer.finish();
    }

    /// From Answered to Given; nothing happens at any other stage.
    fn give(&mut self, position: usize, scorer: &Scorer) {
        let Stage::Answered(answer) = &self.stages[position] else { return };
        self.waiting = self.waiting.saturating_sub(size(answer));
        let id = self.samples[position];
        let line = self.mode.rows.get(id).and_then(|row| line(id, &row.sample, answer));
        let line = match line {
            Ok(line) => line,
            Err(error) => return self.finish(position, infrastructure(id, error.to_string()), None),
        };
        if let Ok(Some(output)) = &answer.output {
            (self.hear)(id, output);
        }
        let given = Given {
            failure: answer.output.as_ref().err().cloned(),
            seconds: answer.seconds,
            transcript: answer.transcript.as_ref().to_owned(),
        };
        self.stages[position] = Stage::Given(given);
        scorer.give(line);
        if self.given == 0 {
            self.last = Instant::now();
        }
        self.given += 1;
    }

    /// Takes a line of the scorer's: from Given to Done. An error means that it is broken.
    fn take_verdict(&mut self, line: &[u8]) -> Result<(), String> {
        let most = usize::try_from(self.mode.serve.feedback.max_bytes).unwrap_or(usize::MAX);
        let (id, said) = match verdict(line, most) {
            Ok(verdict) => (verdict.id, Ok(verdict.score)),
            Err((Some(id), what)) => (id, Err(what)),
            Err((None, what)) => {
                let shown: String = String::from_utf8_lossy(line).trim().chars().take(200).collect();
                return Err(format!("the scorer printed something that is no answer: {what}: {shown}"));
            }
        };
        let position = self.positions.get(id.as_str()).copied();
        let given = position.and_then(|position| match &mut self.stages[position] {
            Stage::Given(given) => Some((position, given)),
            _ => None,
        });
        let Some((position, given)) = given else {
            return Err(format!("the scorer answered `{id}`, which it was not asked or has answered before"));
        };
        let transcript = std::mem::take(&mut given.transcript);
        let (failure, mut seconds) = (given.failure.take(), given.seconds);
        if self.mode.scorer.run.is_empty() {
            seconds = self.last.elapsed().as_secs_f64();
        }
        self.last = Instant::now();
        self.given = self.given.saturating_sub(1);
        let result = match said {
            Err(what) => of_scorer(&id, format!("the scorer's answer is not usable: {what}")),
            Ok(Err(reason)) => infrastructure(&id, format!("the scorer gave no score: {reason}")),
            Ok(Ok(score)) => self.judged(&id, failure, score),
        };
        self.finish(position, SampleResult { seconds, transcript, ..result }, None);
        Ok(())
    }

    /// The result of a sample that has a score.
    fn judged(&self, id: &str, failure: Option<Failure>, score: Score) -> SampleResult {
        let objective = &self.mode.serve.objective;
        let value = match (value(objective, &score), &failure) {
            (Some(value), _) => value,
            (None, Some(_)) => objective.failure_value,
            (None, None) => {
                let what = "which is the objective";
                return of_scorer(
                    id,
                    format!("the scorer reported no metric `{}`, {what}", objective.metric),
                );
            }
        };
        let outcome = match failure {
            None => Outcome::Scored(score),
            Some(Failure { kind, detail }) => Outcome::CandidateError { kind, detail, score },
        };
        SampleResult::new(id, outcome, Some(value))
    }

    /// From any stage to Done.
    fn finish(&mut self, position: usize, result: SampleResult, cut: Option<Cut>) {
        if !matches!(std::mem::replace(&mut self.stages[position], Stage::Done), Stage::Done) {
            (self.finished)(&result);
            self.ended[position] = Some(Ended { result, cut });
            self.open -= 1;
        }
    }

    /// Gives every sample that has none a result.
    fn finish_rest(&mut self, cut: Option<Cut>, result: impl Fn(&str, &Stage) -> SampleResult) {
        for position in 0..self.stages.len() {
            let result = result(self.samples[position], &self.stages[position]);
            self.finish(position, result, cut);
        }
    }

    /// Ends what the scorer did not come to; `how` says how it ended and what it complained of.
    fn close(&mut self, leftover: Leftover, how: &str) {
        let failure_value = self.mode.serve.objective.failure_value;
        let timeout = |id: &str, detail: String| {
            let score = Score { score: failure_value, metrics: BTreeMap::new(), feedback: None };
            let outcome = Outcome::CandidateError { kind: RunErrorKind::Timeout, detail, score };
            SampleResult::new(id, outcome, Some(failure_value))
        };
        let scorer_runs = self.mode.scorer.run.is_empty();
        let seconds = self.mode.serve.limits.sample_seconds();
        let message = match leftover {
            Leftover::None => return,
            Leftover::Cut(cut @ Cut::Cancelled) => {
                return self.finish_rest(Some(cut), |id, _| infrastructure(id, cut.message()));
            }
            Leftover::Cut(cut @ Cut::TimeOver) => {
                return self.finish_rest(Some(cut), |id, stage| match stage {
                    // What the candidate had answered is not its fault.
                    Stage::Given(Given { failure: None, .. }) if !scorer_runs => of_scorer(id, cut.message()),
                    _ => timeout(id, cut.message().to_owned()),
                });
            }
            Leftover::Late if scorer_runs => {
                return self
                    .finish_rest(None, |id, _| timeout(id, format!("not finished after {seconds} s")));
            }
            Leftover::Late => format!("the scorer did not answer in time and was ended: {how}"),
            Leftover::Ended => format!("the scorer ended before it had answered: {how}"),
            // What it said before stands: it may have been recorded already.
            Leftover::Broken(what) => what,
        };
        self.finish_rest(None, |id, _| of_scorer(id, message.clone()));
    }
}

fn infrastructure(id: &str, message: impl Into<String>) -> SampleResult {
    SampleResult::without_value(id, ErrorClass::Infrastructure, message)
}

fn of_scorer(id: &str, message: impl Into<String>) -> SampleResult {
    SampleResult::without_value(id, ErrorClass::Verifier, message)
}

fn size(answer: &Answer) -> u64 {
    answer.output.as_ref().map_or(0, |output| output.as_ref().map_or(0, |output| output.get().len() as u64))
}

fn line(id: &str, sample: &RawValue, answer: &Answer) -> Result<Vec<u8>> {
    let (output, error) = match &answer.output {
        Ok(output) => (output.as_deref(), None),
        Err(failure) => (None, Some(failure.kind)),
    };
    let mut line = serde_json::to_vec(&Line { id, sample, output, error })
        .map_err(|error| Error::new(format!("a line for the scorer cannot be written: {error}")))?;
    line.push(b'\n');
    Ok(line)
}
