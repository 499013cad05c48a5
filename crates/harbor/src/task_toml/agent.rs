//! The tables that say who: `[task]`, `[agent]`, `[solution]`, and users inside containers.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::environment::NetworkMode;
use super::number;

/// `[task]`: the name and authorship under which a task is published.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PackageInfo {
    /// The task's name as `org/name`; both parts start with a letter or digit and go on with letters, digits, `.`,
    /// `_` and `-`. Results carry this name, job filters the directory's.
    #[schemars(regex(pattern = r"^[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*$"))]
    pub name: String,

    /// Version of the task, by semver: `harbor run --diff` reruns on a major change, regrades on a minor one and
    /// reuses results on a patch. Default: none, and nothing is reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,

    /// One sentence for a catalogue. Default: empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,

    /// Who wrote the task. Default: nobody named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<Author>,

    /// Words to find the task by. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
}

/// One author of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Author {
    /// The author's name.
    pub name: String,

    /// The author's e-mail address. Default: not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// `[agent]`: limits and identity of the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// How long the agent may run, in seconds. Default: no limit at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_sec: Option<f64>,

    /// The user the agent runs as: a name or a numeric id that exists in the image. Default: the image's user,
    /// which is mostly root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,

    /// What the agent may reach while it runs, where this differs from `[environment]`. Default: the environment's
    /// policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_mode: Option<NetworkMode>,

    /// Hosts the agent may reach with `network_mode = "allowlist"`: host names, `*.` followed by a host name, IP
    /// addresses, or address ranges such as `192.0.2.0/24`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_hosts: Option<Vec<String>>,
}

/// `[solution]`: how the reference solution is run by Harbor's oracle agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Solution {
    /// Environment variables of `solution/solve.sh`. A value that is `${VAR}` or `${VAR:-default}` as a whole is
    /// taken from the host. Default: none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// A user inside a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum User {
    /// By name, as in the image's `/etc/passwd`.
    Name(String),
    /// By numeric id.
    Id(#[serde(serialize_with = "number::count")] u64),
}

// Derived untagged deserialising says "did not match any variant"; a visitor can say what was expected.
impl<'de> Deserialize<'de> for User {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = User;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a user name or a numeric user id")
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<User, E> {
                Ok(User::Name(value.to_owned()))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<User, E> {
                Ok(User::Id(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<User, E> {
                u64::try_from(value)
                    .map(User::Id)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(value), &self))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}
