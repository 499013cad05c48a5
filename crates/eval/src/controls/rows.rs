//! Mode A: candidates are run on rows, and programs of ours can stand in the place of a task's `run`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value};
use taskwright_base::text::count;
use taskwright_base::{Error, Result, failed_to};
use taskwright_language::model::{Access, Control, Verdict};

use super::answers::{self, Answers};
use super::candidates;
use super::judge::{self, Judged, Ran, Scored, Yardstick};
use super::programs::Program;
use super::{Scores, Subject};
use crate::cancel::Cancel;
use crate::candidate::{ImportError, ImportLimits, Store};
use crate::mode_a::{ModeA, ModelAccess, Plan};
use crate::summary::is_better;

/// Why a task without a `run` is not tried with programs.
const NO_RUN: &str =
    "the scorer runs candidates itself, in a way of its own: only `[controls] candidates` can try that";

/// Scores candidates on rows, each imported by the rules that hold for an optimizer's.
#[derive(Debug)]
pub struct Rows<'a> {
    /// The task, opened.
    pub mode: &'a ModeA,
    /// How candidates reach language models, if they may.
    pub models: Option<&'a ModelAccess>,
    /// Where candidates are imported to.
    pub store: &'a Store,
    /// What a candidate may be.
    pub limits: ImportLimits,
    /// The samples.
    pub samples: &'a [String],
    /// The command that a task's candidates are run by; empty if the scorer runs them.
    pub run: &'a [String],
    /// Stops it.
    pub cancel: &'a Cancel,
}

/// What came of a control that is a program.
pub(super) struct Programmed {
    pub score: Option<f64>,
    pub judged: Judged,
    pub notes: Vec<String>,
}

impl From<Judged> for Programmed {
    fn from(judged: Judged) -> Self {
        Self { score: None, judged, notes: Vec::new() }
    }
}

impl Scores for Rows<'_> {
    fn score(&self, files: &Path) -> Result<Ran> {
        self.score_on(files, None, self.samples)
    }

    fn rows(&self) -> std::result::Result<&Rows<'_>, &str> {
        if self.run.is_empty() { Err(NO_RUN) } else { Ok(self) }
    }

    fn runs_again(&self) -> bool {
        true
    }
}

