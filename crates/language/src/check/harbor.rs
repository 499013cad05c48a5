//! Mode B: the source of the inner tasks, the candidate's agent, and how the nested run is set up.

use std::collections::BTreeMap;

use taskwright_harbor::{HARBOR_VERSION, Release, tried};

use super::rules::at_least_one;
use super::{Context, args};
use crate::model::{HarborRun, InnerDocker, RunAs, TaskSource};
use taskwright_base::text::nearest;

/// The environments that Harbor 0.26 knows by name.
const ENVIRONMENTS: [&str; 38] = [
    "aca-sandbox",
    "ack",
    "apple-container",
    "beam",
    "blaxel",
    "boxd",
    "cua-cloud",
    "cwsandbox",
    "daytona",
    "docker",
    "e2b",
    "ec2",
    "gke",
    "hf-sandbox",
    "hyperbrowser",
    "islo",
    "kata",
    "kernel",
    "langsmith",
    "modal",
    "mosaic",
    "novita",
    "opensandbox",
    "openshift",
    "podman",
    "prime",
    "runloop",
    "runta",
    "sail",
    "sbx",
    "singularity",
    "skypilot",
    "smol",
    "snowflake",
    "superserve",
    "tensorlake",
    "use-computer",
    "vercel",
];

pub fn check(context: &mut Context<'_>) {
    let Some(harbor) = &context.spec.harbor else { return };
    if let TaskSource::Registry(registry) = &harbor.source {
        let (version, digest) = (registry.version.as_deref(), registry.digest.as_deref());
        self::registry(context, &["harbor", "source"], &registry.registry, version, digest);
    }
    candidate(context, harbor);
    environment(context, harbor);
    retries(context, harbor);
    for (table, arguments) in
        [("agent_args", &harbor.agent_args), ("environment_args", &harbor.environment_args)]
    {
        keyword_arguments(context, &["harbor", table], arguments);
    }
    args::check(context, harbor);
    if harbor.reward_key.as_ref().is_some_and(|key| key.trim().is_empty()) {
        context.error(
            &["harbor", "reward_key"],
            "`reward_key` is empty",
            "name a key of the inner reward.json, or leave it out",
        );
    }
}

/// Reports what is wrong with a registry's tasks, which are written in the table at `table`.
pub fn registry<T>(
    context: &mut Context<'_, T>,
    table: &[&str],
    name: &str,
    version: Option<&str>,
    digest: Option<&str>,
) {
    let path = [table, &["registry"]].concat();
    let folder = context.sources.get(context.tree.place(&path).file).folder();
    let there = !name.is_empty() && context.root.join(folder).join(name).exists();
    let like_path = name.starts_with(['.', '/', '~'])
        || name.contains("../")
        || name.ends_with('/')
        || name.contains('\\');
    if like_path || there {
        let exists = if there { "" } else { " and does not exist" };
        context.error(
            &path,
            format!("`{}` looks like a path{exists}", name.escape_debug()),
            "tasks on this machine are named by `path = \"...\"`",
        );
        return;
    }
    if let Some((bare, pin)) = name.split_once('@') {
        let key = if pin.starts_with("sha256:") { "digest" } else { "version" };
        context.error(
            &path,
            format!("`{}` holds a pin", name.escape_debug()),
            format!("write `registry = \"{bare}\"` and `{key} = \"{pin}\"`"),
        );
        return;
    }
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    if !(name.split('/').count() <= 2 && name.split('/').all(is_part)) {
        context.error(
            &path,
            format!("`{}` cannot be the name of a dataset", name.escape_debug()),
            "write `name`, or `organization/name`",
        );
    }
    match (version, digest) {
        (None, None) => context.error(
            table,
            "the dataset is not pinned",
            "add `version = \"...\"` or `digest = \"sha256:...\"`, so that the same file means the same tasks next year",
        ),
        (Some(version), _) if version.trim().is_empty() || version.contains(char::is_whitespace) => {
            context.error(&[table, &["version"]].concat(), "this is not a version", "for example \"1.0\"");
        }
        _ => {}
    }
    if let Some(digest) = digest {
        let hex = digest.strip_prefix("sha256:").unwrap_or_default();
        if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
            context.error(
                &[table, &["digest"]].concat(),
                format!("`{}` is not a digest", digest.escape_debug()),
                "write `sha256:` and 64 hexadecimal digits in small letters",
            );
        }
    }
}

