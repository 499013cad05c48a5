//! Controls: candidates whose score is known before are scored like any other, and what they score says whether a task can be believed.
//!
//! ```text
//!  baseline ──▶ repeat ──▶ what must be better, what must fail, what must gain nothing
//!     │           │                     ▲
//!     │           └─ noise ─────────────┤
//!     └─ score, answers ────────────────┘   each by one rule of `judge`
//! ```
//!
//! `candidates` are files that no author wrote; `rows` puts `programs` in the place of a task's `run`, which is whatever
//! a candidate makes of it: in Mode A its process is the candidate's own. `answers` are kept or forged ones. `judge` knows nothing of how
//! something was scored. Where samples are inner tasks, whoever calls scores candidates, and only those controls are tried that are
//! nothing but files.

mod answers;
pub mod candidates;
pub mod judge;
mod programs;
mod rows;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use taskwright_base::{Result, failed_to};
use taskwright_language::model::{Control, Verdict};
use taskwright_language::serve::ServeConfig;

use self::judge::{Judged, Ran, Scored, Yardstick};

pub use self::rows::Rows;

/// A task that is tried out.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// What it says.
    pub serve: &'a ServeConfig,
    /// The samples that it is scored on in the end.
    pub samples: &'a [String],
    /// The baseline's files.
    pub baseline: &'a Path,
    /// All files of a candidate that has the spec's solution; none if the spec has none.
    pub solution: Option<&'a Path>,
    /// All files of candidates that cheat, by the names of the controls that they are.
    pub cheats: &'a [(String, PathBuf)],
    /// What the task need not hold to, and why.
    pub waived: &'a BTreeMap<Control, String>,
    /// The fields of rows that say nothing but which split a row is in.
    pub split_fields: &'a [String],
}

/// How a candidate is scored on a task's samples.
pub trait Scores {
    /// Scores the candidate whose files are in a folder.
    ///
    /// # Errors
    /// It was interrupted, or something is wrong that concerns every candidate.
    fn score(&self, files: &Path) -> Result<Ran>;

    /// What rows and a `run` of their own make possible; none where there is no `run`, with the reason.
    fn rows(&self) -> std::result::Result<&Rows<'_>, &str>;

    /// Whether a candidate that is scored again is run again.
    fn runs_again(&self) -> bool;
}

/// A control that was tried, or was not for a reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Tried {
    /// The control's name.
    pub name: String,
    /// What it must do.
    pub expectation: &'static str,
    /// What it scored; none if it was not scored.
    pub score: Option<f64>,
    /// Whether that is what it must, and what there is to say.
    pub judged: Judged,
}

/// What came of all controls of a task.
#[derive(Debug, Clone, Default)]
pub struct Tries {
    /// Each control.
    pub tried: Vec<Tried>,
    /// What is odd and no verdict says.
    pub notes: Vec<String>,
}

/// What a control must do.
pub fn expectation(control: Control) -> &'static str {
    match control {
        Control::Baseline => "every sample is scored, none fails",
        Control::Repeat => "the same score, if the scorer claims so",
        Control::Oracle => "better than the baseline",
        Control::Empty | Control::Hollow | Control::Silent => "scored as a failure",
        Control::Constant | Control::Replay | Control::Forged | Control::Clock | Control::Early => {
            "no better than the baseline"
        }
        Control::Leftovers => "finds nothing",
        Control::Trespass => "can do none of it",
    }
}

/// What a candidate of the spec's own that cheats must do.
pub const CHEAT: &str = "no better than the baseline";

/// Tries a task out. `begin` is told of each control before it is tried, `end` of what came of it.
///
/// # Errors
/// It was interrupted, or something is wrong that concerns every candidate.
pub fn try_out(
    subject: &Subject<'_>,
    scores: &dyn Scores,
    begin: &dyn Fn(&str),
    end: &dyn Fn(&Tried),
) -> Result<Tries> {
    let room = tempfile::Builder::new().prefix("taskwright-controls-").tempdir();
    let room = room.map_err(failed_to("making a temporary folder"))?;
    Session {
        subject,
        scores,
        room: room.path(),
        begin,
        end,
        tries: Tries::default(),
        baseline: None,
        oracle: None,
        noise: 0.0,
    }
    .run()
}

struct Session<'a> {
    subject: &'a Subject<'a>,
    scores: &'a dyn Scores,
    /// Where files of candidates are made.
    room: &'a Path,
    begin: &'a dyn Fn(&str),
    end: &'a dyn Fn(&Tried),
    tries: Tries,
    baseline: Option<Box<Scored>>,
    oracle: Option<Box<Scored>>,
    noise: f64,
}

