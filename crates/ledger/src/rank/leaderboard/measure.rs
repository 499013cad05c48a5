//! By which measure agents can be told apart: rewards of different size have no mean that says something.

use std::collections::BTreeMap;

use super::gather::Outcomes;
use super::rules::Rules;
use crate::rank::statistics::{Direction, Measure};

/// What agents with these outcomes of tasks are ranked by.
#[expect(clippy::needless_pass_by_value, reason = "an iterator that is walked several times")]
pub(crate) fn measure<'a>(
    outcomes: impl Iterator<Item = (&'a usize, &'a Outcomes)> + Clone,
    rules: &Rules,
) -> Measure {
    if let Some(measure) = rules.rank_by {
        return measure;
    }
    if unlike(outcomes.clone()).is_none() {
        return Measure::Reward;
    }
    let is_known = |measure: &Measure| {
        let mut counted = outcomes.clone().filter(|(_, outcomes)| !outcomes.rewards.is_empty());
        counted.all(|(_, outcomes)| outcomes.values(*measure).is_some())
    };
    [Measure::Share, Measure::Gain].into_iter().find(is_known).unwrap_or_default()
}

/// Which way a measure is better: more of a gain always is.
pub(crate) fn direction(measure: Measure, rules: &Rules) -> Direction {
    if measure == Measure::Reward { rules.direction } else { Direction::Maximize }
}

/// Two tasks, if there are any, whose rewards are of different size: the largest of one is more than twice that of another,
/// and not all lie between 0 and 1. A mean over them is mostly that of the larger.
pub(crate) fn unlike<'a>(outcomes: impl Iterator<Item = (&'a usize, &'a Outcomes)>) -> Option<[usize; 2]> {
    let mut sizes: BTreeMap<usize, f64> = BTreeMap::new();
    for (task, outcomes) in outcomes {
        for reward in &outcomes.rewards {
            let size = sizes.entry(*task).or_default();
            *size = size.max(reward.abs());
        }
    }
    let by_size = |one: &(&usize, &f64), other: &(&usize, &f64)| one.1.total_cmp(other.1);
    let ((smallest, least), (largest, most)) =
        sizes.iter().min_by(by_size).zip(sizes.iter().max_by(by_size))?;
    (*most > 1.0 && *most > 2.0 * *least).then_some([*largest, *smallest])
}
