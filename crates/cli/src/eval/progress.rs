//! How far an evaluation is: a bar on a terminal, lines in a pipe.

use std::collections::HashSet;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::output::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use taskwright_eval::{Outcome, SampleResult, Trials};

use taskwright_base::number::mean;
use taskwright_base::table::number;
use taskwright_base::text::clean;

/// How many lines tell how far it is, about, where there is no bar.
const MOST_LINES: u64 = 50;

/// How far an evaluation is.
pub struct Progress {
    bar: ProgressBar,
    is_terminal: bool,
    split: String,
    planned: u64,
    start: Instant,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    graded: u64,
    errored: u64,
    recorded: u64,
    values: Vec<f64>,
    trials: Trials,
    known: HashSet<String>,
}

impl Counts {
    fn done(&self) -> u64 {
        self.graded + self.errored
    }
}

impl Progress {
    /// An evaluation of so many samples begins.
    pub fn new(split: &str, planned: usize) -> Self {
        let is_terminal = io::stderr().is_terminal();
        let target = if is_terminal { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(planned as u64), target);
        if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:24.cyan} {msg}") {
            bar.set_style(style);
        }
        bar.set_prefix(split.to_owned());
        bar.enable_steady_tick(Duration::from_millis(250));
        let progress = Self {
            bar,
            is_terminal,
            split: split.to_owned(),
            planned: planned as u64,
            start: Instant::now(),
            counts: Mutex::default(),
        };
        progress.show(&progress.counts());
        progress
    }

    /// A sample is finished.
    pub fn sample(&self, result: &SampleResult, recorded: bool) {
        let mut counts = self.counts();
        if !counts.known.insert(result.id.clone()) {
            return;
        }
        match result.outcome {
            Outcome::Scored(_) => counts.graded += 1,
            _ => counts.errored += 1,
        }
        counts.recorded += u64::from(recorded);
        counts.values.extend(result.value);
        self.bar.set_position(counts.done());
        self.show(&counts);
        // In a pipe a line each would be the longest part of what is kept of it.
        let step = (self.planned / MOST_LINES).max(1);
        if !self.is_terminal
            && !recorded
            && (counts.done().is_multiple_of(step) || counts.done() == self.planned)
        {
            say(&format!(
                "{}: {} {}; {}",
                self.split,
                clean(&result.id),
                worth(result),
                self.summary(&counts)
            ));
        }
    }

    /// What runs through Harbor.
    pub fn trials(&self, trials: &Trials) {
        let mut counts = self.counts();
        counts.trials = *trials;
        self.show(&counts);
    }

    /// Something worth a line.
    pub fn say(&self, what: &str) {
        if self.is_terminal {
            self.bar.println(what);
        } else {
            say(&format!("{}: {what}", self.split));
        }
    }

    /// The evaluation is over. How many samples were found in the record.
    pub fn finish(&self) -> usize {
        self.bar.finish_and_clear();
        usize::try_from(self.counts().recorded).unwrap_or(usize::MAX)
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, counts: &Counts) {
        self.bar.set_message(self.summary(counts));
    }

    fn summary(&self, counts: &Counts) -> String {
        let mut text = format!("{} of {} done", counts.done(), self.planned);
        if counts.trials.running > 0 {
            text += &format!(", {} running", counts.trials.running);
        }
        text += &format!(", {} graded, {} errored", counts.graded, counts.errored);
        if counts.recorded > 0 {
            text += &format!(", {} from the record", counts.recorded);
        }
        if let Some(mean) = mean(counts.values.iter().copied()) {
            text += &format!(", mean {}", number(Some(mean)));
        }
        if let Some(left) = self.time_left(counts) {
            text += &format!(", about {left} left");
        }
        text
    }

    /// At the pace so far; nothing while there is none.
    fn time_left(&self, counts: &Counts) -> Option<String> {
        let (done, left) = if counts.trials.planned > 0 {
            (counts.trials.ended, counts.trials.planned.saturating_sub(counts.trials.ended))
        } else {
            (counts.done() - counts.recorded, self.planned.saturating_sub(counts.done()))
        };
        if done == 0 || left == 0 {
            return None;
        }
        let seconds = self.start.elapsed().as_secs_f64() / u32::try_from(done).ok().map(f64::from)?
            * u32::try_from(left).ok().map(f64::from)?;
        Some(if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) })
    }
}

/// What a sample came to, in a few words.
pub fn worth(result: &SampleResult) -> String {
    match (&result.outcome, result.value) {
        (Outcome::Scored(_), value) => number(value),
        (Outcome::CandidateError { kind, .. }, value) => format!("{} ({})", number(value), kind.as_str()),
        (Outcome::Infrastructure { .. }, _) => "no value".to_owned(),
    }
}