/// Reports a text that is not `package.module:Class`.
pub fn class_name<T>(context: &mut Context<'_, T>, path: &[&str], name: &str, whose: &str) {
    let identifier = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    if name
        .split_once(':')
        .is_some_and(|(module, class)| module.split('.').all(identifier) && identifier(class))
    {
        return;
    }
    let hint = match name.rsplit_once('.') {
        Some((module, class)) if !name.contains(':') => format!("did you mean `{module}:{class}`?"),
        _ => format!("write `package.module:Class`; {whose}"),
    };
    context.error(path, format!("`{}` does not name a class", name.escape_debug()), hint);
}

fn candidate(context: &mut Context<'_>, harbor: &HarborRun) {
    class_name(context, &["harbor", "agent"], &harbor.agent, "the class is the candidate's own");
    let numbers: Vec<&str> = harbor.version.split('.').collect();
    if numbers.len() != 3 || !numbers.iter().all(|number| is_number(number)) {
        context.error(
            &["harbor", "version"],
            format!("`{}` does not pin a version of Harbor", harbor.version.escape_debug()),
            format!("write three numbers and nothing else: \"{HARBOR_VERSION}\""),
        );
    } else if Release::of(&harbor.version).is_none() {
        context.warning(
            &["harbor", "version"],
            format!("Taskwright was tried with Harbor {}, not with {}", tried(), harbor.version),
            "other releases name flags, files and fields differently",
        );
    }
    let numbers: Vec<&str> = harbor.python.split('.').collect();
    if !(2..=3).contains(&numbers.len()) || !numbers.iter().all(|number| is_number(number)) {
        context.error(
            &["harbor", "python"],
            format!("`{}` is not a version of Python", harbor.python.escape_debug()),
            "for example \"3.13\"",
        );
    }
    extras(context, &["harbor", "extras"], &harbor.extras);
    if harbor.model.trim() != harbor.model || harbor.model.is_empty() {
        context.error(
            &["harbor", "model"],
            "the model has no proper name",
            "\"none\" gives the agent no model",
        );
    }
    if harbor.run_as == RunAs::Root {
        context.sidecar_warning(
            &["harbor", "run_as"],
            "the candidate runs as root beside the held-out data",
            "use it only for candidates that you trust, and that cannot do without",
        );
    }
}

/// Reports what cannot be an optional part of Harbor's package.
pub fn extras<T>(context: &mut Context<'_, T>, path: &[&str], extras: &[String]) {
    for (index, extra) in extras.iter().enumerate() {
        if extra.is_empty() || !extra.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)) {
            context.error(
                &[path, &[index.to_string().as_str()]].concat(),
                format!("`{}` cannot be an optional part of a package", extra.escape_debug()),
                "for example \"modal\"",
            );
        }
    }
    super::rules::refuse_doubles(context, path, extras, "part");
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reports a name that is neither an environment of Harbor's nor a class.
pub fn environment_name<T>(context: &mut Context<'_, T>, path: &[&str], name: &str) {
    if ENVIRONMENTS.contains(&name) || name.contains(':') {
        return;
    }
    let hint = match nearest(name, ENVIRONMENTS) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "for example \"docker\" or \"modal\"; one of your own is written `package.module:Class`"
            .to_owned(),
    };
    context.error(
        path,
        format!("Harbor {HARBOR_VERSION} knows no environment `{}`", name.escape_debug()),
        hint,
    );
}

fn environment(context: &mut Context<'_>, harbor: &HarborRun) {
    let name = harbor.environment.as_str();
    environment_name(context, &["harbor", "environment"], name);
    match harbor.inner_docker {
        InnerDocker::HostSocket if name != "docker" => context.error(
            &["harbor", "inner_docker"],
            format!("the environment `{}` does not use Docker", name.escape_debug()),
            "leave it out, or write `environment = \"docker\"`",
        ),
        InnerDocker::HostSocket => context.sidecar_warning(
            &["harbor", "inner_docker"],
            "whoever controls the eval sidecar controls the host, through its Docker socket",
            "use it on machines that hold nothing else; a cloud environment needs no socket",
        ),
        // Who has written it knows.
        InnerDocker::Off if name == "docker" && !context.is_written(&["harbor", "inner_docker"]) => context
            .sidecar_warning(
                &["harbor", "environment"],
                "inside the eval sidecar there is no Docker, so this task cannot evaluate there",
                "write `inner_docker = \"host-socket\"`, or name a cloud environment; `inner_docker = \"off\"` says that it \
                 is evaluated with `cargo xtask eval` alone",
            ),
        InnerDocker::Off => {}
    }
}

