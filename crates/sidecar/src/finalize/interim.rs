//! Evidence while the work goes on, for when nobody can finalize: the collector finds why there is no reward, and what was
//! submitted.
//!
//! It says nothing that the optimizer may not know: where the verifier shares its container, the optimizer can read it.

use std::time::Duration;

use taskwright_base::Result;
use taskwright_base::text::count;

use super::evidence;
use super::verdict::Verdict;
use crate::paths::Paths;
use crate::service::Service;

/// How long nothing is written after something was: who submits a thousand times a second is not followed that fast.
const PAUSE: Duration = Duration::from_secs(1);

/// Says, as long as the work goes on, how far it is; for ever.
pub fn keep(service: &Service, paths: &Paths) {
    let (mut seen, mut bundled) = (0, None);
    loop {
        if let Err(error) = write(service, paths, &mut bundled) {
            eprintln!("taskwright: the evidence of the work so far cannot be written: {error}");
        }
        seen = service.wait_for_change(seen);
        std::thread::sleep(PAUSE);
    }
}

fn write(service: &Service, paths: &Paths, bundled: &mut Option<String>) -> Result<()> {
    // Finalizing writes its own evidence; the lock keeps the two from writing at once.
    let _one = super::one();
    let (submitted, evaluations) = {
        let book = service.book();
        // Once there was a finalizing, what it left says more.
        if book.verdict.is_some() || book.sealed && evidence::is_published(paths) {
            return Ok(());
        }
        (book.submitted.clone(), book.next_number() - 1)
    };
    let mut verdict = Verdict::new(&service.config, &service.config_digest);
    verdict.budgets = service.budgets();
    verdict.reasons.push("`taskwright finalize` did not come to its end in the eval sidecar".to_owned());
    let evaluations = count(evaluations, "evaluation");
    verdict.reasons.push(match &submitted {
        Some(candidate) => format!("commit {} was submitted, after {evaluations}", candidate.commit),
        None => format!("nothing was submitted after {evaluations}"),
    });
    evidence::publish_interim(&verdict, paths)?;
    let commit = submitted.map(|candidate| candidate.commit);
    if let Some(submitted) = commit.as_ref().filter(|_| *bundled != commit) {
        evidence::publish_submission(service, paths, submitted)?;
    }
    *bundled = commit;
    Ok(())
}
