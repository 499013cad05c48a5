//! Student's interval of a mean.

use crate::number::{count, mean_of_sorted};

/// The 97.5th percentile of Student's distribution with 1, 2, 3, ... degrees of freedom.
#[rustfmt::skip]
const QUANTILES: [f64; 30] = [
    12.706_204_736, 4.302_652_730, 3.182_446_305, 2.776_445_105, 2.570_581_836, 2.446_911_851, 2.364_624_252,
    2.306_004_135, 2.262_157_163, 2.228_138_852, 2.200_985_160, 2.178_812_830, 2.160_368_656, 2.144_786_688,
    2.131_449_546, 2.119_905_299, 2.109_815_578, 2.100_922_040, 2.093_024_054, 2.085_963_447, 2.079_613_845,
    2.073_873_068, 2.068_657_610, 2.063_898_562, 2.059_538_553, 2.055_529_439, 2.051_830_516, 2.048_407_142,
    2.045_229_642, 2.042_272_456,
];

/// The same of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The ends of the 95 % interval of the mean of independent values; none for fewer than two values, as those have no spread to
/// go by.
pub fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let freedom = sorted.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    let mean = mean_of_sorted(&sorted)?;
    let squares: f64 = sorted.iter().map(|value| (value - mean) * (value - mean)).sum();
    let half = quantile(freedom) * (squares / count(freedom) / count(sorted.len())).sqrt();
    Some((mean - half + 0.0, mean + half + 0.0))
}

/// The 97.5th percentile with so many degrees of freedom: from the table, and beyond it by the expansion of Cornish and
/// Fisher, which is right there to seven digits.
fn quantile(freedom: usize) -> f64 {
    if let Some(known) = QUANTILES.get(freedom - 1) {
        return *known;
    }
    let n = count(freedom);
    let (z, square) = (Z, Z * Z);
    let first = z * (square + 1.0) / 4.0;
    let second = z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = z * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    let fourth =
        z * ((((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0) / 92_160.0;
    z + (first + (second + (third + fourth / n) / n) / n) / n
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.stats.t.ppf(0.975, n)`.
    #[test]
    fn quantiles_are_scipys() {
        for (freedom, expected) in [
            (1, 12.706_204_74),
            (30, 2.042_272_46),
            (31, 2.039_513_45),
            (100, 1.983_971_52),
            (1000, 1.962_339_08),
        ] {
            assert!((quantile(freedom) - expected).abs() < 1e-6, "{freedom}: {}", quantile(freedom));
        }
    }

    /// `scipy.stats.t.interval(0.95, 3, loc=np.mean(x), scale=scipy.stats.sem(x))`.
    #[test]
    fn an_interval_of_four_values_is_that_of_the_formula() {
        let (low, high) = interval(&[0.0, 1.0, 0.5, 0.5]).unwrap();
        // Half of the width is 3.182446 x sqrt(0.5 / 3 / 4).
        assert!((low - (0.5 - 0.649_614)).abs() < 1e-5 && (high - (0.5 + 0.649_614)).abs() < 1e-5);
        assert_eq!((interval(&[]), interval(&[1.0])), (None, None));
        assert_eq!(interval(&[0.1; 30]), Some((0.1, 0.1)));
    }
}
