//! What a control must score, and whether it did.

use std::collections::HashMap;

use taskwright_base::student;
use taskwright_base::table::number;
use taskwright_base::text::{brief, count};
use taskwright_language::model::{Direction, Objective, Verdict};

use super::answers::Answers;
use crate::evaluation::EvaluationResult;
use crate::result::{Outcome, SampleResult};

/// The share of the baseline's score below which a difference is noise where scores vary.
const NOISE: f64 = 0.1;

/// A candidate that was scored.
#[derive(Debug, Clone)]
pub struct Scored {
    /// What it scored.
    pub result: EvaluationResult,
    /// What it answered, as far as that passed us.
    pub answers: Answers,
}

impl Scored {
    /// The score; none if no sample has a value.
    pub fn mean(&self) -> Option<f64> {
        self.result.aggregate.mean
    }

    fn value(&self, id: &str) -> Option<f64> {
        self.result.samples.iter().find(|sample| sample.id == id).and_then(|sample| sample.value)
    }
}

/// What became of a candidate.
#[derive(Debug, Clone)]
pub enum Ran {
    /// It was not even let in.
    Refused(String),
    /// It was scored.
    Scored(Box<Scored>),
}

impl Ran {
    /// Its score, if it has one.
    pub fn score(&self) -> Option<f64> {
        match self {
            Self::Refused(_) => None,
            Self::Scored(scored) => scored.mean(),
        }
    }
}

/// What is said of a control.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Whether it scored as it must.
    pub verdict: Verdict,
    /// What there is to say.
    pub detail: String,
}

impl Judged {
    /// It scored as it must.
    pub fn pass(detail: impl Into<String>) -> Self {
        Self { verdict: Verdict::Pass, detail: detail.into() }
    }

    /// It did not.
    pub fn fail(detail: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fail, detail: detail.into() }
    }

    /// It means nothing here.
    pub fn not_applicable(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotApplicable, detail: reason.into() }
    }

    /// It could not be tried.
    pub fn not_measured(reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotMeasured, detail: reason.into() }
    }
}

/// The first sample that has no value, which is nobody's failure but ours or the scorer's.
fn broken(result: &EvaluationResult) -> Option<Judged> {
    let message = result.samples.iter().find_map(|sample| match &sample.outcome {
        Outcome::Infrastructure { message, .. } => {
            Some(format!("`{}` has no value: {}", sample.id, brief(message, 200)))
        }
        _ => None,
    })?;
    let missing = result.aggregate.infrastructure_errors;
    let of = result.aggregate.planned;
    Some(Judged::not_measured(format!("{missing} of {}: {message}", count(of, "sample"))))
}

/// A candidate that every sample says something of; else what is to be said, with what a refusal is.
fn measured(ran: &Ran, refused: Verdict) -> Result<&Scored, Judged> {
    match ran {
        Ran::Refused(why) => Err(Judged { verdict: refused, detail: format!("it is refused: {why}") }),
        Ran::Scored(scored) => broken(&scored.result).map_or(Ok(scored), Err),
    }
}

/// How the baseline must do: every sample is scored, and none fails.
pub fn baseline(ran: &Ran) -> Judged {
    let scored = match measured(ran, Verdict::Fail) {
        Ok(scored) => scored,
        Err(judged) => return judged,
    };
    let sum = &scored.result.aggregate;
    if sum.candidate_errors > 0 {
        let detail = scored.result.samples.iter().find_map(|sample| match &sample.outcome {
            Outcome::CandidateError { detail, .. } => {
                Some(format!("`{}`: {}", sample.id, brief(detail, 200)))
            }
            _ => None,
        });
        let failed = format!("{} of {} failed", sum.candidate_errors, count(sum.planned, "sample"));
        return Judged::fail(format!("{failed}: {}", detail.unwrap_or_default()));
    }
    if !sum.is_feasible() {
        return Judged::fail("it does not hold the objective's constraints");
    }
    Judged::pass(format!("{} scored", count(sum.planned, "sample")))
}

/// What other candidates are held against: the baseline.
#[derive(Debug, Clone, Copy)]
pub struct Yardstick<'a> {
    /// Which way is better, and what a failure counts.
    pub objective: &'a Objective,
    /// The baseline's scores.
    pub baseline: &'a Scored,
    /// How much a score may differ for no reason.
    pub noise: f64,
}

/// How much two scores of one candidate say that scores differ for no reason.
pub fn noise(first: &Scored, again: Option<&Scored>, is_deterministic: bool) -> f64 {
    let mean = first.mean().unwrap_or(0.0);
    if is_deterministic {
        return mean.abs() * 1e-9;
    }
    let spread = again.and_then(Scored::mean).map_or(0.0, |again| (again - mean).abs());
    (3.0 * spread).max(mean.abs() * NOISE)
}

