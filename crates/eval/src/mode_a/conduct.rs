//! Conducts one try at some samples: runs go on side by side, the scorer gets what they answer in the order of the plan.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::evaluate::{CANCELLED, Clock, TICK, TIME_OVER};
use super::rows::quoted;
use super::run::{Answer, Failure};
use super::score::{Said, Scorer, verdict};
use super::workers::{Shared, limits, runner, words, work};
use super::{ModeA, Plan};
use crate::error::{Result, failed_to};
use crate::failure::{ErrorClass, RunErrorKind};
use crate::result::{Outcome, SampleResult, Score};
use crate::sandbox::order::VARIABLE;
use crate::sandbox::{Cell, MOST_CELLS, make_folder};
use crate::summary::value;

/// How many bytes of answers may wait for the scorer before no further run is started.
pub(super) const MOST_WAITING: u64 = 64 << 20;
/// How long the scorer may take for what it was handed once the evaluation's time is over.
const LAST_CALL: Duration = Duration::from_secs(5);

/// What the runs and the scorer tell the conductor.
pub(super) enum Event {
    Answered(usize, Answer),
    Failed(usize, String),
    Said(Said),
}

/// How far a sample is.
enum Stage {
    /// Not answered yet.
    Running,
    /// Answered; one before it in the plan is not.
    Answered(Answer),
    /// In the scorer's hands.
    Given { failure: Option<Failure>, seconds: f64, transcript: String },
    /// It has a result.
    Done,
}

/// Why the scorer got no further.
enum Leftover {
    /// It did not: everything has a result.
    None,
    /// The evaluation was cancelled or its time is over.
    Over,
    /// The scorer did not answer in time.
    Late,
    /// The scorer ended.
    Ended,
    /// The scorer said something after which nothing more that it says can be believed.
    Broken(String),
}

/// One try at some samples.
pub(super) struct Pass<'a> {
    mode: &'a ModeA,
    plan: &'a Plan<'a>,
    /// Places in the plan.
    order: &'a [usize],
    clock: &'a Clock<'a>,
    tell: &'a (dyn Fn(&SampleResult) + 'a),
    stages: HashMap<usize, Stage>,
    places: HashMap<&'a str, usize>,
    /// Bytes of answers that wait for one before them.
    held: u64,
    /// Position in `order` of the next sample for the scorer.
    next: usize,
    /// How many the scorer has and did not answer.
    given: u32,
    /// When the scorer answered last, or was given something when it had nothing.
    last: Instant,
    results: Vec<(usize, SampleResult)>,
}

