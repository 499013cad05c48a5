//! The statistics against numbers that others computed, and the properties that must hold for any input.
//!
//! Numbers that are said to be `scipy`'s come from its release 1.17 with `numpy` 2.4; the call stands beside them.

use proptest::prelude::*;
use taskwright_testing::test;

use super::*;

fn close(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance
}

fn ends(interval: Option<Interval>) -> (f64, f64) {
    let interval = interval.unwrap();
    (interval.low, interval.high)
}

#[test]
fn a_mean_does_not_depend_on_order_and_loses_nothing() {
    assert_eq!(mean([]), None);
    assert_eq!(mean([0.25]), Some(0.25));
    // Added up plainly, three tenths divided by three are less than a tenth.
    assert_eq!(mean([0.1, 0.1, 0.1]), Some(0.1));
    // Added up plainly from the left, the ones are lost.
    assert_eq!(mean([1e16, 1.0, 1.0, -1e16]), Some(0.5));
    assert_eq!(mean([-0.0]).unwrap().to_bits(), 0.0_f64.to_bits());
    assert_eq!(mean([LARGEST_REWARD; 1000]), Some(LARGEST_REWARD));
    assert_eq!(sum([]).to_bits(), 0.0_f64.to_bits());
}

/// `scipy.stats.binomtest(k, n).proportion_ci(0.95, method='wilson')`.
#[test]
fn wilson_is_scipys() {
    let cases = [
        (0, 1, 0.0, 0.793_450_685_622_762_6),
        (1, 1, 0.206_549_314_377_237_45, 1.0),
        (7, 10, 0.396_778_147_461_145_26, 0.892_208_732_593_699),
        (0, 5, 0.0, 0.434_482_464_783_174_76),
        (30, 30, 0.886_486_606_826_031_2, 1.0),
        (3, 1000, 0.001_020_783_881_138_618_6, 0.008_783_014_053_503_173),
    ];
    for (successes, trials, low, high) in cases {
        let found = ends(wilson(successes, trials));
        assert!(
            close(found.0, low, 1e-12) && close(found.1, high, 1e-12),
            "{successes} of {trials}: {found:?}"
        );
    }
    assert_eq!((wilson(0, 0), wilson(2, 1)), (None, None));
}

/// One minus a quotient of binomial coefficients, computed with Python's exact fractions.
#[test]
fn pass_at_k_is_the_exact_quotient() {
    let cases = [
        (10, 3, 1, 0.3),
        (10, 3, 5, 0.916_666_666_666_666_6),
        (10, 3, 8, 1.0),
        (200, 7, 100, 0.992_991_117_241_812_3),
        (1000, 1, 10, 0.01),
        (5, 0, 3, 0.0),
        (5, 5, 1, 1.0),
        (100_000, 50, 1000, 0.395_068_814_928_269_7),
    ];
    for (trials, successes, k, expected) in cases {
        let found = pass_at_k(trials, successes, k).unwrap();
        assert!(close(found, expected, 1e-12), "{trials} {successes} {k}: {found}");
    }
    for (trials, successes, k) in [(4, 2, 5), (4, 2, 0), (0, 0, 1), (2, 3, 1)] {
        assert_eq!(pass_at_k(trials, successes, k), None);
    }
}

/// `scipy.stats.permutation_test((d,), np.mean, permutation_type='samples', n_resamples=np.inf)`, and for those with
/// equal magnitudes the number of arrangements by hand.
#[test]
fn few_differences_are_tested_exactly() {
    let cases: [(&[f64], f64); 6] = [
        (&[0.5, 0.25, -0.125, 1.0, 0.0, 0.75], 0.125),
        (&[1.0, 1.0, 1.0, 1.0, -1.0], 0.375),
        // Both arrangements of equal signs, of 256.
        (&[0.1; 8], 2.0 / 256.0),
        (&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0], 0.109_375),
        (&[0.3, -0.1, 0.2, 0.7, 0.4, -0.2, 0.9, 0.15, 0.05, -0.05, 0.35, 0.6], 0.017_578_125),
        (&[0.0; 50], 1.0),
    ];
    for (differences, expected) in cases {
        let significance = paired(differences).unwrap().significance;
        assert_eq!(significance.method, SignificanceMethod::Exact);
        assert!(close(significance.p_value, expected, 0.0), "{differences:?}: {significance:?}");
    }
}

