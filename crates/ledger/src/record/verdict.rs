//! What the verdict of a trial says: of its rewards the baseline's and which way is better, and what its gateway metered.
//!
//! Tasks of ours leave it among the verifier's own files, where the agent cannot write unless it shares the verifier's
//! container, and can then write the reward as well. Whatever it holds is checked all the same.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use taskwright_language::model::MOST_DOLLARS;

use super::parts::{Reward, Tokens};
use super::spending::{Metered, Used};
use crate::rank::statistics::{Direction, is_reward};

/// Where the verifier leaves it in a trial's folder.
pub(crate) const PATH: &str = "verifier/details.json";

/// The reward that the first target counts as, beside its own key.
const FIRST: &str = "reward";

/// The format that is understood.
const VERSION: u64 = 1;

/// What a verdict says; nothing of what it does not.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// What it says of each target.
    pub targets: Vec<Target>,
    /// What the gateway metered.
    pub metered: Metered,
}

#[derive(Deserialize)]
struct Written {
    verdict_version: u64,
    targets: Vec<Target>,
    #[serde(default)]
    usage: Value,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    reward_key: String,
    baseline: Option<f64>,
    direction: Option<Direction>,
}

/// A user's sums as the gateway writes them.
#[derive(Deserialize)]
struct Usage {
    requests: u64,
    tokens: BTreeMap<String, u64>,
    cost: f64,
    /// How many requests `cost` is without.
    unpriced: u64,
}

impl Verdict {
    /// Reads one. What is none says nothing.
    pub fn read(bytes: &[u8]) -> Self {
        match serde_json::from_slice::<Written>(bytes) {
            Ok(written) if written.verdict_version == VERSION => {
                let used = |user: &str| used(&written.usage[user]).unwrap_or_default();
                let metered = Metered {
                    producer: used("producer"),
                    evaluation: used("evaluation"),
                    finalization: used("finalization"),
                };
                Self { targets: written.targets, metered }
            }
            _ => Self::default(),
        }
    }

    /// Adds what it says to the rewards that it is of.
    pub fn tell(&self, rewards: &mut [Reward]) {
        for reward in rewards {
            let of_key = self.targets.iter().find(|target| target.reward_key == reward.key);
            let target = if reward.key == FIRST { self.targets.first() } else { of_key };
            let Some(target) = target else { continue };
            reward.baseline = target.baseline.filter(|baseline| is_reward(*baseline));
            reward.direction = target.direction;
        }
    }
}

