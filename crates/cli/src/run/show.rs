//! What a run shows while it goes on, and of what came of it.

use std::cell::Cell;
use std::io::{self, IsTerminal};

use crate::output::say;
use camino::Utf8Path;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use taskwright_experiment::dispatch::Now;
use taskwright_experiment::progress::Progress;

use taskwright_base::table::number;
use taskwright_base::text::clean;

/// The most lines of missing trials.
const MOST_LINES: usize = 20;

/// A progress bar on a terminal; elsewhere a line for each trial that ends.
pub struct Bar {
    drawn: ProgressBar,
    /// Whether anything is said at all.
    spoken: bool,
    lines: bool,
    planned: Option<u64>,
    last: Cell<u64>,
}

impl Bar {
    /// A bar for so many trials.
    pub fn new(planned: Option<u64>, quiet: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        let shown = terminal && !quiet;
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(planned, target);
        let template = "{bar:30.cyan} {pos}/{len} {msg} [{elapsed}]";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { drawn: bar, spoken: !quiet, lines: !terminal && !quiet, planned, last: Cell::new(0) }
    }

    /// Says something, unless nothing is to be said.
    pub fn say(&self, words: &str) {
        if self.spoken {
            say(words);
        }
    }

    /// Shows how far the run is.
    pub fn tell(&self, now: &Now<'_>) {
        let ended = now.tally.ended();
        let words = words(now.running as u64, now.tally.graded(), now.tally.errored(), now.tally.mean());
        self.drawn.set_position(ended);
        self.drawn.set_message(words.clone());
        if self.lines && ended != self.last.replace(ended) {
            say(&format!("{}, {words}", share(ended, self.planned)));
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.drawn.finish_and_clear();
    }
}

/// A job in one line.
pub fn line(progress: &Progress) -> String {
    let words = words(progress.running, progress.graded, progress.errored, progress.mean);
    format!("{}: {}, {words}\n", clean(&progress.job), share(progress.ended, progress.planned))
}

fn share(ended: u64, planned: Option<u64>) -> String {
    planned.map_or_else(|| format!("{ended} done"), |planned| format!("{ended} of {planned} done"))
}

fn words(running: u64, graded: u64, errored: u64, mean: Option<f64>) -> String {
    let running = if running > 0 { format!("{running} running, ") } else { String::new() };
    let mean = mean.map(|mean| format!(", mean {}", number(Some(mean)))).unwrap_or_default();
    format!("{running}{graded} graded, {errored} with errors{mean}")
}

/// Lists planned trials that have no result.
pub fn missing(progress: &Progress) {
    for missing in progress.missing.iter().take(MOST_LINES) {
        let model = missing.model.as_ref().map(|model| format!(" ({})", clean(model))).unwrap_or_default();
        let why = missing.why.map(|why| format!(": {why}")).unwrap_or_default();
        say(&format!(
            "missing: {} of {}{model} on {}{why}",
            missing.trials,
            clean(&missing.agent),
            clean(&missing.task)
        ));
    }
    if progress.missing.len() > MOST_LINES {
        say(&format!("missing: ... and trials of {} more", progress.missing.len() - MOST_LINES));
    }
}

/// A path as it is seen from the workspace's root.
pub fn short<'a>(root: &Utf8Path, path: &'a Utf8Path) -> &'a Utf8Path {
    path.strip_prefix(root).unwrap_or(path)
}
