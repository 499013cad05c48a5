//! Where numbers lie on an axis, with ticks at round numbers.

use serde::Serialize;

/// How many bars a histogram has.
pub const BINS: u8 = 20;

/// An axis from one number to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    pub low: f64,
    pub high: f64,
    /// From one tick to the next; on a logarithmic axis, ticks are at 1, 2 and 5 of each power of ten.
    step: f64,
    is_logarithmic: bool,
}

/// A tick of an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tick {
    /// Where, in percent of the axis from its low end (or from the top, on an axis that goes up).
    pub at: String,
    /// What stands there.
    pub label: String,
}

impl Scale {
    /// An axis that holds these numbers, with about so many ticks.
    pub fn around(values: impl IntoIterator<Item = f64>, ticks: f64) -> Self {
        let (low, high) = ends(values).unwrap_or((0.0, 1.0));
        // A single number gets room around it.
        let (low, high) = if low < high { (low, high) } else { (low - margin(low), high + margin(high)) };
        let step = round_step((high - low) / ticks);
        Self {
            low: (low / step).floor() * step,
            high: (high / step).ceil() * step,
            step,
            is_logarithmic: false,
        }
    }

    /// The axis of rewards: from 0 to 1 if they all are in there; logarithmic where they are all above zero and the largest is
    /// more than a thousand times the smallest.
    pub fn of_rewards(rewards: &[f64]) -> Self {
        match ends(rewards.iter().copied()) {
            Some((low, high)) if low > 0.0 && high > 1.0 && high / low > 1000.0 => {
                Self::logarithmic(low, high)
            }
            Some((low, high)) if low < 0.0 || high > 1.0 => Self::around([low, high], 4.0),
            _ => Self { low: 0.0, high: 1.0, step: 0.25, is_logarithmic: false },
        }
    }

    /// The axis of costs: from nothing, or logarithmic where the largest is more than thirty times the smallest.
    pub fn of_costs(costs: impl IntoIterator<Item = f64>) -> Self {
        match ends(costs) {
            Some((low, high)) if low > 0.0 && high > 30.0 * low => Self::logarithmic(low, high),
            Some((low, high)) => Self::around([low, high, 0.0], 5.0),
            None => Self::around([0.0, 1.0], 5.0),
        }
    }

    /// An axis of powers of ten with a little room at its ends, which are above zero.
    fn logarithmic(low: f64, high: f64) -> Self {
        let (low, high) = (low.log10() - 0.1, high.log10() + 0.1);
        Self { low: 10_f64.powf(low), high: 10_f64.powf(high), step: 0.0, is_logarithmic: true }
    }

    /// Whether nine in ten of these differ and lie within a hundredth of the axis, and the others far from them.
    pub fn crowds(&self, values: &[f64]) -> bool {
        let mut shares: Vec<f64> = values.iter().map(|value| self.share(*value)).collect();
        shares.sort_unstable_by(f64::total_cmp);
        let most = (shares.len() * 9).div_ceil(10);
        let spread = |part: &[f64]| part.last().zip(part.first()).map_or(0.0, |(high, low)| high - low);
        let is_crowd = |part: &[f64]| spread(part) > 0.0 && spread(part) < 0.01;
        let is_wide = (self.low < 0.0 || self.high > 1.0) && spread(&shares) > 0.5;
        is_wide && most < shares.len() && shares.windows(most).any(is_crowd)
    }

    /// Whether equal distances are equal ratios.
    pub fn is_logarithmic(&self) -> bool {
        self.is_logarithmic
    }

