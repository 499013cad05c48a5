//! Agents: that each is one agent, gets what it can take, and holds no secret.

use taskwright_language::check::{self, Context, refuse_doubles};

use super::rules::{filled, positive};
use super::{connection, secrets};
use crate::model::{Agent, Experiment};

/// Arguments that a field of its own says.
const OWNED: [(&str, &str); 3] = [
    ("append_system_prompt", "system_prompt"),
    ("prompt_template_path", "prompt_template"),
    ("model_name", "model"),
];

pub fn check(context: &mut Context<'_, Experiment>) {
    let experiment = context.value();
    if experiment.agents.is_empty() {
        context.error(
            &["agents"],
            "there is no agent",
            "write `[[agents]]` and below it `name = \"oracle\"`",
        );
    }
    for (index, agent) in experiment.agents.iter().enumerate() {
        let number = index.to_string();
        one(context, &["agents", &number], agent);
        if let Some(first) = experiment.agents[..index].iter().position(|other| other == agent) {
            context.error_with(
                &["agents", &number],
                "the same agent stands here twice",
                "more trials of it are what `repetitions` is for",
                (&["agents", &first.to_string()], "first here"),
            );
        }
    }
}

/// That it is one agent: of Harbor's, or a class.
pub fn who(
    context: &mut Context<'_, Experiment>,
    table: &[&str],
    name: Option<&str>,
    import_path: Option<&str>,
) {
    let at = |key: &'static str| [table, &[key]].concat();
    match (name, import_path) {
        (None, None) => context.error(
            table,
            "the agent has neither a name nor a class",
            "write `name = \"oracle\"`, or `import_path = \"package.module:Class\"`",
        ),
        (Some(_), Some(_)) => context.error_with(
            &at("import_path"),
            "the agent has a name and a class",
            "take one of them out",
            (&at("name"), "the name"),
        ),
        (None, Some(class)) => {
            check::class_name(context, &at("import_path"), class, "the class is the package's own");
        }
        (Some(name), None) if name.contains(':') && !name.starts_with("acp:") => context.error(
            &at("name"),
            format!("`{}` is a class, not the name of an agent", name.escape_debug()),
            "write it as `import_path`",
        ),
        (Some(name), None) => {
            let good = |c: char| c.is_ascii_alphanumeric() || "-_:@./".contains(c);
            if name.is_empty() || !name.chars().all(good) {
                context.error(
                    &at("name"),
                    format!("`{}` cannot be the name of an agent", name.escape_debug()),
                    "`harbor run --help` lists them",
                );
            }
        }
    }
}

fn one(context: &mut Context<'_, Experiment>, table: &[&str; 2], agent: &Agent) {
    let [agents, index] = *table;
    let at = |key: &'static str| [agents, index, key];
    who(context, table, agent.name.as_deref(), agent.import_path.as_deref());
    if agent.package.is_some() && agent.import_path.is_none() {
        context.error(
            &at("package"),
            "one of Harbor's own agents needs no package",
            "name its class by `import_path`, or take it out",
        );
    }
    filled(context, &at("model"), agent.model.as_deref());
    connection::check(context, table, agent);
    prompts(context, &at, agent);
    for (key, value) in [
        ("timeout_sec", agent.timeout_sec),
        ("max_timeout_sec", agent.max_timeout_sec),
        ("setup_timeout_sec", agent.setup_timeout_sec),
    ] {
        positive(context, &at(key), value, "leave it out to give it what each task gives");
    }
    if let Some(concurrency) = agent.concurrency {
        check::at_least_one(context, &at("concurrency"), concurrency, "leave it out for no limit of its own");
        let most = context.value().compute.resource_limits.concurrency;
        if concurrency > most {
            context.error(
                &at("concurrency"),
                format!("{concurrency} of this agent's trials never run at a time: the whole experiment runs {most}"),
                "lower it, or raise `compute.resource_limits.concurrency`",
            );
        }
    }
    check::keyword_arguments(context, &at("args"), &agent.args);
    for (key, field) in OWNED {
        if agent.args.contains_key(key) {
            context.error_at_key(
                &[agents, index, "args", key],
                format!("`{key}` is said by a field of its own"),
                format!("write `{field} = ...` beside `args`"),
            );
        }
    }
    secrets::arguments(context, &at("args"), &agent.args);
    secrets::variables(context, table, &agent.secrets, &agent.env);
    refuse_doubles(context, &at("allowed_hosts"), &agent.allowed_hosts, "host");
}

fn prompts<'a>(
    context: &mut Context<'_, Experiment>,
    at: &impl Fn(&'static str) -> [&'a str; 3],
    agent: &Agent,
) {
    let name = agent.name.as_deref();
    if agent.system_prompt.is_some() && name.is_some_and(|name| name != "claude-code") {
        context.error(
            &at("system_prompt"),
            format!("Harbor has no way to give `{}` a system prompt", agent.label()),
            "write it as `prompt_template`, with `{{ instruction }}` where the task's instruction goes",
        );
    }
    if agent.prompt_template.is_some() && matches!(name, Some("oracle" | "nop")) {
        context.error(
            &at("prompt_template"),
            format!("`{}` reads no instruction", agent.label()),
            "take it out",
        );
    }
    if agent.system_prompt.is_some()
        && agent.import_path.is_some()
        && agent.args.contains_key("system_prompt")
    {
        context.error(
            &at("system_prompt"),
            "the argument `system_prompt` is said twice",
            "take it out of `args`",
        );
    }
}
