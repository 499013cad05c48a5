//! The part of `task.toml` that a Taskwright spec may say for itself.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::{
    Agent, ArtifactEntry, Environment, Problem, RewardStrategy, Solution, Step, TaskToml, Verifier,
    is_default, validate,
};

/// A spec's `[task]` section: `task.toml` less what Taskwright writes itself.
///
/// Taskwright owns `schema_version`, `source`, the `[task]` table, the agent's user and the verifier's mode. The last
/// two are keys of tables that are shared with [`TaskToml`], so they can be parsed here; [`validate`](Self::validate)
/// refuses them, and the JSON Schema does not offer them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskOverrides {
    /// How a multi-step task's reward follows from its steps'. Only for tasks with `[[steps]]`. Default: `"mean"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multi_step_reward_strategy: Option<RewardStrategy>,

    /// What is copied out of the containers when the agent is done, on top of the evidence Taskwright collects. Each
    /// entry is an absolute path in the agent's container, or a table. Default: nothing more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactEntry>,

    /// Anything else worth saying about the task; `[metadata.harbor.lint]` configures `harbor lint`. Default: empty.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub metadata: toml::Table,

    /// How the agent runs.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(schema_with = "agent_schema")]
    pub agent: Agent,

    /// How the work is judged.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(schema_with = "verifier_schema")]
    pub verifier: Verifier,

    /// The containers the agent works in.
    #[serde(default, skip_serializing_if = "is_default")]
    pub environment: Environment,

    /// How the reference solution runs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub solution: Solution,

    /// The steps of a multi-step task, in order; each has a folder of its name below `steps/`. Default: single-step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "steps_schema")]
    pub steps: Vec<Step>,
}

impl TaskOverrides {
    /// What Harbor would refuse, and what is Taskwright's to say; empty when all is well.
    ///
    /// Paths are relative to the section: `["agent", "timeout_sec"]`.
    #[must_use]
    pub fn validate(&self) -> Vec<Problem> {
        validate::overrides(self)
    }
}

/// The `task.toml` that says no more than the overrides do: where the builder starts from.
impl From<TaskOverrides> for TaskToml {
    fn from(overrides: TaskOverrides) -> Self {
        let TaskOverrides {
            multi_step_reward_strategy,
            artifacts,
            metadata,
            agent,
            verifier,
            environment,
            solution,
            steps,
        } = overrides;
        Self {
            multi_step_reward_strategy,
            artifacts,
            metadata,
            agent,
            verifier,
            environment,
            solution,
            steps,
            ..Self::default()
        }
    }
}

fn agent_schema(generator: &mut SchemaGenerator) -> Schema {
    without(Agent::json_schema(generator), "user")
}

fn verifier_schema(generator: &mut SchemaGenerator) -> Schema {
    without(Verifier::json_schema(generator), "environment_mode")
}

fn steps_schema(generator: &mut SchemaGenerator) -> Schema {
    let agent = agent_schema(generator);
    let verifier = verifier_schema(generator);
    let mut step = Step::json_schema(generator);
    if let Some(properties) = step.get_mut("properties").and_then(|value| value.as_object_mut()) {
        properties.insert("agent".to_owned(), agent.into());
        properties.insert("verifier".to_owned(), verifier.into());
    }
    schemars::json_schema!({ "type": "array", "items": step })
}

fn without(mut schema: Schema, key: &str) -> Schema {
    if let Some(properties) = schema.get_mut("properties").and_then(|value| value.as_object_mut()) {
        properties.remove(key);
    }
    schema
}
