//! Parts of a trial as text, for people, and as JSON.

use serde_json::{Map, Value as Json};

use super::parts::{Evidence, Exception, Provenance, Reward, Step};
use super::spending::Used;

pub(super) fn spec(provenance: &Provenance) -> String {
    format!("{} {}", provenance.spec, provenance.spec_digest.as_deref().unwrap_or_default())
}

pub(super) fn exception(exception: &Exception) -> String {
    let step = exception.step.as_ref().map_or_else(String::new, |step| format!(" in step `{step}`"));
    let message =
        if exception.message.is_empty() { String::new() } else { format!(": {}", exception.message) };
    format!("{}{step}{message}", exception.kind)
}

pub(super) fn reward(value: f64, key: Option<&str>, is_valid: bool) -> String {
    let doubt = if is_valid { "" } else { ", not valid by Harbor's policy" };
    format!("{value} (`{}`{doubt})", key.unwrap_or_default())
}

pub(super) fn rewards(rewards: &[Reward]) -> String {
    let each = rewards.iter().map(|reward| {
        let value = reward.value.map(|value| value.to_string());
        let text = reward.text.clone().or(value).unwrap_or_default();
        let reason = reward.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
        let baseline =
            reward.baseline.map_or_else(String::new, |baseline| format!(" (the baseline's: {baseline})"));
        format!("{} = {text}{reason}{baseline}", reward.key)
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A sum of money with all its digits.
pub(super) fn dollars(amount: f64) -> String {
    format!("${amount}")
}

pub(super) fn used(used: &Used) -> Vec<String> {
    used.words(|count| count.to_string(), dollars).into_iter().collect()
}

pub(super) fn step(step: &Step) -> String {
    let raised =
        step.exception.as_ref().map_or_else(String::new, |raised| format!("; {}", exception(raised)));
    format!("{}: {}{raised}", step.name, rewards(&step.rewards))
}

pub(super) fn file(file: &Evidence) -> String {
    let digest = file.digest.as_deref().map_or("", |digest| &digest[..digest.len().min(12)]);
    format!("{:<40} {:>10}  {digest:12}  {}", file.path, file.size, file.kept)
}

pub(super) fn rewards_json(rewards: &[Reward]) -> Json {
    let pairs = rewards.iter().map(|reward| (reward.key.clone(), Json::from(reward.value)));
    Json::Object(pairs.collect::<Map<_, _>>())
}

pub(super) fn steps_json(steps: &[Step]) -> Json {
    let steps = steps.iter().map(|step| {
        serde_json::json!({
            "name": step.name,
            "rewards": rewards_json(&step.rewards),
            "exception_type": step.exception.as_ref().map(|exception| &exception.kind),
            "agent_seconds": step.seconds.agent,
            "verifier_seconds": step.seconds.verifier,
            "input_tokens": step.tokens.input,
            "cached_tokens": step.tokens.cached,
            "output_tokens": step.tokens.output,
            "cost_usd": step.cost_usd,
        })
    });
    steps.collect()
}
