//! The arithmetic mean.

/// The mean, or nothing if there are no values. It lies between the smallest and the largest of them.
///
/// Values are added from the smallest to the largest with Neumaier's compensation, so that their order does not matter
/// and the error does not grow with their number.
pub fn mean(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    mean_of_sorted(&sorted)
}

/// The sum, added up as [`mean`] does.
pub fn sum(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sum_of_sorted(&sorted)
}

/// [`mean`] of values that are sorted already.
pub(super) fn mean_of_sorted(values: &[f64]) -> Option<f64> {
    let (smallest, largest) = (values.first()?, values.last()?);
    Some((sum_of_sorted(values) / count(values.len())).clamp(*smallest, *largest) + 0.0)
}

fn sum_of_sorted(values: &[f64]) -> f64 {
    let mut sum = 0.0_f64;
    let mut lost = 0.0_f64;
    for value in values {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
    }
    sum + lost
}

/// A count as a number to divide by.
#[allow(clippy::cast_precision_loss)] // Exact up to 2^53.
pub(super) fn count(count: usize) -> f64 {
    count as f64
}
