//! Choosing the candidate that counts: the one that was submitted, else the best, else the baseline.

use std::cmp::Ordering;
use std::collections::HashMap;

use taskwright_base::Result;
use taskwright_eval::summary::is_better;
use taskwright_language::model::{Aggregate, Direction, Policy};

use super::pool::{Pool, Step};
use super::verdict::{By, LeftOut, Ranked};
use crate::admin::protocol::Tell;
use crate::api::Candidate;
use crate::events::{Outcome, Purpose, Summary};
use crate::service::Service;

pub struct Chosen {
    pub candidate: Candidate,
    pub by: By,
    pub reasons: Vec<String>,
    pub ranking: Vec<Ranked>,
}

/// Why nothing could be chosen: an infrastructure error.
pub struct Undecided {
    pub reasons: Vec<String>,
    pub ranking: Vec<Ranked>,
}

pub fn choose(service: &Service, tell: Tell<'_>) -> Result<Chosen, Undecided> {
    let mut reasons = Vec::new();
    let submitted = service.book().submitted.clone();
    match (service.config.selection.policy, submitted) {
        (Policy::Submit, Some(candidate)) => {
            reasons.push(format!("commit {} was submitted", candidate.commit));
            return Ok(Chosen { candidate, by: By::Submit, reasons, ranking: Vec::new() });
        }
        (Policy::Submit, None) => reasons.push("nothing was submitted".to_owned()),
        (Policy::AutoBest, Some(candidate)) => reasons.push(format!(
            "commit {} was submitted, but in this task the best candidate counts",
            candidate.commit
        )),
        (Policy::AutoBest, None) => {}
    }
    best(service, reasons, tell)
}

/// A tree that was evaluated.
struct Contender {
    candidate: Candidate,
    /// The number of the first evaluation: who was there first wins a tie.
    first: u64,
    pool: Pool,
}

#[expect(clippy::too_many_lines, reason = "one rule after the other, as the verdict states them")]
fn best(service: &Service, mut reasons: Vec<String>, tell: Tell<'_>) -> Result<Chosen, Undecided> {
    let selection = &service.config.selection;
    let split = selection.split.as_str();
    let all: Vec<u32> = (0..u32::try_from(service.size_of(split)).unwrap_or(u32::MAX)).collect();
    let direction = service.config.objective.direction;
    let contenders = contenders(service, split).map_err(|error| Undecided {
        reasons: [reasons.as_slice(), &[error.to_string()]].concat(),
        ranking: Vec::new(),
    })?;
    if contenders.is_empty() {
        reasons.push(format!("no candidate was evaluated on `{split}`: the baseline counts"));
        return Ok(baseline(service, reasons, Vec::new()));
    }
    let mut ranked: Vec<(Ranked, Contender)> =
        contenders.into_iter().map(|contender| (rank(service, split, &all, &contender), contender)).collect();
    ranked.sort_by(|(a, x), (b, y)| {
        let worth = |ranked: &Ranked| ranked.score.filter(|_| ranked.left_out.is_none());
        order(direction, worth(a), worth(b)).then(x.first.cmp(&y.first))
    });
    if selection.rescore_top_k > 0 {
        rescore(service, split, &all, &mut ranked, tell);
    }
    let worth = |ranked: &Ranked| {
        let score = if selection.rescore_top_k > 0 { ranked.rescored } else { ranked.score };
        score.filter(|_| ranked.left_out.is_none())
    };
    ranked.sort_by(|(a, x), (b, y)| order(direction, worth(a), worth(b)).then(x.first.cmp(&y.first)));
    let winner =
        ranked.first().and_then(|(ranked, contender)| Some((worth(ranked)?, contender.candidate.clone())));
    let undecided = ranked.iter().any(|(ranked, _)| matches!(ranked.left_out, Some(LeftOut::NotRescored(_))));
    let ranking: Vec<Ranked> = ranked.into_iter().map(|(ranked, _)| ranked).collect();
    let Some((score, candidate)) = winner else {
        if undecided {
            reasons.push(format!("none of the best candidates could be scored again on `{split}`"));
            return Err(Undecided { reasons, ranking });
        }
        reasons.push(format!("no candidate that was evaluated on `{split}` may count: the baseline counts"));
        return Ok(baseline(service, reasons, ranking));
    };
    reasons.push(format!("commit {} did best on `{split}` with {score}", candidate.commit));
    let is_baseline = candidate.tree == service.config.baseline.tree;
    if is_baseline {
        reasons.push("these are the baseline's own files".to_owned());
    } else if selection.baseline_floor {
        tell("scoring the baseline for comparison".to_owned());
        match measure(service, split, &all, &baseline_candidate(service)) {
            Err(error) => {
                reasons
                    .push(format!("the baseline could not be scored on `{split}` for comparison: {error}"));
                return Err(Undecided { reasons, ranking });
            }
            Ok(summary) if summary.eligible && !is_better(direction, score, summary.score) => {
                reasons.push(format!(
                    "that is not better than the baseline's {}: the baseline counts",
                    summary.score
                ));
                return Ok(baseline(service, reasons, ranking));
            }
            Ok(summary) => reasons.push(format!("the baseline has {} there", summary.score)),
        }
    }
    Ok(Chosen { candidate, by: By::AutoBest, reasons, ranking })
}

