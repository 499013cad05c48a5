//! The samples of an evaluation, and what of them is left to be done.

use std::collections::HashSet;

use taskwright_base::{Error, Result};

use super::collate::PlannedSample;
use super::{ModeB, PlanB};
use crate::failure::ErrorClass;
use crate::result::SampleResult;

/// The samples of the plan, each of which must be there once.
pub(super) fn planned(mode: &ModeB, plan: &PlanB<'_>) -> Result<Vec<PlannedSample>> {
    let mut seen = HashSet::new();
    plan.samples
        .iter()
        .map(|id| {
            if !seen.insert(id) {
                return Err(Error::new(format!("the sample `{id}` stands in the plan twice")));
            }
            if mode.harbor.tasks.is_empty() {
                let directory = id.rsplit('/').next().unwrap_or(id).to_owned();
                return Ok(PlannedSample { id: id.clone(), name: None, directory, digest: None });
            }
            match mode.harbor.tasks.get(id) {
                Some(task) => Ok(PlannedSample::of(id, task)),
                None => Err(Error::new(format!("the task `{}` has no sample `{id}`", mode.serve.task))),
            }
        })
        .collect()
}

/// The samples of the plan and after them the task's others: the record may hold trials of samples that are not asked for
/// now, at which nobody is to wonder.
pub(super) fn with_others(mode: &ModeB, mut planned: Vec<PlannedSample>) -> Vec<PlannedSample> {
    let known: HashSet<String> = planned.iter().map(|planned| planned.id.clone()).collect();
    let others = mode.harbor.tasks.iter().filter(|(id, _)| !known.contains(*id));
    planned.extend(others.map(|(id, task)| PlannedSample::of(id, task)));
    planned
}

/// How many attempts at a sample have still to be made: what is graded or the candidate's failure is done, what we
/// failed is not.
pub(super) fn left(expected: u64, result: &SampleResult) -> u64 {
    let attempts = result.attempts.as_ref().map(|attempts| attempts.list.as_slice()).unwrap_or_default();
    let is_done = |class: Option<ErrorClass>| match class {
        None | Some(ErrorClass::Candidate | ErrorClass::Timeout | ErrorClass::Budget) => true,
        Some(ErrorClass::Infrastructure | ErrorClass::Verifier) => false,
    };
    let done = attempts.iter().filter(|attempt| attempt.reward.is_some() || is_done(attempt.class)).count();
    expected.saturating_sub(done as u64)
}

#[cfg(test)]
mod tests;