    /// Where a number lies: 0 at the low end, 1 at the high end.
    pub fn share(&self, value: f64) -> f64 {
        let (low, high, value) = if self.is_logarithmic {
            (self.low.log10(), self.high.log10(), value.max(self.low).log10())
        } else {
            (self.low, self.high, value)
        };
        ((value - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// The bar of a histogram that a number belongs to.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // It is between 0 and the number of bars.
    pub fn bin(&self, value: f64) -> u8 {
        ((self.share(value) * f64::from(BINS)) as u8).min(BINS - 1)
    }

    /// Where a bar begins.
    pub fn bin_start(&self, bin: u8) -> f64 {
        let share = f64::from(bin) / f64::from(BINS);
        if self.is_logarithmic {
            return self.low * (self.high / self.low).powf(share);
        }
        self.low + (self.high - self.low) * share
    }

    /// The numbers at which there are ticks.
    pub fn ticks(&self) -> Vec<f64> {
        if !self.is_logarithmic {
            let count = ((self.high - self.low) / self.step).round().clamp(1.0, 20.0);
            let mut ticks = vec![self.low];
            let mut place = 1.0;
            while place <= count {
                ticks.push(self.low + place * self.step);
                place += 1.0;
            }
            return ticks;
        }
        let decades = (self.high / self.low).log10();
        let factors: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let mut ticks = Vec::new();
        let mut power = 10_f64.powf(self.low.log10().floor());
        while power <= self.high && ticks.len() < 40 {
            ticks.extend(factors.iter().map(|factor| factor * power));
            power *= 10.0;
        }
        ticks.retain(|tick| (self.low..=self.high).contains(tick));
        ticks
    }
}

/// A share as a percentage that SVG takes.
pub fn percent(share: f64) -> String {
    format!("{:.2}", 100.0 * share)
}

/// A number at a tick: no more digits than it needs.
pub fn label(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if (0.0001..100_000.0).contains(&size) => {
            let text = format!("{value:.4}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => format!("{value:.0e}"),
    }
}

fn ends(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|value| value.is_finite()).fold(None, |ends, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

/// The room to give a number that stands alone.
fn margin(value: f64) -> f64 {
    if value == 0.0 { 0.5 } else { value.abs() / 2.0 }
}

/// The next larger of 1, 2 and 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|round| *round >= step * 0.999)
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use taskwright_testing::test;

    use super::*;

    fn labels(scale: Scale) -> Vec<String> {
        scale.ticks().into_iter().map(label).collect()
    }

    #[test]
    fn ticks_are_at_round_numbers() {
        assert_eq!(labels(Scale::of_rewards(&[0.0, 0.4])), ["0", "0.25", "0.5", "0.75", "1"]);
        assert_eq!(labels(Scale::of_rewards(&[-3.0, 7.0])), ["-5", "0", "5", "10"]);
        assert_eq!(labels(Scale::around([0.31, 0.74], 3.0)), ["0.2", "0.4", "0.6", "0.8"]);
        assert_eq!(labels(Scale::around([2.0], 3.0)), ["1", "2", "3"]);
        assert_eq!(labels(Scale::around([], 3.0)), ["0", "0.5", "1"]);
        assert_eq!(labels(Scale::of_costs([0.02, 3.0])), ["0.02", "0.05", "0.1", "0.2", "0.5", "1", "2"]);
        assert_eq!(labels(Scale::of_costs([0.5, 1.3])), ["0", "0.5", "1", "1.5"]);
    }

    #[test]
    fn one_reward_far_from_the_others_does_not_flatten_them_unseen() {
        let apart = [&[1.0; 20][..], &[1e29]].concat();
        let scale = Scale::of_rewards(&apart);
        assert!(scale.is_logarithmic() && !scale.crowds(&apart));
        assert_eq!((scale.bin(1.0), scale.bin(1e29)), (0, BINS - 1));
        assert!((scale.bin_start(10) / (scale.low * scale.high).sqrt() - 1.0).abs() < 1e-9);
        let with_zeros = [&[0.0, 0.5, 1.0].repeat(10)[..], &[1e29]].concat();
        let scale = Scale::of_rewards(&with_zeros);
        assert!(!scale.is_logarithmic() && scale.crowds(&with_zeros));
        let spread: Vec<f64> = (0..40).map(f64::from).collect();
        for plain in [&spread[..], &[0.0, 1.0], &[], &[-5.0], &[2.0, 3.0]] {
            assert!(!Scale::of_rewards(plain).crowds(plain), "{plain:?}");
        }
    }

    #[test]
    fn the_largest_number_is_in_the_last_bar() {
        let scale = Scale::of_rewards(&[0.0, 1.0]);
        assert_eq!([0.0, 0.049, 0.05, 0.999, 1.0].map(|value| scale.bin(value)), [0, 0, 1, 19, 19]);
    }

    proptest! {
        #[test]
        fn whatever_the_numbers_there_is_an_axis(values in prop::collection::vec(-1e100..1e100_f64, 0..6), power in -300..0) {
            let values: Vec<f64> = values.iter().map(|value| value * 10_f64.powi(power)).collect();
            let costs = values.iter().map(|value| value.abs());
            for scale in [Scale::of_rewards(&values), Scale::around(values.iter().copied(), 3.0), Scale::of_costs(costs)] {
                for value in &values {
                    prop_assert!((0.0..=1.0).contains(&scale.share(*value)), "{value} on {scale:?}");
                }
                let ticks = scale.ticks();
                prop_assert!(!ticks.is_empty() && ticks.len() < 60 && ticks.iter().all(|tick| tick.is_finite()), "{scale:?}");
            }
        }
    }
}
