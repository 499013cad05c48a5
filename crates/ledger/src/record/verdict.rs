//! What the verdict of a trial says of its rewards: the baseline's, and which way is better.
//!
//! Tasks of ours leave it among the verifier's own files, where the agent cannot write unless it shares the verifier's
//! container, and can then write the reward as well.

use serde::Deserialize;

use super::parts::Reward;
use crate::rank::statistics::{Direction, is_reward};

/// Where the verifier leaves it in a trial's folder.
pub(crate) const PATH: &str = "verifier/details.json";

/// The reward that the first target counts as, beside its own key.
const FIRST: &str = "reward";

/// The format that is understood.
const VERSION: u64 = 1;

#[derive(Deserialize)]
struct Verdict {
    verdict_version: u64,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    reward_key: String,
    baseline: Option<f64>,
    direction: Option<Direction>,
}

/// Adds what a verdict says to the rewards that it is of. Whatever else the file holds says nothing.
pub(crate) fn tell(bytes: &[u8], rewards: &mut [Reward]) {
    let Ok(verdict) = serde_json::from_slice::<Verdict>(bytes) else { return };
    if verdict.verdict_version != VERSION {
        return;
    }
    for reward in rewards {
        let of_key = verdict.targets.iter().find(|target| target.reward_key == reward.key);
        let target = if reward.key == FIRST { verdict.targets.first() } else { of_key };
        let Some(target) = target else { continue };
        reward.baseline = target.baseline.filter(|baseline| is_reward(*baseline));
        reward.direction = target.direction;
    }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    fn told(verdict: &str, keys: &[&str]) -> Vec<(Option<f64>, Option<Direction>)> {
        let reward = |key: &&str| Reward { key: (*key).to_owned(), value: Some(1.0), ..Reward::default() };
        let mut rewards: Vec<Reward> = keys.iter().map(reward).collect();
        tell(verdict.as_bytes(), &mut rewards);
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
}