impl Rows<'_> {
    fn score_on(&self, files: &Path, run: Option<Vec<String>>, samples: &[String]) -> Result<Ran> {
        let candidate = match self.store.take_folder(files, &self.limits) {
            Ok(candidate) => candidate,
            Err(ImportError::Refused(refusal)) => return Ok(Ran::Refused(refusal.to_string())),
            Err(ImportError::Failed(error)) => return Err(error),
        };
        let checkout = self.store.checkout(&candidate)?;
        let heard = Mutex::new(Answers::new());
        let hear = |id: &str, output: &serde_json::value::RawValue| {
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.insert(id.to_owned(), output.get().to_owned());
        };
        let plan = Plan { candidate: checkout.path(), samples, models: self.models };
        let result = match run {
            None => self.mode.evaluate_and_hear(&plan, &hear, self.cancel),
            Some(run) => self.mode.with_run(run).evaluate_and_hear(&plan, &hear, self.cancel),
        };
        if self.cancel.is_cancelled() {
            return Err(Error::interrupted());
        }
        let answers = heard.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(Ran::Scored(Box::new(Scored { result, answers })))
    }

    /// Scores a program in the place of `run`.
    fn play(&self, baseline: &Path, program: Program, samples: &[String]) -> Result<Ran> {
        let room = tempfile::tempdir().map_err(failed_to("making a temporary folder"))?;
        let files = room.path().join("files");
        candidates::scripted(baseline, &program.files, &files)?;
        self.score_on(&files, Some(program.command), samples)
    }

    /// Tries a control that is a program.
    pub(super) fn try_program(
        &self,
        control: Control,
        subject: &Subject<'_>,
        yardstick: &Yardstick<'_>,
        room: &Path,
    ) -> Result<Programmed> {
        let baseline = subject.baseline;
        let judge = |ran: Ran, rule: &dyn Fn(&Ran) -> Judged| {
            let judged = match &ran {
                Ran::Refused(why) => {
                    Judged::not_applicable(format!("no candidate can bring files along: {why}"))
                }
                Ran::Scored(_) => rule(&ran),
            };
            Programmed { score: ran.score(), judged, notes: Vec::new() }
        };
        Ok(match control {
            Control::Silent => {
                let ran = self.play(baseline, Program::new(&["true"], Vec::new()), self.samples)?;
                judge(ran, &|ran| yardstick.failure(ran))
            }
            Control::Constant => return self.constant(subject, yardstick),
            Control::Replay => return self.replay(subject, yardstick),
            Control::Forged => return self.forged(subject, yardstick),
            Control::Clock => {
                if subject.serve.scorer.as_ref().is_some_and(|scorer| scorer.deterministic) {
                    return Ok(Judged::not_applicable(
                        "the scorer is deterministic: no time is in its scores",
                    )
                    .into());
                }
                match Program::slowed(self.run, room)? {
                    Ok(program) => {
                        judge(self.play(baseline, program, self.samples)?, &|ran| yardstick.no_better(ran))
                    }
                    Err(why) => Judged::not_applicable(why).into(),
                }
            }
            Control::Early => {
                let ran = self.play(baseline, Program::early(self.run), self.samples)?;
                judge(ran, &|ran| yardstick.no_better(ran))
            }
            Control::Leftovers => {
                self.play(baseline, Program::leftovers(), self.samples)?;
                self.found_nothing(&self.play(baseline, Program::leftovers(), self.samples)?)
            }
            Control::Trespass => {
                let mut reached =
                    vec!["{scorer}".to_owned(), self.mode.dataset().to_string_lossy().into_owned()];
                let rows = subject.serve.scorer.iter().flat_map(|scorer| &scorer.rows);
                reached
                    .extend(rows.map(|rows| self.mode.dataset().join(rows).to_string_lossy().into_owned()));
                let program = Program::trespass(&reached);
                self.found_nothing(&self.play(baseline, program, self.samples)?)
            }
            Control::Baseline | Control::Repeat | Control::Oracle | Control::Empty | Control::Hollow => {
                Judged::not_applicable("it is no program").into()
            }
        })
    }

    /// What a program answered that tells what it could: nothing, if it could nothing.
    fn found_nothing(&self, ran: &Ran) -> Programmed {
        let Ran::Scored(scored) = ran else { return cannot_bring(ran) };
        let texts = scored.answers.values().filter_map(|answer| serde_json::from_str::<String>(answer).ok());
        let found: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
        if scored.answers.is_empty() {
            return Judged::not_measured("it did not answer: it needs `sh`, `sed`, `touch` and `ls`").into();
        }
        let Some(first) = found.first() else {
            return Judged::pass("nothing").into();
        };
        // What this machine lacks the eval sidecar has.
        let lacking = self.mode.gaps().iter().find(|gap| ["user", "landlock"].contains(&gap.name.as_str()));
        let judged = match lacking {
            Some(gap) => {
                Judged::not_applicable(format!("this machine lacks `{}`: {}", gap.name, gap.consequence))
            }
            None => Judged::fail(format!(
                "{first} ({} of {})",
                found.len(),
                count(scored.answers.len() as u64, "answer")
            )),
        };
        judged.into()
    }

    fn constant(&self, subject: &Subject<'_>, yardstick: &Yardstick<'_>) -> Result<Programmed> {
        let known = &yardstick.baseline.answers;
        let Some(first) = self.samples.iter().find_map(|id| known.get(id)) else {
            return Ok(Judged::not_applicable("the baseline answers nothing that could be repeated").into());
        };
        if self.samples.len() < 2 {
            return Ok(Judged::not_applicable("there is one sample: any answer to it is a constant").into());
        }
        if known.len() == self.samples.len() && known.values().all(|answer| answer == first) {
            let note = "the baseline answers every sample alike: does it do anything with what it is asked?";
            let judged = Judged::not_applicable("the baseline itself answers every sample alike");
            return Ok(Programmed { notes: vec![note.to_owned()], ..judged.into() });
        }
        let answers: Answers = self.samples.iter().map(|id| (id.clone(), first.clone())).collect();
        let ran = self.play(subject.baseline, Program::of_answers(&answers), self.samples)?;
        let Ran::Scored(scored) = &ran else { return Ok(cannot_bring(&ran)) };
        let odd = judge::alike(("baseline", yardstick.baseline), ("constant", scored));
        Ok(Programmed {
            score: scored.mean(),
            judged: yardstick.no_better_by_more_than_luck(&ran),
            notes: odd.into_iter().collect(),
        })
    }

    fn forged(&self, subject: &Subject<'_>, yardstick: &Yardstick<'_>) -> Result<Programmed> {
        let objective = yardstick.objective;
        let mut forms: BTreeMap<&str, Answers> = BTreeMap::new();
        for id in self.samples {
            let honest = yardstick.baseline.answers.get(id).map(String::as_str);
            for (form, answer) in answers::forgeries(objective, id, honest) {
                forms.entry(form).or_default().insert(id.clone(), answer);
            }
        }
        let mut programs: Vec<(&str, Program)> =
            forms.iter().map(|(form, answers)| (*form, Program::of_answers(answers))).collect();
        let verdict = answers::verdict(objective);
        programs.push(("as a verdict of its own", Program::verdicts(verdict)));
        let mut tried: Vec<(&str, Option<f64>, Judged)> = Vec::new();
        for (form, program) in programs {
            let ran = self.play(subject.baseline, program, self.samples)?;
            if let Ran::Refused(_) = ran {
                return Ok(cannot_bring(&ran));
            }
            tried.push((form, ran.score(), yardstick.no_better(&ran)));
        }
        let forms: Vec<&str> = tried.iter().map(|(form, ..)| *form).collect();
        let worst = tried.iter().find(|(_, _, judged)| judged.verdict != Verdict::Pass);
        Ok(match worst {
            Some((form, score, judged)) => {
                let judged =
                    Judged { detail: format!("a claim {form}: {}", judged.detail), ..judged.clone() };
                Programmed { score: *score, judged, notes: Vec::new() }
            }
            None => {
                let best = tried.iter().filter_map(|(_, score, _)| *score).reduce(|best, other| {
                    if is_better(objective.direction, other, best) { other } else { best }
                });
                let judged = Judged::pass(format!("claims {}", forms.join(", ")));
                Programmed { score: best, judged, notes: Vec::new() }
            }
        })
    }

    fn replay(&self, subject: &Subject<'_>, yardstick: &Yardstick<'_>) -> Result<Programmed> {
        let exposed = self.exposed(subject)?;
        let mut repeated: BTreeMap<&String, Vec<&String>> = BTreeMap::new();
        for id in self.samples {
            let shown = answers::shown(self.mode.row(id)?.0.get(), subject.split_fields);
            let same = shown.and_then(|shown| exposed.get(&shown)).filter(|same| !same.is_empty());
            if let Some(same) = same {
                repeated.insert(id, same.iter().collect());
            }
        }
        let all = count(self.samples.len() as u64, "sample");
        if exposed.is_empty() {
            return Ok(Judged::not_applicable("the optimizer may see no sample").into());
        }
        if repeated.is_empty() {
            return Ok(Judged::pass(format!("none of {all} is one that the optimizer may see")).into());
        }
        let known = self.best_known(subject, yardstick, repeated.values().flatten())?;
        let mut answers = yardstick.baseline.answers.clone();
        for (id, same) in &repeated {
            let best = same.iter().filter_map(|exposed| known.get(*exposed));
            let best = best.reduce(|best, other| {
                if is_better(yardstick.objective.direction, other.0, best.0) { other } else { best }
            });
            if let Some((_, answer)) = best {
                answers.insert((*id).clone(), answer.clone());
            }
        }
        let ran = self.play(subject.baseline, Program::of_answers(&answers), self.samples)?;
        let Ran::Scored(scored) = &ran else { return Ok(cannot_bring(&ran)) };
        let mut judged = yardstick.no_better(&ran);
        let what = format!("{} of {all} shown to the optimizer too", repeated.len());
        judged.detail = format!("{what}; {}", judged.detail);
        Ok(Programmed {
            score: scored.mean(),
            judged,
            notes: vec![format!("{what}, although they are held out")],
        })
    }

    /// The samples that the optimizer may see, by what is shown of them.
    fn exposed(&self, subject: &Subject<'_>) -> Result<BTreeMap<String, Vec<String>>> {
        let mut exposed: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let splits = subject.serve.splits.values();
        for id in splits
            .filter(|split| split.access == Access::Viewable || split.expose)
            .flat_map(|split| &split.samples)
        {
            if let Some(shown) = answers::shown(self.mode.row(id)?.0.get(), subject.split_fields) {
                exposed.entry(shown).or_default().push(id.clone());
            }
        }
        Ok(exposed)
    }

    /// The best answer that is known to each of some samples, with its value: of the baseline's, the solution's and the labels.
    fn best_known<'i>(
        &self,
        subject: &Subject<'_>,
        yardstick: &Yardstick<'_>,
        ids: impl Iterator<Item = &'i &'i String>,
    ) -> Result<BTreeMap<String, (f64, String)>> {
        let mut ids: Vec<String> = ids.map(|id| (*id).clone()).collect();
        ids.sort();
        ids.dedup();
        let mut tries = vec![self.score_on(subject.baseline, None, &ids)?];
        if let Some(solution) = subject.solution {
            tries.push(self.score_on(solution, None, &ids)?);
        }
        for label in subject.serve.scorer.iter().flat_map(|scorer| &scorer.labels) {
            let mut answers = Answers::new();
            for id in &ids {
                let sample: Map<String, Value> = serde_json::from_str(self.mode.row(id)?.1.get())
                    .map_err(|error| Error::new(format!("row `{id}` of the dataset is damaged: {error}")))?;
                answers.extend(sample.get(label).map(|value| (id.clone(), value.to_string())));
            }
            tries.push(self.play(subject.baseline, Program::of_answers(&answers), &ids)?);
        }
        let mut known: BTreeMap<String, (f64, String)> = BTreeMap::new();
        for ran in &tries {
            let Ran::Scored(scored) = ran else { continue };
            for sample in &scored.result.samples {
                let (Some(value), Some(answer)) = (sample.value, scored.answers.get(&sample.id)) else {
                    continue;
                };
                let is_worse = known
                    .get(&sample.id)
                    .is_some_and(|(best, _)| !is_better(yardstick.objective.direction, value, *best));
                if !is_worse {
                    known.insert(sample.id.clone(), (value, answer.clone()));
                }
            }
        }
        Ok(known)
    }
}

fn cannot_bring(ran: &Ran) -> Programmed {
    let why = match ran {
        Ran::Refused(why) => why.as_str(),
        Ran::Scored(_) => "",
    };
    Judged::not_applicable(format!("no candidate can bring files along: {why}")).into()
}
