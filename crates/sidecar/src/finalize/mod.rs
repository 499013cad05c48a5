//! Finalizing: the work is sealed, the candidate that counts is chosen and scored, and the evidence is written.
//!
//! Each step's results are in the record, so a finalizing that is cut short goes on where it was, and one that is asked
//! for again gives the first verdict.

mod choose;
mod evidence;
mod pool;
mod targets;
#[cfg(test)]
mod tests;
mod verdict;

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use taskwright_language::serve::ServeConfig;

use crate::places::Places;
use crate::service::Service;
use verdict::{Verdict, WinnerReport};

pub use evidence::master as evidence_master;

/// One at a time: who comes second gets the verdict of the first.
static ONE: Mutex<()> = Mutex::new(());

/// Says what is going on.
pub type Tell<'a> = &'a dyn Fn(String);

/// Seals the service, decides, and writes the evidence.
pub fn finalize(service: &Service, places: &Places, tell: Tell<'_>) -> Result<Value, String> {
    // Before anything else, and before waiting for anybody: from here on nothing the optimizer sends counts.
    service.seal().map_err(|problem| problem.detail)?;
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(digest) = service.ledger().verdict.clone() {
        tell("there is a verdict already: it stands".to_owned());
        evidence::publish(service, places, Some(&digest))?;
        return done(service, places);
    }
    let verdict = decide(service, tell);
    let scored = verdict.outcome == verdict::Outcome::Scored;
    let digest = evidence::write(service, verdict, tell)?;
    if scored {
        service.close(&digest).map_err(|problem| problem.detail)?;
    } else {
        tell("no verdict can be given now; asking again tries again".to_owned());
    }
    evidence::publish(service, places, Some(&digest))?;
    done(service, places)
}

fn done(service: &Service, places: &Places) -> Result<Value, String> {
    let path = evidence_master(service).join("verdict.json");
    let text = std::fs::read(&path).map_err(|error| format!("reading `{}`: {error}", path.display()))?;
    let verdict: Value =
        serde_json::from_slice(&text).map_err(|error| format!("reading the verdict: {error}"))?;
    Ok(json!({ "evidence": places.evidence, "verdict": verdict }))
}

/// Writes the evidence of the work so far, without a verdict.
pub fn archive(service: &Service, places: &Places, tell: Tell<'_>) -> Result<Value, String> {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if service.ledger().verdict.is_none() {
        evidence::write_record(service, tell)?;
    }
    evidence::publish(service, places, None)?;
    Ok(json!({ "evidence": places.evidence }))
}

/// Says that there is no verdict because the state is damaged: as evidence, with the reason, and without a reward.
pub fn give_up(
    config: &ServeConfig,
    digest: &str,
    why: &str,
    places: &Places,
    tell: Tell<'_>,
) -> Result<Value, String> {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    tell(why.to_owned());
    let mut verdict = Verdict::new(config, digest);
    verdict.reasons.push(why.to_owned());
    evidence::publish_alone(&verdict, places)?;
    Ok(json!({ "evidence": places.evidence, "verdict": verdict }))
}

fn decide(service: &Service, tell: Tell<'_>) -> Verdict {
    let mut verdict = Verdict::new(&service.config, &service.config_digest);
    verdict.budgets = service.status().budgets;
    let chosen = match choose::choose(service, tell) {
        Ok(chosen) => chosen,
        Err(undecided) => {
            verdict.reasons = undecided.reasons;
            verdict.ranking = undecided.ranking;
            return verdict;
        }
    };
    tell(format!("{} counts ({})", chosen.candidate.commit, chosen.by.word()));
    verdict.reasons = chosen.reasons;
    verdict.ranking = chosen.ranking;
    verdict.winner = Some(WinnerReport {
        commit: chosen.candidate.commit.clone(),
        tree: chosen.candidate.tree.clone(),
        by: chosen.by,
        is_baseline: chosen.candidate.tree == service.config.baseline.tree,
    });
    targets::score(service, &chosen.candidate, &mut verdict, tell);
    verdict
}