impl Session<'_> {
    fn run(mut self) -> Result<Tries> {
        for control in Control::ALL {
            let name = control.name();
            (self.begin)(name);
            let (score, judged) = match self.subject.waived.get(&control) {
                Some(reason) => (None, Judged::not_applicable(format!("waived: {reason}"))),
                None => self.control(control)?,
            };
            self.add(name, expectation(control), score, judged);
        }
        for (name, files) in self.subject.cheats {
            (self.begin)(name);
            let (score, judged) = match &self.baseline {
                None => (None, no_baseline()),
                Some(_) => {
                    let ran = self.scores.score(files)?;
                    let judged =
                        self.yardstick().map_or_else(no_baseline, |yardstick| yardstick.no_better(&ran));
                    (ran.score(), judged)
                }
            };
            self.add(name, CHEAT, score, judged);
        }
        if let (Some(baseline), Some(oracle)) = (&self.baseline, &self.oracle) {
            let odd = judge::alike(("baseline", baseline), ("oracle", oracle));
            self.tries.notes.extend(odd);
        }
        Ok(self.tries)
    }

    fn add(&mut self, name: &str, expectation: &'static str, score: Option<f64>, judged: Judged) {
        let tried = Tried { name: name.to_owned(), expectation, score, judged };
        (self.end)(&tried);
        self.tries.tried.push(tried);
    }

    fn is_deterministic(&self) -> bool {
        self.subject.serve.scorer.as_ref().is_some_and(|scorer| scorer.deterministic)
    }

    fn yardstick(&self) -> Option<Yardstick<'_>> {
        let baseline = self.baseline.as_deref().filter(|baseline| baseline.mean().is_some())?;
        Some(Yardstick { objective: &self.subject.serve.objective, baseline, noise: self.noise })
    }

    /// Tries one control: its score, and what is said of it.
    fn control(&mut self, control: Control) -> Result<(Option<f64>, Judged)> {
        let Subject { serve, baseline, solution, .. } = *self.subject;
        let read_only = &serve.baseline.read_only;
        if control == Control::Baseline {
            let ran = self.scores.score(baseline)?;
            let (score, judged) = (ran.score(), judge::baseline(&ran));
            if let Ran::Scored(scored) = ran {
                self.noise = judge::noise(&scored, None, self.is_deterministic());
                self.baseline = Some(scored);
            }
            return Ok((score, judged));
        }
        let Some(first) = self.baseline.as_deref().filter(|baseline| baseline.mean().is_some()) else {
            return Ok((None, no_baseline()));
        };
        let ran = match control {
            Control::Repeat if !self.scores.runs_again() => {
                let why = "what was scored is taken from the record: the same trials are not run again";
                return Ok((None, Judged::not_applicable(why)));
            }
            Control::Repeat => {
                let again = self.scores.score(baseline)?;
                let (score, judged) = (again.score(), judge::repeat(first, &again, self.is_deterministic()));
                if let Ran::Scored(again) = &again {
                    self.noise = judge::noise(first, Some(again), self.is_deterministic());
                }
                return Ok((score, judged));
            }
            Control::Oracle => match solution {
                None => return Ok((None, Judged::not_applicable("the spec has no `[solution]`"))),
                Some(files) => self.scores.score(files)?,
            },
            Control::Empty => {
                let files = self.room.join("empty");
                candidates::empty(baseline, read_only, &files)?;
                self.scores.score(&files)?
            }
            Control::Hollow => {
                let files = self.room.join("hollow");
                candidates::hollow(baseline, read_only, &files)?;
                self.scores.score(&files)?
            }
            _ => return self.with_program(control),
        };
        let score = ran.score();
        let judged = self.yardstick().map_or_else(no_baseline, |yardstick| match control {
            Control::Oracle => yardstick.better(&ran),
            _ => yardstick.failure(&ran),
        });
        if let (Control::Oracle, Ran::Scored(scored)) = (control, ran) {
            self.oracle = Some(scored);
        }
        Ok((score, judged))
    }

    /// The controls that put a program in the place of the task's `run`.
    fn with_program(&mut self, control: Control) -> Result<(Option<f64>, Judged)> {
        let rows = match self.scores.rows() {
            Ok(rows) => rows,
            Err(why) => return Ok((None, Judged::not_applicable(why))),
        };
        let Some(yardstick) = self.yardstick() else { return Ok((None, no_baseline())) };
        let tried = rows.try_program(control, self.subject, &yardstick, self.room)?;
        self.tries.notes.extend(tried.notes);
        Ok((tried.score, tried.judged))
    }
}

fn no_baseline() -> Judged {
    Judged { verdict: Verdict::NotMeasured, detail: "the baseline has no score to compare with".to_owned() }
}