/// How the baseline must do when it is scored again.
pub fn repeat(first: &Scored, again: &Ran, is_deterministic: bool) -> Judged {
    let again = match measured(again, Verdict::Fail) {
        Ok(again) => again,
        Err(judged) => return judged,
    };
    if !is_deterministic {
        let difference = first.mean().zip(again.mean()).map(|(first, again)| again - first);
        return Judged::pass(format!(
            "{} more; the scorer does not claim to be deterministic",
            number(difference)
        ));
    }
    let differs = |sample: &&SampleResult| sample.value != first.value(&sample.id);
    match again.result.samples.iter().find(differs) {
        None => Judged::pass("the same on every sample"),
        Some(sample) => Judged::fail(format!(
            "`{}` scored {} and then {}, though the scorer claims to be deterministic",
            sample.id,
            number(first.value(&sample.id)),
            number(sample.value)
        )),
    }
}

impl Yardstick<'_> {
    /// How much better than the baseline a value is, by the objective's direction.
    fn gain(&self, value: f64, than: f64) -> f64 {
        match self.objective.direction {
            Direction::Maximize => value - than,
            Direction::Minimize => than - value,
        }
    }

    /// A candidate that was measured, and how much better than the baseline it is: negative if it is worse.
    fn gained<'r>(&self, ran: &'r Ran, refused: Verdict) -> Result<(&'r Scored, f64), Judged> {
        let scored = measured(ran, refused)?;
        let means = scored.mean().zip(self.baseline.mean());
        let (mean, baseline) = means.ok_or_else(|| Judged::not_measured("there is no score"))?;
        Ok((scored, self.gain(mean, baseline)))
    }

    fn said(&self, gained: f64) -> String {
        if gained.abs() <= self.noise {
            "as good as the baseline".to_owned()
        } else if gained > 0.0 {
            format!("better than the baseline by {}", number(Some(gained)))
        } else {
            format!("worse than the baseline by {}", number(Some(-gained)))
        }
    }

    /// What must be better than the baseline.
    pub fn better(&self, ran: &Ran) -> Judged {
        self.ranked(ran, Verdict::Pass, Verdict::Fail)
    }

    /// What must not be better than the baseline.
    pub fn no_better(&self, ran: &Ran) -> Judged {
        self.ranked(ran, Verdict::Fail, Verdict::Pass)
    }

    /// What it means that a candidate is better than the baseline, and that it is not.
    fn ranked(&self, ran: &Ran, if_better: Verdict, if_not: Verdict) -> Judged {
        let (scored, gained) = match self.gained(ran, if_not) {
            Ok(gained) => gained,
            Err(judged) => return judged,
        };
        if !scored.result.aggregate.is_feasible() {
            return Judged {
                verdict: if_not,
                detail: "it does not hold the objective's constraints".to_owned(),
            };
        }
        let verdict = if gained > self.noise { if_better } else { if_not };
        Judged { verdict, detail: self.said(gained) }
    }

    /// What must not be better than the baseline by more than the luck of which samples there are: differences sample by sample,
    /// whose 95 % interval holds no difference at all, are luck.
    pub fn no_better_by_more_than_luck(&self, ran: &Ran) -> Judged {
        let judged = self.no_better(ran);
        let (Verdict::Fail, Ran::Scored(scored)) = (judged.verdict, ran) else { return judged };
        let baseline: HashMap<&str, f64> = values(&self.baseline.result).collect();
        let gains: Vec<f64> = values(&scored.result)
            .filter_map(|(id, value)| Some(self.gain(value, *baseline.get(id)?)))
            .collect();
        match student::interval(&gains) {
            Some((low, _)) if low <= self.noise => Judged::pass(format!(
                "{}, which may be luck: {}",
                judged.detail,
                count(gains.len() as u64, "sample")
            )),
            _ => judged,
        }
    }

    /// What must score as a failure does: worse than the baseline, or, where the baseline itself scores nothing, the failure value
    /// on every sample.
    pub fn failure(&self, ran: &Ran) -> Judged {
        let (scored, gained) = match self.gained(ran, Verdict::Pass) {
            Ok(gained) => gained,
            Err(judged) => return judged,
        };
        #[expect(clippy::float_cmp, reason = "the scorer was told to give this very number")]
        let is_failure = |(_, value): (&str, f64)| value == self.objective.failure_value;
        if gained < -self.noise {
            Judged::pass(self.said(gained))
        } else if gained <= self.noise && values(&scored.result).all(is_failure) {
            Judged::pass("every sample has the failure value; so has the baseline")
        } else {
            Judged::fail(format!("{}: nothing is scored as well as something", self.said(gained)))
        }
    }
}

fn values(result: &EvaluationResult) -> impl Iterator<Item = (&str, f64)> {
    result.samples.iter().filter_map(|sample| Some((sample.id.as_str(), sample.value?)))
}

