//! That no secret stands in a manifest: variables are named, and what looks like a credential is refused as a value.

use std::collections::BTreeMap;

use serde_json::Value;
use taskwright_spec::check::{Context, is_env_name, refuse_doubles};

use crate::model::Experiment;

/// Whether a name promises a credential: Harbor's own rule, by which it hides values.
pub fn is_sensitive(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let token = name.match_indices("TOKEN").any(|(at, word)| !name[at + word.len()..].starts_with('S'));
    token || ["KEY", "SECRET", "PASSWORD", "CREDENTIAL", "AUTH"].iter().any(|word| name.contains(word))
}

/// The variable that a value is taken from: `${NAME}`.
fn template(value: &str) -> Option<&str> {
    value.strip_prefix("${")?.strip_suffix('}').filter(|name| is_env_name(name))
}

/// Variables of one container: `secrets` and `env` of the table at `table`.
pub fn variables(
    context: &mut Context<'_, Experiment>,
    table: &[&str],
    secrets: &[String],
    env: &BTreeMap<String, String>,
) {
    let path = [table, &["secrets"]].concat();
    for (index, name) in secrets.iter().enumerate() {
        if !is_env_name(name) {
            let hint = if name.contains('=') {
                "name the variable only: its value is taken from the machine that runs Harbor"
            } else {
                "use letters, digits and `_`, and no digit first"
            };
            // What was written may be the secret itself, so it is not repeated.
            let index = index.to_string();
            let place = [path.as_slice(), &[index.as_str()]].concat();
            context.error(&place, "this is not the name of an environment variable", hint);
        }
    }
    refuse_doubles(context, &path, secrets, "variable");
    for (name, value) in env {
        let place = [table, &["env", name.as_str()]].concat();
        if !is_env_name(name) {
            context.error_at_key(
                &place,
                format!("`{}` cannot be the name of an environment variable", name.escape_debug()),
                "use letters, digits and `_`, and no digit first",
            );
        }
        if let Some(index) = secrets.iter().position(|secret| secret == name) {
            let index = index.to_string();
            let first = [path.as_slice(), &[index.as_str()]].concat();
            context.error_with(
                &place,
                format!("`{name}` has a value here and is taken from the machine as well"),
                "take one of them out",
                (&first, "taken from the machine"),
            );
        }
        if value.contains('\0') {
            context.error(&place, "an environment variable cannot hold a NUL character", "take it out");
        }
        if is_sensitive(name) && !value.is_empty() && template(value).is_none() {
            context.error(
                &place,
                format!("a value of `{name}` stands in the file"),
                format!(
                    "a manifest is committed: name it in `secrets` and set it where Harbor runs, or write \
                     `{name} = \"$${{OTHER_NAME}}\"`"
                ),
            );
        } else if value.contains("${") && template(value).is_none() {
            context.error(
                &place,
                "only a value that is nothing but `${NAME}` is taken from the machine",
                "Harbor passes anything else on as it stands",
            );
        }
    }
}

/// Arguments of a class, which Harbor writes into files as they are.
pub fn arguments(context: &mut Context<'_, Experiment>, table: &[&str], arguments: &BTreeMap<String, Value>) {
    for (key, value) in arguments {
        let mut path: Vec<String> = table.iter().map(|&step| step.to_owned()).collect();
        path.push(key.clone());
        argument(context, &mut path, key, value);
    }
}

fn argument(context: &mut Context<'_, Experiment>, path: &mut Vec<String>, key: &str, value: &Value) {
    match value {
        Value::Object(inner) => {
            for (key, value) in inner {
                path.push(key.clone());
                argument(context, path, key, value);
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(index.to_string());
                argument(context, path, key, item);
                path.pop();
            }
        }
        // Numbers and switches are no credentials: `max_output_tokens`, `use_auth`.
        Value::String(text) if is_sensitive(key) && !text.is_empty() => {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            context.error(
                &path,
                format!("a value of `{}` stands in the file", key.escape_debug()),
                "Harbor keeps arguments as they are; give credentials as environment variables, by `secrets`",
            );
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_promise_a_credential() {
        for name in ["OPENAI_API_KEY", "my_token", "Password", "AWS_SECRET", "authorization", "TOKENS_TOKEN"]
        {
            assert!(is_sensitive(name), "{name}");
        }
        for name in ["MAX_OUTPUT_TOKENS", "LOG_LEVEL", "MODEL", ""] {
            assert!(!is_sensitive(name), "{name}");
        }
    }

    #[test]
    fn values_that_are_taken_from_the_machine() {
        assert_eq!(template("${A_1}"), Some("A_1"));
        for text in ["$A", "${}", "${A:-sk-1}", "x${A}", "${A}y", "${1}"] {
            assert_eq!(template(text), None, "{text}");
        }
    }
}