impl<'a> Pass<'a> {
    pub fn new(
        mode: &'a ModeA,
        plan: &'a Plan<'a>,
        order: &'a [usize],
        clock: &'a Clock<'a>,
        tell: &'a (dyn Fn(&SampleResult) + 'a),
    ) -> Self {
        // Where the scorer runs the candidate itself, there is nothing to wait for.
        let stage = |()| {
            if mode.scorer.run.is_empty() {
                Stage::Answered(Answer { output: Ok("null".to_owned()), seconds: 0.0, transcript: "".into() })
            } else {
                Stage::Running
            }
        };
        Self {
            mode,
            plan,
            order,
            clock,
            tell,
            stages: order.iter().map(|place| (*place, stage(()))).collect(),
            places: order.iter().map(|place| (plan.samples[*place].as_str(), *place)).collect(),
            held: 0,
            next: 0,
            given: 0,
            last: Instant::now(),
            results: Vec::with_capacity(order.len()),
        }
    }

    /// The results, one for each sample, with its place in the plan.
    pub fn go(mut self) -> Vec<(usize, SampleResult)> {
        if let Err(error) = self.conduct() {
            self.finish_rest(|id, _| {
                SampleResult::without_value(id, ErrorClass::Infrastructure, error.to_string())
            });
        }
        self.results
    }

    fn conduct(&mut self) -> Result<()> {
        let batch =
            usize::try_from(self.mode.scorer.batch).unwrap_or(usize::MAX).clamp(1, self.order.len().max(1));
        let batches: Vec<&[usize]> = self.order.chunks(batch).collect();
        let workers = if self.mode.scorer.run.is_empty() {
            0
        } else {
            usize::try_from(self.mode.serve.limits.concurrency)
                .unwrap_or(usize::MAX)
                .min(batches.len())
                .clamp(1, MOST_CELLS / 2)
        };
        let clock = self.clock;
        let Some(mut cells) = self.mode.sandbox.cells(workers + 1, &|| clock.is_over())? else {
            self.close(Leftover::Over, "");
            return Ok(());
        };
        let Some(score_cell) = cells.pop() else { return Ok(()) };
        let (sender, events) = channel();
        let mut scorer = self.start_scorer(&score_cell, sender.clone())?;
        let abort = AtomicBool::new(false);
        let stop = || clock.is_over() || abort.load(Ordering::Relaxed);
        let shared = Shared { stop: &stop, next: AtomicUsize::new(0), waiting: AtomicU64::new(0) };
        let words = words(self.mode, self.plan);
        let runner = runner(self.mode, &words, batch, &stop);
        let (mode, plan) = (self.mode, self.plan);
        let leftover = std::thread::scope(|scope| {
            let start = |cell: Cell| {
                let (shared, runner, batches, sender) = (&shared, &runner, &batches, sender.clone());
                std::thread::Builder::new()
                    .name("run".to_owned())
                    .spawn_scoped(scope, move || work(mode, plan, &cell, shared, runner, batches, &sender))
                    .map(drop)
            };
            let started = cells.into_iter().try_for_each(start).map_err(failed_to("starting a thread"));
            let leftover = started.map(|()| self.listen(&events, &mut scorer, &shared));
            abort.store(true, Ordering::Relaxed);
            leftover
        })?;
        let how = scorer.stop();
        self.close(leftover, &how);
        Ok(())
    }

    fn start_scorer(&self, cell: &Cell, sender: Sender<Event>) -> Result<Scorer> {
        let (mode, words) = (self.mode, words(self.mode, self.plan));
        let folder = cell.path().join("score");
        // Its own, but what it makes readable in there the sandbox's user can reach.
        make_folder(&folder, 0o750)?;
        cell.give(&folder)?;
        let read = vec![self.plan.candidate.to_owned(), mode.scorer_folder.clone()];
        let order = cell.order(limits(mode, 1), read, &mode.scorer.env);
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
        let command: Vec<String> = mode.scorer.score.iter().map(|word| words.fill(word)).collect();
        Scorer::start(&command, &folder, &environment, move |said| sender.send(Event::Said(said)))
    }

    /// Takes what happens until every sample has a result or the scorer gets no further.
    fn listen(&mut self, events: &Receiver<Event>, scorer: &mut Scorer, shared: &Shared<'_>) -> Leftover {
        let mut last_call = None;
        loop {
            self.feed(scorer);
            let queued = scorer.queued.load(Ordering::Relaxed);
            shared.waiting.store(self.held.saturating_add(queued), Ordering::Relaxed);
            if self.results.len() == self.order.len() {
                return Leftover::None;
            }
            if self.clock.cancel.is_cancelled() {
                return Leftover::Over;
            }
            if self.clock.time_is_over() {
                if last_call.is_none() {
                    self.feed_rest(scorer);
                }
                let end = *last_call.get_or_insert_with(|| Instant::now() + LAST_CALL);
                if self.given == 0 || self.mode.scorer.run.is_empty() || end <= Instant::now() {
                    return Leftover::Over;
                }
            }
            if self.given > 0 && self.last.elapsed() >= self.patience() {
                return Leftover::Late;
            }
            match events.recv_timeout(TICK) {
                Ok(Event::Answered(place, answer)) => {
                    self.held += size(&answer);
                    self.stages.insert(place, Stage::Answered(answer));
                }
                Ok(Event::Failed(place, message)) => {
                    let failed = SampleResult::without_value(
                        &self.plan.samples[place],
                        ErrorClass::Infrastructure,
                        message,
                    );
                    self.finish(place, failed);
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
        let each = Duration::from_secs(self.mode.serve.limits.sample_timeout_sec);
        if self.mode.scorer.run.is_empty() { each } else { each.saturating_mul(self.given) }
    }

    /// Hands over what is next.
    fn feed(&mut self, scorer: &mut Scorer) {
        while let Some(place) = self.order.get(self.next).copied() {
            if scorer.queued.load(Ordering::Relaxed) > MOST_WAITING {
                return;
            }
            match self.stages.insert(place, Stage::Done) {
                Some(Stage::Answered(answer)) => self.give(place, answer, scorer),
                Some(Stage::Running) => {
                    self.stages.insert(place, Stage::Running);
                    return;
                }
                _ => {}
            }
            self.next += 1;
        }
        scorer.finish();
    }

    /// Hands over what is answered although something before it is not, and says that nothing else comes.
    fn feed_rest(&mut self, scorer: &mut Scorer) {
        for place in self.order {
            match self.stages.insert(*place, Stage::Done) {
                Some(Stage::Answered(answer)) => self.give(*place, answer, scorer),
                Some(other) => drop(self.stages.insert(*place, other)),
                None => {}
            }
        }
        self.next = self.order.len();
        scorer.finish();
    }

    fn give(&mut self, place: usize, answer: Answer, scorer: &Scorer) {
        self.held = self.held.saturating_sub(size(&answer));
        let id = &self.plan.samples[place];
        let row = match self.mode.rows.get(id) {
            Ok(row) => row,
            Err(error) => {
                self.stages.insert(place, Stage::Running);
                return self.finish(
                    place,
                    SampleResult::without_value(id, ErrorClass::Infrastructure, error.to_string()),
                );
            }
        };
        let (output, error) = match &answer.output {
            Ok(output) => (output.as_str(), "null".to_owned()),
            Err(failure) => ("null", quoted(failure.kind.as_str())),
        };
        let line = format!(
            "{{\"id\":{},\"sample\":{},\"output\":{output},\"error\":{error}}}\n",
            quoted(id),
            row.sample
        );
        scorer.give(line.into_bytes());
        if self.given == 0 {
            self.last = Instant::now();
        }
        self.given += 1;
        let (failure, transcript) = (answer.output.err(), answer.transcript.as_ref().to_owned());
        self.stages.insert(place, Stage::Given { failure, seconds: answer.seconds, transcript });
    }

    /// Takes a line of the scorer's. An error means that it is broken.
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
        let place = self.places.get(id.as_str()).copied();
        let Some(place) = place.filter(|place| matches!(self.stages.get(place), Some(Stage::Given { .. })))
        else {
            return Err(format!("the scorer answered `{id}`, which it was not asked or has answered before"));
        };
        let Some(Stage::Given { failure, mut seconds, transcript }) = self.stages.remove(&place) else {
            return Ok(());
        };
        if self.mode.scorer.run.is_empty() {
            seconds = self.last.elapsed().as_secs_f64();
        }
        self.last = Instant::now();
        self.given = self.given.saturating_sub(1);
        let result = match said {
            Err(what) => SampleResult::without_value(
                &id,
                ErrorClass::Verifier,
                format!("the scorer's answer is not usable: {what}"),
            ),
            Ok(Err(reason)) => SampleResult::without_value(
                &id,
                ErrorClass::Infrastructure,
                format!("the scorer gave no score: {reason}"),
            ),
            Ok(Ok(score)) => self.judged(&id, failure, score),
        };
        self.finish(place, SampleResult { seconds, transcript, ..result });
        Ok(())
    }

    /// The result of a sample that has a score.
    fn judged(&self, id: &str, failure: Option<Failure>, score: Score) -> SampleResult {
        let objective = &self.mode.serve.objective;
        let value = match (value(objective, &score), &failure) {
            (Some(value), _) => value,
            (None, Some(_)) => objective.failure_value,
            (None, None) => {
                let message =
                    format!("the scorer reported no metric `{}`, which is the objective", objective.metric);
                return SampleResult::without_value(id, ErrorClass::Verifier, message);
            }
        };
        let outcome = match failure {
            None => Outcome::Scored(score),
            Some(Failure { kind, detail }) => Outcome::CandidateError { kind, detail, score },
        };
        SampleResult::new(id, outcome, Some(value))
    }

    fn finish(&mut self, place: usize, result: SampleResult) {
        if !matches!(self.stages.insert(place, Stage::Done), Some(Stage::Done)) {
            (self.tell)(&result);
            self.results.push((place, result));
        }
    }

    /// Gives every sample that has none a result.
    fn finish_rest(&mut self, result: impl Fn(&str, &Stage) -> SampleResult) {
        for place in self.order {
            if let Some(stage) = self.stages.get(place).filter(|stage| !matches!(stage, Stage::Done)) {
                let result = result(&self.plan.samples[*place], stage);
                self.finish(*place, result);
            }
        }
    }

    fn close(&mut self, leftover: Leftover, how: &str) {
        let failure_value = self.mode.serve.objective.failure_value;
        let timeout = |id: &str, detail: String| {
            let score = Score { score: failure_value, metrics: BTreeMap::new(), feedback: None };
            let outcome = Outcome::CandidateError { kind: RunErrorKind::Timeout, detail, score };
            SampleResult::new(id, outcome, Some(failure_value))
        };
        let scorer_runs = self.mode.scorer.run.is_empty();
        let seconds = self.mode.serve.limits.sample_timeout_sec;
        match leftover {
            Leftover::None => {}
            Leftover::Over if self.clock.cancel.is_cancelled() => {
                self.finish_rest(|id, _| {
                    SampleResult::without_value(id, ErrorClass::Infrastructure, CANCELLED)
                });
            }
            Leftover::Over => self.finish_rest(|id, stage| match stage {
                // What the candidate had answered is not its fault.
                Stage::Given { failure: None, .. } if !scorer_runs => {
                    SampleResult::without_value(id, ErrorClass::Verifier, TIME_OVER)
                }
                _ => timeout(id, TIME_OVER.to_owned()),
            }),
            Leftover::Late if scorer_runs => {
                self.finish_rest(|id, _| timeout(id, format!("not finished after {seconds} s")));
            }
            Leftover::Late => self.finish_rest(|id, _| {
                SampleResult::without_value(
                    id,
                    ErrorClass::Verifier,
                    format!("the scorer did not answer in time and was ended: {how}"),
                )
            }),
            Leftover::Ended => self.finish_rest(|id, _| {
                SampleResult::without_value(
                    id,
                    ErrorClass::Verifier,
                    format!("the scorer ended before it had answered: {how}"),
                )
            }),
            // What it said before stands: it may have been recorded already.
            Leftover::Broken(what) => {
                self.finish_rest(|id, _| SampleResult::without_value(id, ErrorClass::Verifier, what.clone()))
            }
        }
    }
}

fn size(answer: &Answer) -> u64 {
    answer.output.as_ref().map_or(0, |output| output.len() as u64)
}
