//! Sums and means that do not depend on the order of their values.
//!
//! Values are added from the smallest to the largest with Neumaier's compensation (A. Neumaier, "Rundungsfehleranalyse
//! einiger Verfahren zur Summation endlicher Summen", ZAMM 54, 1974), so that the error does not grow with their number.

/// The mean, or nothing if there are no values. It lies between the smallest and the largest of them, and is finite if
/// they are.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    mean_of_sorted(&sorted(values))
}

/// The sum.
pub fn sum(values: impl IntoIterator<Item = f64>) -> f64 {
    sum_of_sorted(&sorted(values))
}

/// The standard error of the mean of independent values: `sqrt(sum (x - mean)^2 / (n - 1) / n)`; none of fewer than two
/// values, or if it is not finite.
pub fn standard_error(values: &[f64]) -> Option<f64> {
    let mean = mean(values.iter().copied())?;
    let squares = sum(values.iter().map(|value| (value - mean).powi(2)));
    let count = count(values.len());
    (values.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt()).filter(|error| error.is_finite())
}

/// [`mean`] of values that are sorted already, by `f64::total_cmp`.
pub fn mean_of_sorted(values: &[f64]) -> Option<f64> {
    let (smallest, largest) = (values.first()?, values.last()?);
    let count = count(values.len());
    let mean = match sum_of_sorted(values) / count {
        mean if mean.is_finite() => mean,
        // The sum is too large for a double, though the mean is not.
        _ => values.iter().map(|value| value / count).sum(),
    };
    // Adding zero makes -0 a 0.
    Some(mean.clamp(*smallest, *largest) + 0.0)
}

fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

fn sum_of_sorted(values: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for value in values {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
    }
    // An infinite sum has lost nothing that could be said.
    if lost.is_finite() { sum + lost } else { sum }
}

/// A count as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53")]
pub fn count(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn means_are_exact_where_plain_sums_are_not() {
        assert_eq!(mean([]), None);
        assert_eq!(mean([0.1; 10]), Some(0.1));
        assert_eq!(mean([1e100, 1.0, -1e100, 1.0]), Some(0.5));
        assert_eq!(mean([-0.0]).map(f64::is_sign_positive), Some(true));
        assert_eq!(mean([f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!(mean([f64::MAX, f64::MAX, f64::MAX, -f64::MAX]), Some(f64::MAX / 2.0));
        assert_eq!(standard_error(&[1.0]), None);
        assert_eq!(standard_error(&[1.0, 3.0]), Some(1.0));
    }

    proptest! {
        #[test]
        #[expect(clippy::float_cmp, reason = "bit for bit")]
        fn the_order_decides_nothing(values in proptest::collection::vec(-1e9_f64..1e9, 1..50), turn in 0_usize..50) {
            let mut turned = values.clone();
            turned.rotate_left(turn % values.len());
            prop_assert_eq!(mean(values.iter().copied()), mean(turned.iter().copied()));
            prop_assert_eq!(sum(values), sum(turned));
        }
    }
}
