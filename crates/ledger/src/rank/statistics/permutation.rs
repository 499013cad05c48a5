//! The permutation test of two agents: their trials are exchanged within each task.
//!
//! If two agents do alike on a task, any of the trials on it could as well have been the other's. That holds however often
//! each has tried, while the sign of a difference could as well have been the other one only where both tried as often.

use taskwright_base::number::{count, mean};

use super::interval::SEED;
use super::paired::{
    ARRANGEMENTS, EQUAL, EXACT_UP_TO, Paired, Significance, SignificanceMethod, paired, paired_by, ratio,
};
use super::random::SplitMix64;

/// The rewards of two agents on a task, of each at least one.
pub type Trials = (Vec<f64>, Vec<f64>);

/// Compares two agents by their rewards on the tasks that both have; nothing without any.
///
/// With the sides exchanged, everything is the same but for the sign of the difference and of its interval.
pub fn paired_trials(tasks: &[Trials]) -> Option<Paired> {
    let mean = |rewards: &[f64]| mean(rewards.iter().copied());
    let difference = |(a, b): &Trials| Some(mean(a)? - mean(b)? + 0.0);
    let differences: Vec<f64> = tasks.iter().filter_map(difference).collect();
    // Of one trial each, to exchange them is to turn the sign.
    if tasks.iter().all(|(a, b)| a.len() == 1 && b.len() == 1) {
        return paired(&differences);
    }
    paired_by(&differences, |_| exchange(tasks))
}

/// A task whose trials can be exchanged.
struct Pool {
    rewards: Vec<f64>,
    /// How many of them are the first agent's.
    first: usize,
    /// What a sum of the first agent's rewards is multiplied with, and what is then taken off, to get the difference.
    factor: f64,
    offset: f64,
}

impl Pool {
    fn new((a, b): &Trials) -> Self {
        let rewards: Vec<f64> = a.iter().chain(b).copied().collect();
        let factor = 1.0 / count(a.len()) + 1.0 / count(b.len());
        let offset = rewards.iter().sum::<f64>() / count(b.len());
        Self { rewards, first: a.len(), factor, offset }
    }

    fn difference(&self, sum: f64) -> f64 {
        sum * self.factor - self.offset
    }

    /// In how many ways its trials can be dealt out; none if they are too many to count.
    fn ways(&self) -> Option<u64> {
        let (all, first) = (self.rewards.len() as u64, self.first as u64);
        // Whole after each step, since the product of so many numbers in a row can be divided by the product of the first.
        (0..first).try_fold(1_u64, |ways, at| Some(ways.checked_mul(all - at)? / (at + 1)))
    }

    /// The difference of every way.
    fn differences(&self) -> Vec<f64> {
        let mut sums = Vec::new();
        deal(&self.rewards, self.first, 0.0, &mut sums);
        sums.into_iter().map(|sum| self.difference(sum)).collect()
    }

    /// The difference of a way that is drawn.
    fn draw(&mut self, random: &mut SplitMix64) -> f64 {
        let all = self.rewards.len();
        for at in 0..self.first {
            let rest = u32::try_from(all - at).unwrap_or(u32::MAX);
            self.rewards.swap(at, at + random.below(rest) as usize);
        }
        self.difference(self.rewards[..self.first].iter().sum())
    }
}

/// The sums of every choice of so many of these rewards.
fn deal(rewards: &[f64], choose: usize, sum: f64, into: &mut Vec<f64>) {
    match rewards {
        _ if choose == 0 => into.push(sum),
        [first, rest @ ..] if rewards.len() >= choose => {
            deal(rest, choose - 1, sum + first, into);
            deal(rest, choose, sum, into);
        }
        _ => {}
    }
}

/// How often the sum of the differences is at least as far from zero if trials are exchanged within tasks.
fn exchange(tasks: &[Trials]) -> Significance {
    let mut pools: Vec<Pool> = in_one_order(tasks).iter().map(Pool::new).collect();
    // Where all trials came to the same, whose they are adds nothing.
    pools.retain(|pool| pool.rewards.iter().any(|reward| (reward - pool.rewards[0]).abs() > 0.0));
    let observed: f64 =
        pools.iter().map(|pool| pool.difference(pool.rewards[..pool.first].iter().sum())).sum();
    let magnitude: f64 = pools
        .iter()
        .map(|pool| pool.factor * pool.rewards.iter().map(|reward| reward.abs()).sum::<f64>())
        .sum();
    let far = observed.abs() - EQUAL * magnitude;
    let all = pools.iter().try_fold(1_u64, |all, pool| all.checked_mul(pool.ways()?));
    if let Some(arrangements) = all.filter(|all| *all <= 1 << EXACT_UP_TO) {
        let differences: Vec<Vec<f64>> = pools.iter().map(Pool::differences).collect();
        let p_value = ratio(as_far(&differences, 0.0, far), arrangements);
        return Significance { p_value, method: SignificanceMethod::Exact, arrangements };
    }
    let mut random = SplitMix64::new(SEED);
    let mut found = 0;
    for _ in 0..ARRANGEMENTS {
        let sum: f64 = pools.iter_mut().map(|pool| pool.draw(&mut random)).sum();
        found += u64::from(sum.abs() >= far);
    }
    // The arrangement that was observed is one of those possible: a p-value of zero would claim too much.
    let arrangements = u64::from(ARRANGEMENTS);
    let p_value = ratio(found + 1, arrangements + 1);
    Significance { p_value, method: SignificanceMethod::Sampled, arrangements }
}

