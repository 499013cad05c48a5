//! The variables of this machine that a lowered configuration takes secrets from: what nothing that is recorded may hold.

use std::collections::BTreeSet;

use serde_json::Value;
use taskwright_harbor::secret_names::is_sensitive;

/// Their names. A variable counts where it stands under its own name, as one that is listed in `secrets` does; where its name, or
/// the one that it stands under, promises a secret; and wherever it stands in a header, or in an argument of a server of tools.
pub fn secret(config: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    match serde_saphyr::from_str::<Value>(config) {
        Ok(config) => walk(&config, &Place::default(), &mut found),
        // Of a file that nobody can read anything may be one.
        Err(_) => found.extend(named(config).map(str::to_owned)),
    }
    found
}

/// Where a text stands.
#[derive(Debug, Clone, Copy, Default)]
struct Place<'a> {
    /// The nearest key above it.
    key: &'a str,
    is_in_servers: bool,
    /// In a part of a configuration that has room for words around a secret.
    is_secret: bool,
}

fn walk(value: &Value, place: &Place<'_>, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let counts = |name: &&str| {
                place.is_secret || place.key == *name || is_sensitive(place.key) || is_sensitive(name)
            };
            found.extend(named(text).filter(counts).map(str::to_owned));
        }
        Value::Array(list) => list.iter().for_each(|value| walk(value, place, found)),
        Value::Object(table) => {
            for (key, value) in table {
                let is_in_servers = place.is_in_servers || key == "mcp_servers";
                let is_open = is_in_servers && matches!(key.as_str(), "headers" | "args" | "command" | "url");
                walk(value, &Place { key, is_in_servers, is_secret: place.is_secret || is_open }, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The variables that a text names: `${NAME}`, or `${NAME:-default}` and its like, wherever in it.
pub fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split("${").skip(1).filter_map(|rest| {
        let end = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))?;
        let (name, after) = rest.split_at_checked(end)?;
        (!name.is_empty() && after.starts_with(['}', ':', '?', '-', '+'])).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(config: &str) -> Vec<String> {
        secret(config).into_iter().collect()
    }

    #[test]
    fn secrets_are_taken_from_variables_that_the_configuration_names() {
        let config = "agents:\n- env:\n    PLAIN_NAME: ${PLAIN_NAME}\n    A_TOKEN: \"${OTHER}\"\n    REGION: ${WHERE}\n    A_KEY: x\n";
        assert_eq!(of(config), ["OTHER", "PLAIN_NAME"]);
    }

    #[test]
    fn one_with_words_around_it_is_found() {
        let config = "\
agents:
- name: codex
  mcp_servers:
  - {name: a, url: 'https://x/${IN_URL}', headers: {Authorization: 'Bearer ${ONE}', X-From: '${TWO:-x} and ${THREE}'}}
  - {name: b, command: tool, args: ['--with', 'k=${FOUR}', '$FIVE', '${}', '${SIX']}
  kwargs: {headers: {X-Region: 'in ${SEVEN}'}}
";
        assert_eq!(of(config), ["FOUR", "IN_URL", "ONE", "THREE", "TWO"]);
    }

    #[test]
    fn in_a_file_that_cannot_be_read_all_count() {
        assert_eq!(of("agents: [\n env: {REGION: ${WHERE}\n"), ["WHERE"]);
    }
}
