//! What the attempts at a sample add up to.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};

use taskwright_base::number::{mean, sum};
use taskwright_language::model::{Aggregate, Direction};

use super::attempt::{Judged, Worth};
use super::{Rules, feedback};
use crate::attempts::{Attempt, Attempts};
use crate::failure::{ErrorClass, RunErrorKind};
use crate::result::{Outcome, SampleResult, Score};

/// How many attempts that died an error tells about.
const TOLD: usize = 3;

/// The result of a sample. The order in which the attempts come decides nothing.
pub(super) fn sample(id: &str, rules: &Rules, attempts: Vec<Judged>) -> SampleResult {
    let mut ranked = attempts;
    ranked.sort_by(|a, b| rank(rules, a, b));
    // One trial found twice, in a copy of its job say, is one attempt.
    let mut known = HashSet::new();
    ranked.retain(|judged| judged.attempt.id.as_ref().is_none_or(|id| known.insert(id.clone())));
    let found = ranked.len() as u64;
    ranked.truncate(usize::try_from(rules.attempts).unwrap_or(usize::MAX));
    let counts = count(rules, found, &ranked);
    let seconds = sum(ranked.iter().filter_map(|judged| judged.attempt.seconds));
    let transcript = ranked.first().map(|judged| judged.attempt.transcript.clone()).unwrap_or_default();
    let (outcome, value) = match aggregate(rules, &counts, &ranked) {
        Some((score, value)) => (scored(rules, &counts, &ranked, score), Some(value)),
        None => (unknown(&counts, &ranked), None),
    };
    let list = ranked.into_iter().map(|judged| judged.attempt).collect();
    let attempts = Some(Box::new(Attempts { list, ..counts }));
    SampleResult { id: id.to_owned(), outcome, value, seconds, transcript, attempts }
}

/// Graded attempts first, then those that the candidate failed; the better first if the best counts; then by the time
/// they ended, then by name.
fn rank(rules: &Rules, a: &Judged, b: &Judged) -> Ordering {
    let tier = |judged: &Judged| match judged.worth {
        Worth::Graded(_) => 0,
        Worth::Failed => 1,
        Worth::Unknown => 2,
    };
    let better = match (rules.aggregate, a.worth, b.worth) {
        (Aggregate::Best, Worth::Graded(a), Worth::Graded(b)) => match rules.direction {
            Direction::Maximize => b.total_cmp(&a),
            Direction::Minimize => a.total_cmp(&b),
        },
        _ => Ordering::Equal,
    };
    let bits = |judged: &Judged| judged.attempt.reward.map(f64::to_bits);
    tier(a)
        .cmp(&tier(b))
        .then(better)
        .then_with(|| a.finished.cmp(&b.finished))
        .then_with(|| a.attempt.trial.cmp(&b.attempt.trial))
        .then_with(|| a.attempt.id.cmp(&b.attempt.id))
        .then_with(|| a.attempt.message.cmp(&b.attempt.message))
        .then_with(|| bits(a).cmp(&bits(b)))
}

fn count(rules: &Rules, found: u64, ranked: &[Judged]) -> Attempts {
    let graded = ranked.iter().filter(|judged| matches!(judged.worth, Worth::Graded(_)));
    let flagged = graded.clone().filter(|judged| judged.attempt.exception.is_some());
    let (graded, flagged) = (graded.count() as u64, flagged.count() as u64);
    let counted = ranked.len() as u64;
    Attempts {
        expected: rules.attempts,
        found,
        graded,
        flagged,
        dead: counted - graded,
        missing: rules.attempts.saturating_sub(counted),
        list: Vec::new(),
    }
}

/// The score and the value of the objective's metric; none if that cannot be said.
fn aggregate(rules: &Rules, counts: &Attempts, ranked: &[Judged]) -> Option<(f64, f64)> {
    let pair = |judged: &Judged| match (judged.worth, judged.attempt.reward) {
        (Worth::Graded(value), Some(reward)) => Some((reward, value)),
        (Worth::Failed, _) => Some((rules.failure_value, rules.failure_value)),
        _ => None,
    };
    let first = ranked.first()?;
    if rules.aggregate == Aggregate::First && matches!(first.worth, Worth::Graded(_)) {
        return pair(first);
    }
    if counts.missing > 0 {
        return None;
    }
    let pairs: Vec<(f64, f64)> = ranked.iter().map(pair).collect::<Option<_>>()?;
    match rules.aggregate {
        Aggregate::Mean => {
            Some((mean(pairs.iter().map(|pair| pair.0))?, mean(pairs.iter().map(|pair| pair.1))?))
        }
        Aggregate::Best | Aggregate::First => pairs.first().copied(),
    }
}

fn scored(rules: &Rules, counts: &Attempts, ranked: &[Judged], score: f64) -> Outcome {
    let graded = ranked.iter().filter(|judged| matches!(judged.worth, Worth::Graded(_)));
    let mut reported: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (key, value) in graded.flat_map(|judged| &judged.attempt.metrics) {
        reported.entry(key).or_default().push(*value);
    }
    let metrics =
        reported.into_iter().filter_map(|(key, values)| Some((key.to_owned(), mean(values)?))).collect();
    let attempts: Vec<&Attempt> = ranked.iter().map(|judged| &judged.attempt).collect();
    let feedback = rules.feedback_bytes.map(|most| feedback::text(counts, &attempts, most));
    let score = Score { score, metrics, feedback };
    if counts.graded > 0 {
        return Outcome::Scored(score);
    }
    let kind = match ranked.first().and_then(|judged| judged.attempt.class) {
        Some(ErrorClass::Timeout) => RunErrorKind::Timeout,
        Some(ErrorClass::Budget) => RunErrorKind::Budget,
        _ => RunErrorKind::Crash,
    };
    Outcome::CandidateError { kind, detail: told(&attempts), score }
}

fn unknown(counts: &Attempts, ranked: &[Judged]) -> Outcome {
    let unknown = ranked.iter().filter(|judged| judged.worth == Worth::Unknown);
    let dead: Vec<&Attempt> = unknown.map(|judged| &judged.attempt).collect();
    let verifier =
        counts.missing == 0 && dead.iter().all(|attempt| attempt.class == Some(ErrorClass::Verifier));
    let class = if verifier { ErrorClass::Verifier } else { ErrorClass::Infrastructure };
    let mut message = format!("{} of {} attempts graded", counts.graded, counts.expected);
    if counts.missing > 0 {
        message += &format!(", {} missing", counts.missing);
    }
    let told = told(&dead);
    if !told.is_empty() {
        message += &format!("; {told}");
    }
    Outcome::Infrastructure { class, message }
}

/// What some attempts died of, in words.
fn told(attempts: &[&Attempt]) -> String {
    let words = |attempt: &&Attempt| {
        let exception = attempt.exception.as_deref().map(|kind| format!("{kind} ")).unwrap_or_default();
        format!("{}: {exception}{}", attempt.trial, attempt.message)
    };
    let mut told: Vec<String> = attempts.iter().take(TOLD).map(words).collect();
    if attempts.len() > TOLD {
        told.push(format!("and {} more", attempts.len() - TOLD));
    }
    told.join("; ")
}
