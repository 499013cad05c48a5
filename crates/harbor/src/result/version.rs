//! Which version of Harbor wrote a result, told by its fields: only a job's `lock.json` says it outright.

use std::collections::HashMap;
use std::fmt;

use serde_json::value::RawValue;

use crate::document::{Problem, object, parse};

/// The versions of Harbor that write such a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionRange {
    /// The first that was seen to.
    pub from: &'static str,
    /// The first that was seen not to any more; none if the newest still does.
    pub before: Option<&'static str>,
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} or later", self.from)?;
        self.before.map_or(Ok(()), |before| write!(f, ", before {before}"))
    }
}

/// What a field says of the version.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    /// The version is this one or later; without the field it is earlier.
    Since,
    /// The version is this one or later; the field is left out where it would be empty.
    AtLeast,
    /// The version is earlier than this one.
    Before,
}

/// Fields and what they say, oldest version first.
const FIELDS: [(&[&str], Says, &str); 14] = [
    (&["config", "environment", "import_path"], Says::Since, "0.1.36"),
    (&["config", "environment", "env"], Says::AtLeast, "0.2"),
    (&["config", "task", "name"], Says::Since, "0.3"),
    (&["config", "verifier", "env"], Says::AtLeast, "0.4"),
    (&["step_results"], Says::Since, "0.5"),
    (&["config", "environment", "mounts_json"], Says::Before, "0.7"),
    (&["config", "environment", "mounts"], Says::Since, "0.7"),
    (&["config", "environment", "extra_docker_compose"], Says::Since, "0.8"),
    (&["config", "environment", "extra_allowed_hosts"], Says::Since, "0.13"),
    (&["verifier_environment_mode"], Says::Since, "0.21"),
    (&["config", "user_agent"], Says::Since, "0.22"),
    (&["agent_result", "model_usage"], Says::Since, "0.23"),
    (&["config", "agent", "base_url"], Says::Since, "0.25"),
    (&["schema_version"], Says::Since, "0.26"),
];

/// The versions that could have written a trial's result.
///
/// ```
/// use taskwright_harbor::result::infer_version;
///
/// let range = infer_version(br#"{"step_results": null, "config": {"environment": {"import_path": null}}}"#)?;
/// assert_eq!(range.to_string(), "0.5 or later, before 0.7");
/// # Ok::<(), taskwright_harbor::document::Problem>(())
/// ```
pub fn infer_version(bytes: &[u8]) -> Result<VersionRange, Problem> {
    parse(bytes, |text| serde_json::from_str(text).map(|whole: HashMap<String, &RawValue>| range(&whole)))
}

fn range(whole: &HashMap<String, &RawValue>) -> VersionRange {
    let mut range = VersionRange { from: "0.1.0", before: None };
    for (path, says, version) in FIELDS {
        match (says, has(whole, path)) {
            (Says::Since | Says::AtLeast, Some(true)) => range.from = version,
            (Says::Since, Some(false)) | (Says::Before, Some(true)) if range.before.is_none() => {
                range.before = Some(version);
            }
            _ => {}
        }
    }
    range
}

/// Whether there is a field; nothing if there is no object that could have it.
fn has(whole: &HashMap<String, &RawValue>, path: &[&str]) -> Option<bool> {
    let (first, rest) = path.split_first()?;
    match (whole.get(*first), rest.is_empty()) {
        (part, true) => Some(part.is_some()),
        (Some(part), false) => has(&object(Some(part))?, rest),
        (None, false) => None,
    }
}