fn baseline_candidate(service: &Service) -> Candidate {
    let baseline = &service.config.baseline;
    Candidate { commit: baseline.commit.clone(), tree: baseline.tree.clone() }
}

fn baseline(service: &Service, reasons: Vec<String>, ranking: Vec<Ranked>) -> Chosen {
    Chosen { candidate: baseline_candidate(service), by: By::Baseline, reasons, ranking }
}

/// The trees that the optimizer evaluated on the split, with all their results: repeats are pooled, so that measuring
/// again and again does not make a candidate better.
fn contenders(service: &Service, split: &str) -> Result<Vec<Contender>> {
    let evaluated: Vec<(u64, Candidate)> = service
        .book()
        .evaluations()
        .iter()
        .filter(|known| {
            let charged = &known.charged;
            charged.purpose == Purpose::Optimizer
                && charged.split == split
                && known.end.as_ref().is_some_and(|end| end.outcome == Outcome::Done)
        })
        .map(|known| {
            let charged = &known.charged;
            (charged.number, Candidate { commit: charged.commit.clone(), tree: charged.tree.clone() })
        })
        .collect();
    let mut contenders: Vec<Contender> = Vec::new();
    let mut positions: HashMap<String, usize> = HashMap::new();
    for (number, candidate) in evaluated {
        let position = *positions.entry(candidate.tree.clone()).or_insert_with(|| {
            contenders.push(Contender { candidate, first: number, pool: Pool::default() });
            contenders.len() - 1
        });
        if let Some(contender) = contenders.get_mut(position) {
            contender.pool.add(service, number)?;
        }
    }
    Ok(contenders)
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 samples")]
fn rank(service: &Service, split: &str, all: &[u32], contender: &Contender) -> Ranked {
    let coverage = contender.pool.covered() as f64 / all.len().max(1) as f64;
    let covered: Vec<u32> = contender.pool.indexes();
    let direction = service.config.objective.direction;
    let summary = contender.pool.summarize(service, split, &covered, Aggregate::Mean, direction);
    let least = service.config.selection.min_coverage;
    let left_out = match &summary {
        _ if coverage < least => Some(LeftOut::Coverage { share: coverage, least, split: split.to_owned() }),
        Ok(summary) if !summary.eligible => Some(LeftOut::Constraint),
        Ok(_) => None,
        Err(error) => Some(LeftOut::Unscored(error.clone())),
    };
    Ranked {
        commit: contender.candidate.commit.clone(),
        tree: contender.candidate.tree.clone(),
        score: summary.ok().map(|summary| summary.score),
        coverage,
        rescored: None,
        left_out,
    }
}

/// Scores the best again, on all of the split: only what was measured after the search decides, so that the luck of one
/// measurement among many does not.
fn rescore(service: &Service, split: &str, all: &[u32], ranked: &mut [(Ranked, Contender)], tell: Tell<'_>) {
    let most = usize::try_from(service.config.selection.rescore_top_k).unwrap_or(usize::MAX);
    let eligible = ranked.iter_mut().filter(|(ranked, _)| ranked.left_out.is_none());
    for (rank, (ranked, contender)) in eligible.enumerate() {
        if rank >= most {
            ranked.left_out = Some(LeftOut::NotAmongBest(most));
            continue;
        }
        tell(format!("scoring {} again on `{split}`", contender.candidate.commit));
        match measure(service, split, all, &contender.candidate) {
            Ok(summary) if summary.eligible => ranked.rescored = Some(summary.score),
            Ok(_) => ranked.left_out = Some(LeftOut::ConstraintWhenRescored),
            Err(error) => ranked.left_out = Some(LeftOut::NotRescored(error)),
        }
    }
}

/// The service's own evaluations of a candidate on all of the split, pooled.
fn measure(service: &Service, split: &str, all: &[u32], candidate: &Candidate) -> Result<Summary> {
    let mut pool = Pool::default();
    for attempt in 1..=service.config.selection.rescore_attempts.max(1) {
        let name = format!("rescore attempt {attempt}");
        let number = Step { name, candidate, split, samples: None }.take(service)?;
        pool.add(service, number)?;
    }
    pool.summarize(service, split, all, Aggregate::Mean, service.config.objective.direction)
}

/// Better first, nothing last.
fn order(direction: Direction, a: Option<f64>, b: Option<f64>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) if is_better(direction, a, b) => Ordering::Less,
        (Some(a), Some(b)) if is_better(direction, b, a) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), Some(_)) | (None, None) => Ordering::Equal,
    }
}
