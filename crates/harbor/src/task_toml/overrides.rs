//! The part of `task.toml` that a Taskwright spec may say for itself.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::default::is_default;
use super::{Agent, ArtifactEntry, Environment, Problem, Solution, TaskToml, Verifier};

/// A spec's `[task]` section: `task.toml` less what Taskwright writes itself.
///
/// Taskwright owns `schema_version`, `source`, the `[task]` table, the agent's user and the verifier's mode, and the
/// tasks it builds have no `[[steps]]`. The user and the mode are keys of tables that are shared with [`TaskToml`], so
/// they can be parsed here; `validate` refuses them, and the JSON Schema does not offer them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskOverrides {
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
}

impl TaskOverrides {
    /// What Harbor would refuse, and what is Taskwright's to say; empty when all is well.
    ///
    /// Paths are relative to the section: `["agent", "timeout_sec"]`.
    #[must_use]
    pub fn validate(&self) -> Vec<Problem> {
        let owned = [
            (
                self.agent.user.is_some(),
                ["agent", "user"],
                "the agent's user is set by Taskwright, which also makes it in the image",
                "remove the key",
            ),
            (
                self.verifier.environment_mode.is_some(),
                ["verifier", "environment_mode"],
                "where the verifier runs is set by Taskwright, which also writes what it runs in",
                "remove the key, and choose with the spec's own verifier setting",
            ),
        ];
        let owned = owned.into_iter().filter(|(is_set, ..)| *is_set);
        let problem = |(_, path, message, hint): (bool, [&str; 2], &str, &str)| Problem {
            path: path.map(str::to_owned).to_vec(),
            message: message.to_owned(),
            hint: hint.to_owned(),
        };
        owned.map(problem).chain(TaskToml::from(self.clone()).validate()).collect()
    }
}

/// The `task.toml` that says no more than the overrides do: where the builder starts from.
impl From<TaskOverrides> for TaskToml {
    fn from(overrides: TaskOverrides) -> Self {
        let TaskOverrides { artifacts, metadata, agent, verifier, environment, solution } = overrides;
        Self { artifacts, metadata, agent, verifier, environment, solution, ..Self::default() }
    }
}

fn agent_schema(generator: &mut SchemaGenerator) -> Schema {
    without(Agent::json_schema(generator), "user")
}

fn verifier_schema(generator: &mut SchemaGenerator) -> Schema {
    without(Verifier::json_schema(generator), "environment_mode")
}

fn without(mut schema: Schema, key: &str) -> Schema {
    if let Some(properties) = schema.get_mut("properties").and_then(|value| value.as_object_mut()) {
        properties.remove(key);
    }
    schema
}
