//! `[[steps]]`: the parts of a multi-step task.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::agent::Agent;
use super::artifact::ArtifactEntry;
use super::default::is_default;
use super::environment::Healthcheck;
use super::verifier::Verifier;

/// `[[steps]]`: one step, worked on and judged before the next begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Name of the step and of its folder below `steps/`; unique even where case does not count.
    pub name: String,

    /// The least reward with which the next step is still begun: one number for the key `reward`, or one for each
    /// key of a table. Default: every step is begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_reward: Option<MinReward>,

    /// What is copied out after this step, on top of the task's own artifacts. Default: nothing more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactEntry>,

    /// How the agent runs in this step.
    #[serde(default, skip_serializing_if = "is_default")]
    pub agent: Agent,

    /// How this step is judged.
    #[serde(default, skip_serializing_if = "is_default")]
    pub verifier: Verifier,

    /// A command that tells when the step's own set-up is ready, on top of the environment's. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub healthcheck: Option<Healthcheck>,
}

/// How a multi-step task's reward follows from its steps'.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RewardStrategy {
    /// The mean of each key over the steps that were judged; a key that a step lacks counts 0.
    #[default]
    Mean,
    /// The last step's reward.
    Final,
}

/// The least reward that lets a multi-step task go on.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MinReward {
    /// For the key `reward`.
    Reward(f64),
    /// For each of the keys.
    PerKey(BTreeMap<String, f64>),
}

impl<'de> Deserialize<'de> for MinReward {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = MinReward;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or a table of numbers")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<MinReward, E> {
                Ok(MinReward::Reward(value))
            }

            // A reward is a float by nature: an integer too long for one loses digits that no threshold needs.
            #[expect(clippy::cast_precision_loss)]
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<MinReward, E> {
                Ok(MinReward::Reward(value as f64))
            }

            #[expect(clippy::cast_precision_loss)]
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<MinReward, E> {
                Ok(MinReward::Reward(value as f64))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<MinReward, A::Error> {
                BTreeMap::deserialize(de::value::MapAccessDeserializer::new(map)).map(MinReward::PerKey)
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}
