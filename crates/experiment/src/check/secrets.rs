//! That no secret stands in a manifest: variables are named, and what looks like a credential is refused as a value.

use std::collections::BTreeMap;

use serde_json::Value;
use taskwright_harbor::secret_names::is_sensitive;
use taskwright_language::check::{self, Context, is_env_name};

use crate::model::Experiment;

/// The variable that a value is taken from: `${NAME}`.
pub fn template(value: &str) -> Option<&str> {
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
    check::variable_names(context, &path, secrets, "variable");
    for (name, value) in env {
        let place = [table, &["env", name.as_str()]].concat();
        check::variable(context, &place, name, value);
        if let Some(index) = secrets.iter().position(|secret| secret == name) {
            let index = index.to_string();
            let first = [path.as_slice(), &[index.as_str()]].concat();
            context.hide(&place);
            context.error_with(
                &place,
                format!("`{name}` has a value here and is taken from the machine as well"),
                "take one of them out",
                (&first, "taken from the machine"),
            );
        }
        if is_sensitive(name) && !value.is_empty() && template(value).is_none() {
            context.hide(&place);
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

/// Variables of the tasks' environments, whose values Harbor passes on as they stand.
pub fn literal(context: &mut Context<'_, Experiment>, table: &[&str], env: &BTreeMap<String, String>) {
    check::environment_variables(context, table, env);
    for (name, value) in env.iter().filter(|(name, value)| is_sensitive(name) && !value.is_empty()) {
        if template(value).is_none() {
            let place = [table, &[name.as_str()]].concat();
            context.hide(&place);
            context.error(
                &place,
                format!("a value of `{name}` stands in the file"),
                format!(
                    "take it in the task's own task.toml: `[environment.env]` with `{name} = \"${{{name}}}\"`"
                ),
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
            context.hide(&path);
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
    fn values_that_are_taken_from_the_machine() {
        assert_eq!(template("${A_1}"), Some("A_1"));
        for text in ["$A", "${}", "${A:-sk-1}", "x${A}", "${A}y", "${1}"] {
            assert_eq!(template(text), None, "{text}");
        }
    }
}
