//! Sources of tasks: that each can name something, and names it for good.

use camino::{Utf8Component, Utf8Path};
use taskwright_language::check::{self, Context, at_least_one, refuse_doubles};
use taskwright_language::pattern::Pattern;

use super::rules::filled;
use crate::model::{Experiment, GitTasks, RegistryTasks, TaskSet};

pub fn check(context: &mut Context<'_, Experiment>) {
    let experiment = context.value();
    if experiment.tasks.is_empty() {
        context.error(
            &["tasks"],
            "there is no task",
            "write `[[tasks]]` and below it `built = [\"...\"]`, `path = \"...\"`, `registry = \"...\"` or \
             `git = \"...\"`",
        );
    }
    for (index, set) in experiment.tasks.iter().enumerate() {
        let index = index.to_string();
        match set {
            TaskSet::Built(built) => {
                if built.built.is_empty() {
                    context.error(
                        &["tasks", &index, "built"],
                        "no task is named",
                        "[\"*\"] names every task of this workspace",
                    );
                }
                names(context, &["tasks", &index, "built"], &built.built);
                names(context, &["tasks", &index, "exclude"], &built.exclude);
            }
            TaskSet::Local(local) => {
                names(context, &["tasks", &index, "include"], &local.include);
                names(context, &["tasks", &index, "exclude"], &local.exclude);
            }
            TaskSet::Registry(tasks) => registry(context, &index, tasks),
            TaskSet::Git(tasks) => git(context, &index, tasks),
        }
    }
}

fn names(context: &mut Context<'_, Experiment>, path: &[&str], patterns: &[String]) {
    for (index, pattern) in patterns.iter().enumerate() {
        let index = index.to_string();
        let place = [path, &[index.as_str()]].concat();
        if pattern.is_empty() {
            context.error(&place, "an empty pattern matches nothing", "take it out");
        } else if let Err(problem) = Pattern::new(pattern) {
            context.error(&place, format!("not a pattern: {problem}"), "`*` is anything, `?` one character");
        }
    }
    refuse_doubles(context, path, patterns, "pattern");
}

fn git(context: &mut Context<'_, Experiment>, index: &str, tasks: &GitTasks) {
    let host = tasks.git.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default());
    if host.split_once('@').is_some_and(|(user, _)| user.contains(':')) {
        let place = ["tasks", index, "git"];
        context.hide(&place);
        context.error(
            &place,
            "a password stands in the address",
            "take it out, and let git ask its own helper",
        );
    }
    filled(context, &["tasks", index, "git"], Some(&tasks.git));
    if tasks.commit.len() != 40 || !tasks.commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        context.error(
            &["tasks", index, "commit"],
            format!("`{}` is not a commit, so the tasks are not pinned", tasks.commit.escape_debug()),
            "write its 40 digits: `git rev-parse HEAD` prints them",
        );
    }
    if tasks.paths.is_empty() {
        context.error(&["tasks", index, "paths"], "no task is named", "name their folders in the repository");
    }
    for (at, path) in tasks.paths.iter().enumerate() {
        let path = Utf8Path::new(path);
        let is_inside = path.components().all(|part| matches!(part, Utf8Component::Normal(_)));
        if path.as_str().is_empty() || !is_inside {
            let place = ["tasks", index, "paths", &at.to_string()].map(str::to_owned);
            context.error(
                &place.each_ref().map(String::as_str),
                format!("`{}` is no folder of the repository", path.as_str().escape_debug()),
                "write it from the repository's root, without `.` and `..`",
            );
        }
    }
    refuse_doubles(context, &["tasks", index, "paths"], &tasks.paths, "folder");
}

fn registry(context: &mut Context<'_, Experiment>, index: &str, tasks: &RegistryTasks) {
    let table = ["tasks", index];
    let (version, digest) = (tasks.version.as_deref(), tasks.digest.as_deref());
    check::registry(context, &table, &tasks.registry, version, digest);
    let is_package = tasks.registry.contains('/');
    if version.is_some() && digest.is_some() {
        context.error_with(
            &[table[0], index, "digest"],
            "the dataset is pinned twice",
            "take one of them out: Harbor takes one",
            (&[table[0], index, "version"], "pinned here"),
        );
    } else if digest.is_some() && !is_package {
        context.error(
            &[table[0], index, "digest"],
            "only packages of the hub, named `org/name`, have digests",
            "pin it by `version`",
        );
    }
    for key in ["registry_path", "registry_url"] {
        if is_package && context.is_written(&[table[0], index, key]) {
            context.error(
                &[table[0], index, key],
                format!("`{key}` means nothing for a package of the hub"),
                "take it out, or name a dataset without `/`",
            );
        }
    }
    if tasks.registry_path.is_some() && tasks.registry_url.is_some() {
        context.error_with(
            &[table[0], index, "registry_url"],
            "there are two registries",
            "take one of them out",
            (&[table[0], index, "registry_path"], "the other one"),
        );
    }
    if let Some(limit) = tasks.limit {
        at_least_one(context, &[table[0], index, "limit"], limit, "leave it out to take them all");
    }
    for (key, patterns) in [("include", &tasks.include), ("exclude", &tasks.exclude)] {
        for (at, pattern) in patterns.iter().enumerate() {
            let place = [table[0], index, key, &at.to_string()].map(str::to_owned);
            let place: Vec<&str> = place.iter().map(String::as_str).collect();
            if pattern.is_empty() {
                context.error(&place, "an empty pattern matches nothing", "take it out");
            } else if pattern.contains(['{', '}', '\\']) {
                context.error(
                    &place,
                    "Harbor reads this pattern, and knows no alternatives and no escapes",
                    "write each alternative as a pattern of its own; `[*]` is the character itself",
                );
            }
        }
        refuse_doubles(context, &[table[0], index, key], patterns, "pattern");
    }
}
