//! The identity of an agent: a digest of its whole configuration.
//!
//! What enters, as JSON with sorted keys and no spaces:
//!
//! - `configuration`: the `agent` table of the trial's configuration as Harbor recorded it (name, import path, model,
//!   kwargs, environment variables, skills, MCP servers, timeouts, ...), without
//!   - what says how trials are scheduled and which logs are kept, not what the agent is: `n_concurrent`,
//!     `concurrency_group`, `include_logs`, `exclude_logs`;
//!   - keys on the first level whose value is `null`, `false`, or empty: versions of Harbor differ in whether they write
//!     what was not asked for;
//!   - the values of environment variables, headers and arguments with sensitive names: which key paid for a run does
//!     not make another agent;
//! - `version`: the version that the agent reported, unless it is unknown;
//! - `model`: the model that the agent reported, if the configuration names none.
//!
//! The digest of `configuration` alone is the agent's *family*: all that is known before the agent has run.

use std::collections::BTreeMap;

use serde_json::Value;
use taskwright_base::Digest;
use taskwright_harbor::result::{AgentConfig, AgentInfo};

use super::json::Json;
use super::parts::Agent;
use crate::redact::{REDACTED, clean_text, is_sensitive};

/// Keys of the configuration that do not say what the agent is.
const LEFT_OUT: [&str; 4] = ["concurrency_group", "exclude_logs", "include_logs", "n_concurrent"];

/// An agent and its family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The agent.
    pub agent: Agent,
    /// The digest of its configuration without what only a run can tell.
    pub family: String,
}

impl Identity {
    /// The identity of an agent by its configuration and by what it said of itself, if it ran.
    pub fn new(config: &AgentConfig, info: Option<&AgentInfo>) -> Self {
        let configuration = configuration(config);
        let version = info.and_then(|info| known(info.version.as_deref()));
        let reported = info.and_then(|info| {
            let name = known(info.model_name.as_deref())?;
            Some(info.model_provider.as_ref().map_or(name.clone(), |provider| format!("{provider}/{name}")))
        });
        let family = Digest::of(configuration.to_string().as_bytes()).hex();
        let mut whole = BTreeMap::from([("configuration".to_owned(), configuration)]);
        if let Some(version) = &version {
            whole.insert("version".to_owned(), Json::from(version.as_str()));
        }
        if let (None, Some(model)) = (&config.model_name, &reported) {
            whole.insert("model".to_owned(), Json::from(model.as_str()));
        }
        let text = Json::Object(whole).to_string();
        let name = info.and_then(|info| info.name.as_ref());
        let label = config.name.as_ref().or(config.import_path.as_ref()).or(name);
        Self {
            agent: Agent {
                digest: Digest::of(text.as_bytes()).hex(),
                label: label.map_or("unknown", String::as_str).to_owned(),
                version,
                model: config.model_name.clone().or(reported),
                configuration: text,
            },
            family,
        }
    }
}

/// An agent that no Harbor ran, as the candidate of an evaluation is: by a label, and by all that makes it what it is.
/// Secrets in the configuration become `[REDACTED]`.
pub fn described(label: &str, version: Option<&str>, model: Option<&str>, configuration: &Value) -> Agent {
    let mut configuration = Json::from(configuration);
    without_secrets(&mut configuration);
    let text = configuration.to_string();
    Agent {
        digest: Digest::of(text.as_bytes()).hex(),
        label: label.to_owned(),
        version: version.map(str::to_owned),
        model: model.map(str::to_owned),
        configuration: text,
    }
}

/// A word that says something.
fn known(word: Option<&str>) -> Option<String> {
    word.filter(|word| !word.is_empty() && !word.eq_ignore_ascii_case("unknown")).map(str::to_owned)
}

/// The part of an agent's configuration that says what it is.
fn configuration(config: &AgentConfig) -> Json {
    let Some(whole) = &config.whole else { return Json::Plain("null".to_owned()) };
    // What cannot be taken apart (nested a hundred levels deep) still tells itself apart from others.
    let Some(Json::Object(mut table)) = Json::parse(whole.get()) else {
        return Json::from(whole.get());
    };
    table.retain(|key, value| !LEFT_OUT.contains(&key.as_str()) && !value.is_nothing());
    for value in table.values_mut() {
        without_secrets(value);
    }
    Json::Object(table)
}