/// The sums of a user, all of them or none: of numbers that cannot be no part is believed.
fn used(usage: &Value) -> Option<Used> {
    let Usage { requests, tokens, cost, unpriced } = Usage::deserialize(usage).ok()?;
    let count = |name: &str| tokens.get(name).copied();
    let (input, output) = (count("input")?, count("output")?);
    let cached = count("cached").unwrap_or(0);
    let is_count = |count: &u64| i64::try_from(*count).is_ok();
    let is_possible = cached <= input && unpriced <= requests && (0.0..=MOST_DOLLARS).contains(&cost);
    let all = [requests, input, cached, output];
    (is_possible && all.iter().all(is_count)).then(|| Used {
        requests: Some(requests),
        tokens: Tokens { input: Some(input), cached: Some(cached), output: Some(output) },
        cost_usd: (unpriced == 0).then_some(cost),
    })
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    fn told(verdict: &str, keys: &[&str]) -> Vec<(Option<f64>, Option<Direction>)> {
        let reward = |key: &&str| Reward { key: (*key).to_owned(), value: Some(1.0), ..Reward::default() };
        let mut rewards: Vec<Reward> = keys.iter().map(reward).collect();
        Verdict::read(verdict.as_bytes()).tell(&mut rewards);
        rewards.into_iter().map(|reward| (reward.baseline, reward.direction)).collect()
    }

    #[test]
    fn each_reward_is_told_of_its_own_target() {
        let verdict = r#"{"verdict_version": 1, "outcome": "scored", "targets": [
            {"split": "test", "reward_key": "radius", "score": 2.5, "direction": "maximize", "baseline": 2.0},
            {"split": "late", "reward_key": "seconds", "score": 9, "direction": "minimize", "baseline": null}]}"#;
        assert_eq!(
            told(verdict, &["radius", "reward", "seconds", "other"]),
            [
                (Some(2.0), Some(Direction::Maximize)),
                (Some(2.0), Some(Direction::Maximize)),
                (None, Some(Direction::Minimize)),
                (None, None)
            ]
        );
    }

    /// What the oracle's trial of `circle-packing` left under Harbor 0.26.
    #[test]
    fn the_verdict_of_a_real_trial_says_its_baseline() {
        let path = taskwright_testing::own_jobs().join("verdicts/circle-packing.json");
        let verdict = std::fs::read_to_string(path).unwrap();
        assert_eq!(told(&verdict, &["reward"]), [(Some(2.166_666_666_664_5), Some(Direction::Maximize))]);
    }

    #[test]
    fn what_is_no_verdict_says_nothing() {
        for none in [
            "",
            "{}",
            "[1]",
            r#"{"verdict_version": 2, "targets": [{"reward_key": "reward", "baseline": 1.0}]}"#,
            r#"{"verdict_version": 1, "targets": [{"reward_key": "reward", "baseline": 1e300}]}"#,
            r#"{"verdict_version": 1, "targets": [{"reward_key": "reward", "baseline": "1"}]}"#,
            r#"{"verdict_version": 1, "targets": []}"#,
        ] {
            assert_eq!(told(none, &["reward"]), [(None, None)], "{none}");
        }
    }

    fn metered(usage: &str) -> Metered {
        let verdict = format!(r#"{{"verdict_version": 1, "targets": [], "usage": {usage}}}"#);
        Verdict::read(verdict.as_bytes()).metered
    }

    #[test]
    fn what_cannot_be_is_not_believed_and_costs_no_other_user_its_sums() {
        let good = r#"{"requests": 2, "tokens": {"input": 9, "cached": 4, "output": 3}, "cost": 0.5, "unpriced": 0}"#;
        let sums = Used {
            requests: Some(2),
            tokens: Tokens { input: Some(9), cached: Some(4), output: Some(3) },
            cost_usd: Some(0.5),
        };
        assert_eq!(metered(&format!(r#"{{"producer": {good}}}"#)).producer, sums);
        for (part, hostile) in [
            (r#""requests": 2"#, r#""requests": -2"#),
            (r#""requests": 2"#, r#""requests": 2.5"#),
            (r#""requests": 2"#, r#""requests": 18446744073709551615"#),
            (r#""requests": 2"#, r#""requests": "2""#),
            (r#""input": 9"#, r#""input": 3"#),
            (r#""input": 9"#, r#""input": 1e30"#),
            (r#""output": 3"#, r#""output": 9223372036854775808"#),
            (r#""cost": 0.5"#, r#""cost": -0.5"#),
            (r#""cost": 0.5"#, r#""cost": 1e300"#),
            (r#""cost": 0.5"#, r#""cost": null"#),
            (r#""unpriced": 0"#, r#""unpriced": 3"#),
            (r#""cost": 0.5, "unpriced": 0"#, r#""cost": 0.5"#),
            (r#""tokens": {"#, r#""tokens": [], "more": {"#),
        ] {
            let bad = good.replace(part, hostile);
            assert_ne!(bad, good);
            let found = metered(&format!(r#"{{"producer": {bad}, "evaluation": {good}, "other": {good}}}"#));
            assert_eq!((found.producer, found.evaluation), (Used::default(), sums), "{hostile}");
        }
        for nothing in ["null", "7", "[]", "\"x\"", "{}"] {
            assert_eq!(metered(nothing), Metered::default(), "{nothing}");
        }
    }

    #[test]
    fn a_cost_that_a_price_is_missing_from_is_not_known() {
        let usage = r#"{"requests": 2, "tokens": {"input": 9, "output": 3}, "cost": 0.5, "unpriced": 1}"#;
        let used = metered(&format!(r#"{{"evaluation": {usage}}}"#)).evaluation;
        assert_eq!((used.requests, used.tokens.cached, used.cost_usd), (Some(2), Some(0), None));
    }
}