/// The tasks in an order that depends on nothing but what they hold, and always the same agent first, whichever was named
/// first.
fn in_one_order(tasks: &[Trials]) -> Vec<Trials> {
    let sorted = |rewards: &[f64]| {
        let mut sorted: Vec<f64> = rewards.iter().map(|reward| reward + 0.0).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    };
    let ordered = |mut tasks: Vec<Trials>| {
        tasks.sort_by(|one, other| one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal));
        tasks
    };
    let forward = ordered(tasks.iter().map(|(a, b)| (sorted(a), sorted(b))).collect());
    let backward = ordered(tasks.iter().map(|(a, b)| (sorted(b), sorted(a))).collect());
    if forward < backward { backward } else { forward }
}

/// How many of the ways to choose one difference of each task, added to the sum so far, are as far from zero.
fn as_far(tasks: &[Vec<f64>], sum: f64, far: f64) -> u64 {
    match tasks {
        [] => u64::from(sum.abs() >= far),
        [first, rest @ ..] => first.iter().map(|difference| as_far(rest, sum + difference, far)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use taskwright_testing::test;

    use super::*;

    /// `scipy.stats.permutation_test((a, b), lambda a, b: np.mean(a) - np.mean(b), n_resamples=np.inf)` of one task: of the
    /// ten ways to choose two of five, two are as far.
    #[test]
    fn unequal_attempts_are_exchanged_within_their_task() {
        let found = paired_trials(&[(vec![1.0, 1.0], vec![0.0, 0.0, 0.0])]).unwrap();
        assert_eq!((found.significance.arrangements, found.significance.p_value), (10, 0.1));
        // Seven trials that are all alike but one against one: any of the eight could have been the single one.
        let seven = vec![1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0];
        let found = paired_trials(&[(seven, vec![0.0])]).unwrap();
        assert_eq!((found.significance.arrangements, found.significance.p_value), (8, 0.25));
        let same = paired_trials(&[(vec![1.0, 1.0], vec![1.0])]).unwrap();
        assert_eq!((same.difference, same.significance.p_value), (0.0, 1.0));
    }

    /// What was found wrong: with seven attempts against one, a test that turns the signs of the tasks' differences
    /// rejects agents that are alike four times too often.
    #[test]
    fn agents_that_are_alike_are_told_apart_no_more_often_than_stated() {
        let mut random = SplitMix64::new(7);
        let mut draw = |trials: usize| -> Vec<f64> {
            (0..trials).map(|_| if random.below(10) < 9 { 1.0 } else { 0.0 }).collect()
        };
        let (mut exchanged, mut turned) = (0, 0);
        for _ in 0..120 {
            let tasks: Vec<Trials> = (0..12).map(|_| (draw(7), draw(1))).collect();
            exchanged += u32::from(paired_trials(&tasks).unwrap().significance.p_value < 0.05);
            let mean = |rewards: &[f64]| rewards.iter().sum::<f64>() / count(rewards.len());
            let differences: Vec<f64> = tasks.iter().map(|(a, b)| mean(a) - mean(b)).collect();
            turned += u32::from(paired(&differences).unwrap().significance.p_value < 0.05);
        }
        assert!(exchanged <= 12 && turned > 12, "{exchanged} and {turned} of 120");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn order_and_sides_do_not_matter(tasks in prop::collection::vec(
            (prop::collection::vec(0.0..1.0, 1..4), prop::collection::vec(0.0..1.0, 1..4)), 1..6
        )) {
            let mirrored: Vec<Trials> = tasks.iter().rev().map(|(a, b)| (b.clone(), a.clone())).collect();
            let (one, other) = (paired_trials(&tasks).unwrap(), paired_trials(&mirrored).unwrap());
            prop_assert_eq!(one.significance, other.significance);
            prop_assert!(one.significance.p_value > 0.0 && one.significance.p_value <= 1.0);
        }
    }
}
