//! The probability that at least one of `k` trials succeeds.

/// The unbiased estimate of pass@k from `successes` of `trials`: one minus the share of the choices of `k` trials among
/// them in which none succeeded. Nothing if there are fewer than `k` trials, or if `k` is 0.
pub fn pass_at_k(trials: u64, successes: u64, k: u64) -> Option<f64> {
    if k == 0 || trials < k || successes > trials {
        return None;
    }
    let failures = trials - successes;
    if failures < k {
        return Some(1.0);
    }
    // The binomial coefficients themselves would overflow; the quotient of one pair of factors after the other does not.
    #[allow(clippy::cast_precision_loss)] // Exact up to 2^53.
    let none = (0..k).map(|drawn| (failures - drawn) as f64 / (trials - drawn) as f64).product::<f64>();
    Some(1.0 - none)
}