fn without_secrets(value: &mut Json) {
    match value {
        Json::Object(table) => {
            for (key, value) in table.iter_mut() {
                if is_sensitive(key) {
                    *value = Json::from(REDACTED);
                } else {
                    without_secrets(value);
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(without_secrets),
        // A plan is not looked through as the files of a trial are.
        Json::Text(text) => *text = clean_text(text),
        Json::Plain(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use taskwright_harbor::result::TrialResult;
    use taskwright_testing::test;

    use super::*;

    fn identity(agent: &str, version: &str) -> Identity {
        let json = format!(
            r#"{{"trial_name": "t", "task_checksum": "0", "config": {{"agent": {agent}}},
                "agent_info": {{"name": "x", "version": "{version}", "model_info": {{"name": "m", "provider": "p"}}}}}}"#
        );
        let result = TrialResult::parse(json.as_bytes()).unwrap();
        Identity::new(&result.config().agent, Some(&result.agent_info))
    }

    fn digest(agent: &str) -> String {
        identity(agent, "1").agent.digest
    }

    #[test]
    fn whatever_was_asked_of_an_agent_is_part_of_it() {
        let plain = digest(r#"{"name": "a", "model_name": "m", "kwargs": {"t": 1.0}}"#);
        for other in [
            r#"{"name": "a", "model_name": "m", "kwargs": {"t": 0.5}}"#,
            r#"{"name": "a", "model_name": "m", "kwargs": {"t": 1.0, "think": false}}"#,
            r#"{"name": "a", "model_name": "n", "kwargs": {"t": 1.0}}"#,
            r#"{"name": "a", "model_name": "m", "kwargs": {"t": 1.0}, "env": {"EFFORT": "high"}}"#,
            r#"{"name": "a", "model_name": "m", "kwargs": {"t": 1.0}, "env": {"API_KEY": "x"}}"#,
            r#"{"name": "a", "model_name": "m", "kwargs": {"t": 1.0}, "override_timeout_sec": 5}"#,
        ] {
            assert_ne!(digest(other), plain, "{other}");
        }
        let seeded =
            |seed: &str| identity(&format!(r#"{{"name": "a", "kwargs": {{"seed": {seed}}}}}"#), "1").agent;
        let (three, four) = (seeded("12345678901234567890123"), seeded("12345678901234567890124"));
        assert_ne!(three.digest, four.digest);
        assert!(three.configuration.contains("12345678901234567890123"), "{}", three.configuration);
        assert_ne!(
            identity(r#"{"name": "a"}"#, "1").agent.digest,
            identity(r#"{"name": "a"}"#, "2").agent.digest
        );
        assert_eq!(identity(r#"{"name": "a"}"#, "1").family, identity(r#"{"name": "a"}"#, "unknown").family);
    }

    #[test]
    fn what_another_harbor_writes_or_another_key_pays_for_is_the_same_agent() {
        let plain = digest(
            r#"{"name": "a", "kwargs": {"b": 1, "a": [{"d": 1, "c": null}]}, "env": {"API_KEY": "one"}}"#,
        );
        for same in [
            r#"{"env": {"API_KEY": "${API_KEY}"}, "kwargs": {"a": [{"c": null, "d": 1}], "b": 1}, "name": "a"}"#,
            r#"{"name": "a", "import_path": null, "skills": [], "skip_model_parsing": false, "n_concurrent": 4,
                "kwargs": {"b": 1, "a": [{"d": 1, "c": null}]}, "env": {"API_KEY": "[REDACTED]"}}"#,
        ] {
            assert_eq!(digest(same), plain, "{same}");
        }
        assert!(
            !identity(r#"{"name": "a", "env": {"API_KEY": "sesame"}}"#, "1")
                .agent
                .configuration
                .contains("sesame")
        );
    }

    #[test]
    fn what_no_harbor_ran_is_an_agent_by_its_description() {
        let one = described("sort", None, None, &serde_json::json!({"commit": "0a", "api_key": "sesame"}));
        assert_eq!(one.configuration, r#"{"api_key":"[REDACTED]","commit":"0a"}"#);
        assert_ne!(one.digest, described("sort", None, None, &serde_json::json!({"commit": "0b"})).digest);
    }

    #[test]
    fn labels_and_models_are_what_there_is() {
        let one = identity(r#"{"import_path": "pkg:Agent"}"#, "1").agent;
        assert_eq!((one.label.as_str(), one.model.as_deref()), ("pkg:Agent", Some("p/m")));
        let nested = format!(r#"{{"name": "a", "kwargs": {}{}}}"#, "[".repeat(5000), "]".repeat(5000));
        assert_ne!(digest(&nested), digest(r#"{"name": "a"}"#));
    }
}
