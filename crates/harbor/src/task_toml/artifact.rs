//! What is copied out of containers after the agent's work.

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

/// One entry of an `artifacts` list: a path by itself, or a table that says more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ArtifactEntry {
    /// A path in the agent's container, kept under the same path below the trial's `artifacts/`.
    Path(String),
    /// A path with a service, a destination or exclusions.
    Table(Artifact),
}

impl ArtifactEntry {
    /// The entry in its long form.
    #[must_use]
    pub fn artifact(&self) -> Cow<'_, Artifact> {
        match self {
            Self::Path(source) => Cow::Owned(Artifact { source: source.clone(), ..Artifact::default() }),
            Self::Table(artifact) => Cow::Borrowed(artifact),
        }
    }
}

impl<'de> Deserialize<'de> for ArtifactEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = ArtifactEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path or a table with `source`")
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<ArtifactEntry, E> {
                Ok(ArtifactEntry::Path(value.to_owned()))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<ArtifactEntry, A::Error> {
                Artifact::deserialize(de::value::MapAccessDeserializer::new(map)).map(ArtifactEntry::Table)
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

/// A file or folder to copy out of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// The path in the container, without `..`; absolute when `service` is a sidecar. A separate verifier finds the
    /// copy under this same path.
    pub source: String,

    /// Where the copy goes: a relative path below the trial's `artifacts/`. Default: the source's own path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,

    /// Patterns of what to leave out of a folder, as tar's `--exclude` understands them. Default: nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,

    /// The compose service to copy from. Default: `"main"`, the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}