/// What is odd about two candidates that differ: that nothing of it reaches the scorer, or nothing of it the score.
pub fn alike(one: (&str, &Scored), other: (&str, &Scored)) -> Option<String> {
    let ((one_name, one), (other_name, other)) = (one, other);
    let planned = one.result.samples.len();
    let is_whole = |scored: &Scored| scored.answers.len() == planned;
    if planned == 0 || !is_whole(one) || !is_whole(other) {
        return None;
    }
    let samples = count(planned as u64, "sample");
    if one.answers == other.answers {
        return Some(format!(
            "`{one_name}` and `{other_name}` answered the same on {samples}: does a candidate reach what is measured?"
        ));
    }
    let is_same = one.result.samples.iter().all(|sample| sample.value == other.value(&sample.id));
    is_same.then(|| {
        format!("`{one_name}` and `{other_name}` answered otherwise and scored the same on {samples}: does the scorer look at the answer?")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::End;
    use crate::result::Score;
    use crate::summary::{Measured, summarize};
    use std::collections::BTreeMap;
    use taskwright_testing::test;

    fn scored(objective: &Objective, values: &[f64], answers: &[&str]) -> Scored {
        let samples: Vec<SampleResult> = values
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let score = Score { score: *value, metrics: BTreeMap::new(), feedback: None };
                SampleResult::new(&index.to_string(), Outcome::Scored(score), Some(*value))
            })
            .collect();
        let aggregate = summarize(objective, samples.iter().map(Measured::from));
        let answers = answers
            .iter()
            .enumerate()
            .map(|(index, answer)| (index.to_string(), (*answer).to_owned()))
            .collect();
        Scored { result: EvaluationResult { end: End::Completed, samples, aggregate, seconds: 0.0 }, answers }
    }

    fn ran(objective: &Objective, values: &[f64]) -> Ran {
        Ran::Scored(Box::new(scored(objective, values, &[])))
    }

    #[test]
    fn a_failure_is_worse_than_the_baseline_whichever_way_is_better() {
        let up = Objective::default();
        let baseline = scored(&up, &[0.5, 1.0], &[]);
        let yardstick = Yardstick { objective: &up, baseline: &baseline, noise: 0.0 };
        assert_eq!(yardstick.failure(&ran(&up, &[0.0, 0.0])).verdict, Verdict::Pass);
        assert_eq!(yardstick.failure(&ran(&up, &[0.5, 1.0])).verdict, Verdict::Fail);
        assert_eq!(yardstick.failure(&Ran::Refused("no".into())).verdict, Verdict::Pass);
        // Less is better, and a failure is given 0.
        let down = Objective { direction: Direction::Minimize, ..Objective::default() };
        let yardstick = Yardstick { objective: &down, ..yardstick };
        assert_eq!(yardstick.failure(&ran(&down, &[0.0, 0.0])).verdict, Verdict::Fail);
        // A baseline that solves nothing yet.
        let nothing = scored(&up, &[0.0, 0.0], &[]);
        let yardstick = Yardstick { objective: &up, baseline: &nothing, noise: 0.0 };
        assert_eq!(yardstick.failure(&ran(&up, &[0.0, 0.0])).verdict, Verdict::Pass);
        assert_eq!(yardstick.failure(&ran(&up, &[0.1, 0.0])).verdict, Verdict::Fail);
    }

    #[test]
    fn better_is_better_by_more_than_noise_and_luck() {
        let up = Objective::default();
        let baseline = scored(&up, &[1.0, 1.0, 1.0, 0.0], &[]);
        let yardstick = Yardstick { objective: &up, baseline: &baseline, noise: 0.1 };
        assert_eq!(yardstick.better(&ran(&up, &[1.0, 1.0, 1.0, 0.3])).verdict, Verdict::Fail);
        assert_eq!(yardstick.better(&ran(&up, &[1.0, 1.0, 1.0, 0.5])).verdict, Verdict::Pass);
        let lucky = ran(&up, &[1.0, 1.0, 1.0, 1.0]);
        assert_eq!(yardstick.no_better(&lucky).verdict, Verdict::Fail);
        assert_eq!(yardstick.no_better_by_more_than_luck(&lucky).verdict, Verdict::Pass);
        let always = ran(&up, &[2.0, 2.0, 2.1, 1.0]);
        assert_eq!(yardstick.no_better_by_more_than_luck(&always).verdict, Verdict::Fail);
    }

    #[test]
    fn scores_that_vary_may_do_so_only_if_the_scorer_says_it() {
        let up = Objective::default();
        let first = scored(&up, &[1.0, 2.0], &[]);
        let again = ran(&up, &[1.0, 2.2]);
        assert_eq!(repeat(&first, &again, true).verdict, Verdict::Fail);
        assert_eq!(repeat(&first, &again, false).verdict, Verdict::Pass);
        let Ran::Scored(again) = again else { panic!() };
        assert!((noise(&first, Some(&again), false) - 0.3).abs() < 1e-9);
        assert!((noise(&first, None, false) - 0.15).abs() < 1e-9);
    }

    #[test]
    fn candidates_that_differ_must_be_told_apart() {
        let up = Objective::default();
        let one = scored(&up, &[1.0, 1.0], &["1", "2"]);
        let said = |other: &Scored| alike(("a", &one), ("b", other)).unwrap_or_default();
        assert!(said(&scored(&up, &[1.0, 0.0], &["1", "2"])).contains("answered the same"));
        assert!(said(&scored(&up, &[1.0, 1.0], &["1", "3"])).contains("scored the same"));
        assert_eq!(said(&scored(&up, &[1.0, 0.0], &["1", "3"])), "");
        assert_eq!(said(&scored(&up, &[1.0, 1.0], &["1"])), "");
    }
}
