//! Rewards in every shape that was met.

use taskwright_testing::test;

use super::*;

fn rewards(keys: &[(&str, f64)]) -> Rewards {
    Rewards::Keys(keys.iter().map(|(key, value)| ((*key).to_owned(), Reward::of(*value))).collect())
}

#[test]
fn the_one_that_counts() {
    let chosen = |keys: &[(&str, f64)], key| {
        rewards(keys)
            .choose(key)
            .map(|chosen| (chosen.key.to_owned(), chosen.value))
            .map_err(|error| error.to_string())
    };
    let some = |key: &str, value| Ok((key.to_owned(), value));
    assert_eq!(chosen(&[("a", 1.0), ("reward", 2.0), ("pass", 3.0)], None), some("reward", 2.0));
    assert_eq!(chosen(&[("a", 1.0), ("pass", 3.0)], None), some("pass", 3.0));
    assert_eq!(chosen(&[("a", 1.0)], None), some("a", 1.0));
    assert_eq!(chosen(&[("a", 1.0), ("reward", 2.0)], Some("a")), some("a", 1.0));
    assert_eq!(
        chosen(&[("b", 1.0), ("a", 2.0)], None).unwrap_err(),
        "it is unclear which reward counts: the verifier reported `a`, `b`; name one with `reward_key`, or `--reward-key` \
         of an import"
    );
    // A key that was asked for is never exchanged for another.
    assert_eq!(
        chosen(&[("reward", 1.0), ("x\n", 1.0)], Some("rewrd")).unwrap_err(),
        "the verifier reported no `rewrd`; it reported `reward`, `x\\n`"
    );
    assert!(chosen(&[], Some("a")).unwrap_err().contains("empty"));
    assert!(
        chosen(&[("reward", f64::NAN), ("pass", 1.0)], None).unwrap_err().contains("`reward` is not finite")
    );
    let many: Vec<_> = (0..100).map(|n| (format!("k{n:02}"), 1.0)).collect();
    let many: Vec<_> = many.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    assert!(chosen(&many, None).unwrap_err().contains("`k11` and 88 more"));
}

#[test]
fn a_damaged_key_is_named_and_the_others_count() {
    let json = r#"{"reward": 0.5, "style \ud800": 0.25}"#;
    let raw: Box<RawValue> = serde_json::from_str(json).unwrap();
    let rewards = Rewards::take(Some(&raw)).unwrap();
    assert_eq!(rewards.choose(None).map(|chosen| chosen.value), Ok(0.5));
    let keys: Vec<_> = rewards.finite().collect();
    assert_eq!((keys.len(), keys[1].1), (2, 0.25));
    assert!(keys[1].0.starts_with("style \u{fffd}"), "{keys:?}");
}
