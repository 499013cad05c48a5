//! Finalizing: the work is sealed, the candidate that counts is chosen and scored, and the evidence is written.
//!
//! ```text
//!   open ──▶ sealed ──▶ chosen ──▶ measured on each target ──▶ evidence written ──▶ verdict in the journal ──▶ published
//!                         │              │                        unscored: no reward    ▲                       ▲
//!                         └──────────────┴─ infrastructure error ─▶ and no journal entry ┼──── asked again ──────┤
//!                            (asked again: goes on with what is on record)               └── scored: for good ───┘
//! ```
//!
//! Each evaluation of these steps has a name, and is made once: a finalizing that is cut short goes on where it was. Once the
//! verdict is in the journal it stands, and whoever asks again gets it.

mod choose;
mod evidence;
pub mod interim;
mod metered;
mod pool;
mod targets;
#[cfg(test)]
mod tests;
mod verdict;

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use taskwright_base::{Error, Result, failed};
use taskwright_language::serve::ServeConfig;

use crate::admin::protocol::Tell;
use crate::paths::Paths;
use crate::service::Service;
use verdict::{Verdict, WinnerReport};

pub use evidence::master as evidence_master;

/// One at a time: who comes second gets the verdict of the first.
static ONE: Mutex<()> = Mutex::new(());

fn one() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn finalize(service: &Service, paths: &Paths, tell: Tell<'_>) -> Result<Value> {
    // Before anything else, and before waiting for anybody: from here on nothing the optimizer sends counts.
    service.seal()?;
    let _one = one();
    if let Some(digest) = service.book().verdict.clone() {
        tell("there is a verdict already: it stands".to_owned());
        evidence::publish(service, paths, Some(&digest))?;
        return done(service, paths);
    }
    let verdict = decide(service, paths, tell);
    let scored = verdict.outcome == verdict::Outcome::Scored;
    let digest = evidence::write(service, verdict, tell)?;
    if scored {
        service.close(&digest)?;
    } else {
        tell("no verdict can be given now; asking again tries again".to_owned());
    }
    evidence::publish(service, paths, Some(&digest))?;
    done(service, paths)
}

fn done(service: &Service, paths: &Paths) -> Result<Value> {
    let path = evidence_master(service).join("verdict.json");
    let text = std::fs::read(&path).map_err(failed("reading", &path))?;
    let verdict: Value =
        serde_json::from_slice(&text).map_err(|error| Error::new(format!("reading the verdict: {error}")))?;
    Ok(json!({ "evidence": paths.evidence, "verdict": verdict }))
}

/// Writes the evidence of the work so far, without a verdict.
pub fn archive(service: &Service, paths: &Paths, tell: Tell<'_>) -> Result<Value> {
    let _one = one();
    if service.book().verdict.is_none() {
        evidence::write_record(service, tell)?;
    }
    evidence::publish(service, paths, None)?;
    Ok(json!({ "evidence": paths.evidence }))
}

/// Says that there is no verdict because the state is damaged: as evidence, with the reason, and without a reward.
pub fn give_up(
    config: &ServeConfig,
    digest: &str,
    why: &str,
    paths: &Paths,
    tell: Tell<'_>,
) -> Result<Value> {
    let _one = one();
    tell(why.to_owned());
    let mut verdict = Verdict::new(config, digest);
    verdict.reasons.push(why.to_owned());
    evidence::publish_alone(&verdict, paths)?;
    Ok(json!({ "evidence": paths.evidence, "verdict": verdict }))
}

fn decide(service: &Service, paths: &Paths, tell: Tell<'_>) -> Verdict {
    let mut verdict = Verdict::new(&service.config, &service.config_digest);
    choose_and_score(service, &mut verdict, tell);
    // Last: scoring asks language models, too.
    verdict.budgets = service.budgets();
    verdict.models = service.models();
    verdict.usage = metered::metered(service, paths);
    verdict
}

fn choose_and_score(service: &Service, verdict: &mut Verdict, tell: Tell<'_>) {
    let chosen = match choose::choose(service, tell) {
        Ok(chosen) => chosen,
        Err(undecided) => {
            verdict.reasons = undecided.reasons;
            verdict.ranking = undecided.ranking;
            return;
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
    targets::score(service, &chosen.candidate, verdict, tell);
}
