//! Secrets and environment variables: that no credential reaches the optimizer or a candidate by another name.

use std::collections::BTreeMap;

use super::rules::refuse_doubles;
use super::{Context, is_env_name};
use taskwright_base::text::{nearest, one_of};

pub fn check(context: &mut Context<'_>) {
    let spec = context.spec;
    variable_names(context, &["secrets"], &spec.secrets, "secret");

    let mut secrets: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (index, name) in spec.secrets.iter().enumerate() {
        secrets.insert(name, vec!["secrets".to_owned(), index.to_string()]);
    }
    if let Some(gateway) = &spec.gateway {
        let place = vec!["gateway".to_owned(), "upstream_api_key_env".to_owned()];
        secrets.entry(&gateway.upstream_api_key_env).or_insert(place);
    }

    open(context, &secrets, &["agent_env"], &spec.agent_env, "the optimizer");
    open(context, &secrets, &["task", "environment", "env"], &spec.task.environment.env, "the optimizer");
    if let Some(scorer) = &spec.scorer {
        open(context, &secrets, &["scorer", "env"], &scorer.env, "the candidate");
    }
    if let Some(harbor) = &spec.harbor {
        agent(context, &secrets, &harbor.agent_env);
        environment_variables(context, &["harbor", "task_env"], &harbor.task_env);
        open(context, &secrets, &["harbor", "process_env"], &harbor.process_env, "the candidate");
    }
}

/// Variables of a container, or a process, that must hold no credential.
fn open(
    context: &mut Context<'_>,
    secrets: &BTreeMap<&str, Vec<String>>,
    table: &[&str],
    variables: &BTreeMap<String, String>,
    reader: &str,
) {
    for (name, value) in variables {
        let path: Vec<&str> = table.iter().copied().chain([name.as_str()]).collect();
        variable(context, &path, name, value);
        let named = secrets.get_key_value(name.as_str()).or_else(|| {
            secrets
                .iter()
                .find(|(secret, _)| value.contains(&format!("${{{secret}")) || *value == format!("${secret}"))
        });
        if let Some((secret, place)) = named {
            let place: Vec<&str> = place.iter().map(String::as_str).collect();
            context.error_with(
                &path,
                format!("the secret `{secret}` would reach {reader}"),
                "secrets reach the eval sidecar only; take it out here, or out of `secrets`",
                (&place, "a secret"),
            );
        }
    }
}

/// Reports what cannot name a variable of the machine that runs Harbor, in a list whose entries are called `what`.
pub fn variable_names<T>(context: &mut Context<'_, T>, path: &[&str], names: &[String], what: &str) {
    for (index, name) in names.iter().enumerate() {
        if !is_env_name(name) {
            let hint = if name.contains('=') {
                "name the variable only: its value is taken from the machine that runs Harbor"
            } else {
                "use letters, digits and `_`, and no digit first"
            };
            // What was written may be the secret itself, so it is not repeated.
            let index = index.to_string();
            let place = [path, &[index.as_str()]].concat();
            context.hide(&place);
            context.error(&place, "this is not the name of an environment variable", hint);
        }
    }
    refuse_doubles(context, path, names, what);
}

/// Reports a name or a value that no environment variable can have.
pub fn variable<T>(context: &mut Context<'_, T>, path: &[&str], name: &str, value: &str) {
    if !is_env_name(name) {
        context.error_at_key(
            path,
            format!("`{}` cannot be the name of an environment variable", name.escape_debug()),
            "use letters, digits and `_`, and no digit first",
        );
    }
    if value.contains('\0') {
        context.error(path, "an environment variable cannot hold a NUL character", "take it out");
    }
}

/// Reports what is wrong with variables of tasks' environments, which Harbor passes on as they stand.
pub fn environment_variables<T>(
    context: &mut Context<'_, T>,
    table: &[&str],
    variables: &BTreeMap<String, String>,
) {
    for (name, value) in variables {
        let path = [table, &[name.as_str()]].concat();
        variable(context, &path, name, value);
        if value.starts_with("${") && value.ends_with('}') {
            context.error(
                &path,
                "Harbor does not look into the variables of an environment: it would hold this text",
                format!(
                    "take it in the task's own task.toml: `[environment.env]` with `{name} = \"{value}\"`"
                ),
            );
        }
    }
}

/// Variables of the nested run's agent, whose values may name variables of the sidecar.
fn agent(
    context: &mut Context<'_>,
    secrets: &BTreeMap<&str, Vec<String>>,
    variables: &BTreeMap<String, String>,
) {
    let url = context.spec.gateway.as_ref().map(|gateway| gateway.upstream_base_url_env.as_str());
    for (name, value) in variables {
        let path = ["harbor", "agent_env", name.as_str()];
        variable(context, &path, name, value);
        let Some(wanted) = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else { continue };
        // `${NAME:-default}` has a value without the variable.
        if wanted.contains(":-") || secrets.contains_key(wanted) || url == Some(wanted) {
            continue;
        }
        let known: Vec<&str> = secrets.keys().copied().chain(url).collect();
        let hint = match nearest(wanted, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? the sidecar has {}", one_of(known)),
            None => format!("add `{wanted}` to `secrets`"),
        };
        context.error(&path, format!("the sidecar has no variable `{}`", wanted.escape_debug()), hint);
    }
}