fn retries(context: &mut Context<'_>, harbor: &HarborRun) {
    at_least_one(context, &["harbor", "attempts"], harbor.attempts, "1 tries each inner task once");
    for (key, value) in
        [("retry_min_wait_sec", harbor.retry_min_wait_sec), ("retry_max_wait_sec", harbor.retry_max_wait_sec)]
    {
        if value < 0.0 {
            context.error(
                &["harbor", key],
                format!("`{key}` must not be negative"),
                "it is a number of seconds",
            );
        }
    }
    if harbor.retry_max_wait_sec < harbor.retry_min_wait_sec && harbor.retry_max_wait_sec >= 0.0 {
        let key = if context.is_written(&["harbor", "retry_max_wait_sec"]) {
            "retry_max_wait_sec"
        } else {
            "retry_min_wait_sec"
        };
        context.error(
            &["harbor", key],
            format!(
                "the most seconds before a retry ({}) are fewer than the first ({})",
                harbor.retry_max_wait_sec, harbor.retry_min_wait_sec
            ),
            "raise `retry_max_wait_sec`, or lower `retry_min_wait_sec`",
        );
    }
    if harbor.agent_timeout_sec.is_some_and(|seconds| seconds <= 0.0) {
        context.error(
            &["harbor", "agent_timeout_sec"],
            "`agent_timeout_sec` must be greater than 0",
            "leave it out to give the agent what the inner task says",
        );
    }
    let factors = [
        ("retry_wait_multiplier", Some(harbor.retry_wait_multiplier)),
        ("timeout_multiplier", Some(harbor.timeout_multiplier)),
        ("agent_timeout_multiplier", harbor.agent_timeout_multiplier),
        ("agent_setup_timeout_multiplier", harbor.agent_setup_timeout_multiplier),
        ("environment_build_timeout_multiplier", harbor.environment_build_timeout_multiplier),
        ("verifier_timeout_multiplier", harbor.verifier_timeout_multiplier),
    ];
    for (key, value) in factors {
        if value.is_some_and(|value| value <= 0.0) {
            context.error(&["harbor", key], format!("`{key}` must be greater than 0"), "1 changes nothing");
        }
    }
    exceptions(
        context,
        (&["harbor", "retry_include"], &harbor.retry_include),
        (&["harbor", "retry_exclude"], &harbor.retry_exclude),
    );
}

/// Reports what is wrong with the exceptions that are tried again and those that are not, each list with its place.
pub fn exceptions<T>(
    context: &mut Context<'_, T>,
    include: (&[&str], &[String]),
    exclude: (&[&str], &[String]),
) {
    for (path, names) in [include, exclude] {
        for (index, name) in names.iter().enumerate() {
            let identifier = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
            if !identifier || name.starts_with(|c: char| c.is_ascii_digit()) {
                context.error(
                    &[path, &[index.to_string().as_str()]].concat(),
                    format!("`{}` cannot be the type of an exception", name.escape_debug()),
                    "write the class's bare name, for example \"AgentTimeoutError\"",
                );
            }
        }
        super::rules::refuse_doubles(context, path, names, "exception");
    }
    for (index, name) in exclude.1.iter().enumerate() {
        if let Some(first) = include.1.iter().position(|included| included == name) {
            context.error_with(
                &[exclude.0, &[index.to_string().as_str()]].concat(),
                format!("`{name}` is tried again and is not"),
                "take it out of one of the two",
                (&[include.0, &[first.to_string().as_str()]].concat(), "included here"),
            );
        }
    }
}

/// Names of arguments that reach a class of Harbor's by keyword.
pub fn keyword_arguments<T>(
    context: &mut Context<'_, T>,
    table: &[&str],
    arguments: &BTreeMap<String, serde_json::Value>,
) {
    for key in arguments.keys() {
        let identifier = key.chars().all(|c| c.is_alphanumeric() || c == '_');
        if key.is_empty() || !identifier || key.starts_with(|c: char| c.is_ascii_digit()) {
            context.error_at_key(
                &[table, &[key.as_str()]].concat(),
                format!("`{}` cannot be the name of an argument", key.escape_debug()),
                "use letters, digits and `_`, and no digit first",
            );
        }
    }
}
