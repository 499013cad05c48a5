//! How much better a reward is than the baseline's: what rewards of different size have in common.

use taskwright_base::words;

use super::interval::{Direction, is_reward};

words! {
    /// What agents are ranked by.
    #[derive(Default)]
    Measure {
        /// The reward.
        #[default]
        Reward = "reward",
        /// The gain over the baseline's reward, as a part of that reward.
        Gain = "gain",
        /// The gain as a share of what the task's own solution gains.
        Share = "share",
    }
}

/// What a reward of a task is held against.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Reference {
    /// The reward of the baseline, which no agent has changed.
    pub baseline: Option<f64>,
    /// The reward of the task's own solution.
    pub oracle: Option<f64>,
    /// Which rewards the task says are better.
    pub direction: Option<Direction>,
}

/// How much better a reward is than the baseline's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// In the units of the reward, above zero if it is better.
    pub amount: f64,
    /// As a part of the baseline's reward; none where that is zero.
    pub relative: Option<f64>,
    /// As a share of what the task's own solution gains; none where that is not known, or no better than the baseline.
    pub share: Option<f64>,
}

impl Gain {
    /// The gain of a reward; none where the baseline's is not known. `direction` holds where the task says none.
    pub fn of(reward: f64, reference: &Reference, direction: Direction) -> Option<Self> {
        let baseline = reference.baseline.filter(|baseline| is_reward(*baseline))?;
        let direction = reference.direction.unwrap_or(direction);
        let over_baseline = |reward: f64| match direction {
            Direction::Maximize => reward - baseline,
            Direction::Minimize => baseline - reward,
        };
        let amount = over_baseline(reward) + 0.0;
        let part_of = |whole: f64| Some(amount / whole).filter(|part| whole > 0.0 && is_reward(*part));
        Some(Self {
            amount,
            relative: part_of(baseline.abs()),
            share: reference.oracle.and_then(|oracle| part_of(over_baseline(oracle))),
        })
    }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    fn gain(reward: f64, baseline: f64, oracle: Option<f64>, direction: Option<Direction>) -> Gain {
        let reference = Reference { baseline: Some(baseline), oracle, direction };
        Gain::of(reward, &reference, Direction::Maximize).unwrap()
    }

    #[test]
    fn a_gain_is_above_zero_where_the_reward_is_better() {
        let half = gain(3.0, 2.0, Some(4.0), None);
        assert_eq!((half.amount, half.relative, half.share), (1.0, Some(0.5), Some(0.5)));
        // Seconds: from 10 down to 4, where the solution comes down to 2.
        let faster = gain(4.0, 10.0, Some(2.0), Some(Direction::Minimize));
        assert_eq!((faster.amount, faster.relative, faster.share), (6.0, Some(0.6), Some(0.75)));
        let worse = gain(-3.0, -2.0, Some(-1.0), None);
        assert_eq!((worse.amount, worse.relative, worse.share), (-1.0, Some(-0.5), Some(-1.0)));
    }

    #[test]
    fn what_has_nothing_to_be_a_part_of_is_none() {
        assert_eq!(Gain::of(1.0, &Reference::default(), Direction::Maximize), None);
        let of_nothing = gain(1.0, 0.0, Some(0.0), None);
        assert_eq!((of_nothing.amount, of_nothing.relative, of_nothing.share), (1.0, None, None));
        assert_eq!(gain(1.0, 0.5, Some(0.25), None).share, None, "the solution is worse than the baseline");
        assert_eq!(gain(1e100, 1e-300, None, None).relative, None, "larger than any number that is averaged");
    }
}
