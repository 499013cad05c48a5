//! What is drawn: tasks, each with a probability of success of its own, and the trials of them.

use std::f64::consts::TAU;

use taskwright_ledger::statistics::SplitMix64;

/// Where the tasks' probabilities of success come from: a beta distribution.
#[derive(Debug, Clone, Copy)]
pub struct Beta {
    pub a: f64,
    pub b: f64,
}

impl Beta {
    /// The mean of all tasks.
    pub fn mean(self) -> f64 {
        self.a / (self.a + self.b)
    }

    pub fn draw(self, random: &mut SplitMix64) -> f64 {
        let (a, b) = (gamma(self.a, random), gamma(self.b, random));
        a / (a + b)
    }
}

/// A number of a gamma distribution of this shape (Marsaglia and Tsang 2000).
fn gamma(shape: f64, random: &mut SplitMix64) -> f64 {
    if shape < 1.0 {
        return gamma(shape + 1.0, random) * unit(random).powf(1.0 / shape);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let normal = (-2.0 * unit(random).ln()).sqrt() * (TAU * unit(random)).cos();
        let cube = (1.0 + c * normal).powi(3);
        if cube > 0.0 && unit(random).ln() < normal * normal / 2.0 + d * (1.0 - cube + cube.ln()) {
            return d * cube;
        }
    }
}

/// A number above 0 and below 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits")]
fn unit(random: &mut SplitMix64) -> f64 {
    ((random.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// The rewards of so many trials that succeed with this probability.
pub fn rewards(trials: u32, probability: f64, random: &mut SplitMix64) -> Vec<f64> {
    (0..trials).map(|_| f64::from(u8::from(unit(random) < probability))).collect()
}

/// How often a task is tried.
#[derive(Debug, Clone, Copy)]
pub enum Attempts {
    /// Each number from one to this is as likely.
    UpTo(u32),
    /// This often.
    Always(u32),
}

impl Attempts {
    pub fn draw(self, random: &mut SplitMix64) -> u32 {
        match self {
            Self::UpTo(most) => 1 + random.below(most),
            Self::Always(times) => times,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means and variances of a beta distribution: `ab / ((a + b)^2 (a + b + 1))`.
    #[test]
    fn what_is_drawn_has_the_mean_and_the_spread_of_its_distribution() {
        let mut random = SplitMix64::new(3);
        for beta in [Beta { a: 1.2, b: 1.2 }, Beta { a: 0.3, b: 1.2 }, Beta { a: 4.0, b: 0.2 }] {
            let drawn: Vec<f64> = (0..40_000).map(|_| beta.draw(&mut random)).collect();
            let mean = drawn.iter().sum::<f64>() / 40_000.0;
            let variance = drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 40_000.0;
            let whole = beta.a + beta.b;
            assert!((mean - beta.mean()).abs() < 0.01, "{beta:?}: {mean}");
            assert!(
                (variance - beta.a * beta.b / (whole * whole * (whole + 1.0))).abs() < 0.005,
                "{variance}"
            );
        }
    }
}