/// With equal magnitudes the test is the sign test: `scipy.stats.binomtest(30, 40).pvalue` and `(18, 25)`.
#[test]
fn many_differences_are_tested_by_sampling() {
    let differences =
        |won: usize, lost: usize, same: usize| [vec![0.5; won], vec![-0.5; lost], vec![0.0; same]].concat();
    let found = paired(&differences(18, 7, 30)).unwrap().significance;
    assert_eq!((found.method, found.arrangements), (SignificanceMethod::Sampled, 9_999));
    // Four standard errors of 9,999 draws.
    assert!(close(found.p_value, 0.043_285, 0.008), "{found:?}");
    let found = paired(&differences(30, 10, 0)).unwrap().significance;
    assert!(close(found.p_value, 0.002_221, 0.002), "{found:?}");
    // Nothing is less likely than what was seen.
    assert!(close(paired(&[1.0; 200]).unwrap().significance.p_value, 1e-4, 0.0));
}

#[test]
fn one_difference_says_little_and_none_says_nothing() {
    assert_eq!(paired(&[]), None);
    let one = paired(&[0.5]).unwrap();
    assert_eq!((one.difference, one.interval, one.significance.p_value), (0.5, None, 1.0));
}

fn rewards(most: usize) -> impl Strategy<Value = Vec<f64>> {
    let reward = prop_oneof![
        Just(0.0),
        Just(1.0),
        Just(-0.0),
        Just(LARGEST_REWARD),
        Just(-LARGEST_REWARD),
        Just(f64::MIN_POSITIVE),
        0.0..1.0,
        -1e6..1e6
    ];
    prop::collection::vec(reward, 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn means_stay_within_what_was_seen_and_intervals_hold_them_in_any_order((values, other) in rewards(30).prop_flat_map(|values| {
        (Just(values.clone()), Just(values).prop_shuffle())
    })) {
        let bits = |values: &[f64]| {
            let interval = student(values);
            (mean(values.iter().copied()).map(f64::to_bits), interval.map(|found| (found.low.to_bits(), found.high.to_bits())))
        };
        prop_assert_eq!(bits(&values), bits(&other));
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if let Some(mean) = mean(values.iter().copied()) {
            prop_assert!(low <= mean && mean <= high);
            if let Some(interval) = student(&values) {
                prop_assert!(interval.low <= mean && mean <= interval.high);
            }
        }
    }

    #[test]
    fn exchanging_the_sides_mirrors_a_comparison((values, other) in rewards(30).prop_flat_map(|values| {
        (Just(values.clone()), Just(values).prop_shuffle())
    })) {
        let mirrored: Vec<f64> = other.iter().map(|value| -value).collect();
        let (Some(found), Some(mirrored)) = (paired(&values), paired(&mirrored)) else {
            prop_assert!(values.is_empty());
            return Ok(());
        };
        prop_assert_eq!(found.difference.to_bits(), (0.0 - mirrored.difference).to_bits());
        prop_assert_eq!(found.significance, mirrored.significance);
        prop_assert!(found.significance.p_value > 0.0 && found.significance.p_value <= 1.0);
        if let (Some(one), Some(two)) = (found.interval, mirrored.interval) {
            prop_assert_eq!((one.low, one.high), (-two.high, -two.low));
            prop_assert!(one.low <= one.high);
        }
    }

    #[test]
    fn pass_at_k_lies_within_bounds_and_grows((trials, successes) in (1_u64..300).prop_flat_map(|trials| {
        (Just(trials), 0..=trials)
    })) {
        let estimates: Vec<f64> = (1..=trials).map(|k| pass_at_k(trials, successes, k).unwrap()).collect();
        prop_assert!(estimates.iter().all(|estimate| (0.0..=1.0).contains(estimate)));
        prop_assert!(estimates.is_sorted(), "more trials cannot be less likely to succeed");
        #[allow(clippy::cast_precision_loss)]
        let share = successes as f64 / trials as f64;
        prop_assert!(close(estimates[0], share, 1e-12), "pass@1 is the share of successes");
        if successes < trials {
            let more = pass_at_k(trials, successes + 1, 1).unwrap();
            prop_assert!(more > estimates[0]);
        }
    }

    #[test]
    fn wilson_holds_the_share((trials, successes) in (1_u64..5000).prop_flat_map(|trials| (Just(trials), 0..=trials))) {
        let (low, high) = ends(wilson(successes, trials));
        #[allow(clippy::cast_precision_loss)]
        let share = successes as f64 / trials as f64;
        prop_assert!(0.0 <= low && low <= share && share <= high && high <= 1.0 && low < high);
        let (other_low, other_high) = ends(wilson(trials - successes, trials));
        prop_assert!(close(low, 1.0 - other_high, 1e-12) && close(high, 1.0 - other_low, 1e-12));
    }
}
