//! Harbor's own rules about values: what it would refuse when it loads a task, or silently not do.

mod artifacts;
mod environment;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{
    Agent, CollectHook, EnvironmentMode, MinReward, NetworkMode, Step, TaskToml, User, Verifier, host,
};
use crate::names;

/// Something wrong with a value, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Keys from the root to the value; an index stands for an element of a list.
    pub path: Vec<String>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path.join("."), self.message, self.hint)
    }
}

/// Problems found so far, and the path of the value being looked at.
#[derive(Default)]
struct Checker {
    path: Vec<String>,
    problems: Vec<Problem>,
}

impl Checker {
    fn within(&mut self, key: impl Into<String>, check: impl FnOnce(&mut Self)) {
        self.path.push(key.into());
        check(self);
        self.path.pop();
    }

    fn each<T>(&mut self, key: &str, items: &[T], mut check: impl FnMut(&mut Self, &T)) {
        self.within(key, |c| {
            for (index, item) in items.iter().enumerate() {
                c.within(index.to_string(), |c| check(c, item));
            }
        });
    }

    fn problem(&mut self, key: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) {
        let mut path = self.path.clone();
        path.push(key.into());
        self.problems.push(Problem { path, message: message.into(), hint: hint.into() });
    }

    /// A problem of the value that is being looked at, rather than of one of its keys.
    fn problem_here(&mut self, message: impl Into<String>, hint: impl Into<String>) {
        self.problems.push(Problem { path: self.path.clone(), message: message.into(), hint: hint.into() });
    }

    fn duration(&mut self, key: &str, seconds: Option<f64>) {
        if let Some(seconds) = seconds
            && !(seconds.is_finite() && seconds > 0.0)
        {
            self.problem(
                key,
                format!("`{key}` is {seconds}, which is no length of time"),
                "give a number of seconds greater than zero, or leave the key out",
            );
        }
    }

    fn count(&mut self, key: &str, value: Option<u64>, least: u64) {
        if let Some(value) = value
            && (value < least || i64::try_from(value).is_err())
        {
            self.problem(
                key,
                format!("`{key}` is {value}"),
                format!("give a whole number from {least} to {}", i64::MAX),
            );
        }
    }

    fn user(&mut self, user: Option<&User>) {
        match user {
            Some(User::Name(name)) if name.is_empty() || name.contains(['\0', '\n', ':']) => self.problem(
                "user",
                format!("`{}` is no user name", name.escape_debug()),
                "give the name of a user that exists in the image, or its numeric id",
            ),
            Some(User::Id(id)) => self.count("user", Some(*id), 0),
            _ => {}
        }
    }

    fn service(&mut self, service: Option<&str>) {
        let Some(service) = service else { return };
        let mut chars = service.chars();
        let well_formed = chars.next().is_some_and(|c| c.is_ascii_alphanumeric())
            && chars.all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        if !well_formed {
            self.problem(
                "service",
                format!("`{}` cannot name a compose service", service.escape_debug()),
                "start with a letter or digit and go on with letters, digits, `_`, `.` and `-`",
            );
        }
    }

    fn env(&mut self, env: &BTreeMap<String, String>) {
        self.within("env", |c| {
            for (name, value) in env {
                if !names::is_variable_name(name) {
                    c.problem(
                        name,
                        format!("`{}` cannot name an environment variable", name.escape_debug()),
                        "use letters, digits and `_`, and do not start with a digit",
                    );
                }
                if value.contains('\0') {
                    c.problem(
                        name,
                        format!("the value of `{}` contains a NUL character", name.escape_debug()),
                        "no environment variable can hold one: encode the value",
                    );
                }
            }
        });
    }

    /// `inherited` says whether a policy that is absent means that of another table, or `public`.
    fn network(&mut self, mode: Option<NetworkMode>, hosts: Option<&[String]>, inherited: bool) {
        let Some(hosts) = hosts else { return };
        let refused = match mode {
            Some(NetworkMode::Allowlist) => false,
            None if inherited => true,
            _ => !hosts.is_empty(),
        };
        if refused {
            self.problem(
                "allowed_hosts",
                "`allowed_hosts` has no meaning without an allowlist",
                "set `network_mode = \"allowlist\"` beside it, or remove it",
            );
        }
        self.each("allowed_hosts", hosts, |c, entry| {
            if let Err(reason) = host::check(entry) {
                c.problem_here(
                    format!("`{}` is not an allowed host: {reason}", entry.escape_debug()),
                    "write a host name, `*.` and a host name, an IP address, or a range such as `192.0.2.0/24`",
                );
            }
        });
    }
}

pub(super) fn task_toml(task: &TaskToml) -> Vec<Problem> {
    let mut checker = Checker::default();
    let c = &mut checker;
    if let Some(package) = &task.task {
        c.within("task", |c| {
            if let Err(error) = names::check_task_name(&package.name) {
                c.problem("name", error.to_string(), "write `org/name`, such as `acme/sorting`");
            }
            if package.version.as_ref().is_some_and(String::is_empty) {
                c.problem(
                    "version",
                    "`version` is empty",
                    "give a version such as `1.0.0`, or leave the key out",
                );
            }
        });
    }
    c.within("agent", |c| agent(c, &task.agent));
    c.within("verifier", |c| verifier(c, &task.verifier));
    c.within("environment", |c| environment::check(c, &task.environment));
    c.within("solution", |c| c.env(&task.solution.env));
    steps(c, &task.steps);
    if task.multi_step_reward_strategy.is_some() && task.steps.is_empty() {
        c.problem(
            "multi_step_reward_strategy",
            "the task has no steps whose rewards could be combined",
            "declare `[[steps]]`, or remove the key",
        );
    }
    artifacts::check(c, task);
    checker.problems
}

fn agent(c: &mut Checker, agent: &Agent) {
    c.duration("timeout_sec", agent.timeout_sec);
    c.user(agent.user.as_ref());
    c.network(agent.network_mode, agent.allowed_hosts.as_deref(), true);
}

fn verifier(c: &mut Checker, verifier: &Verifier) {
    c.duration("timeout_sec", verifier.timeout_sec);
    c.user(verifier.user.as_ref());
    c.network(verifier.network_mode, verifier.allowed_hosts.as_deref(), true);
    c.env(&verifier.env);
    c.each("collect", &verifier.collect, collect_hook);
    if let Some(table) = &verifier.environment {
        if verifier.environment_mode == Some(EnvironmentMode::Shared) {
            c.problem(
                "environment",
                "a shared verifier has no environment of its own",
                "remove `[verifier.environment]`, or set `environment_mode = \"separate\"`",
            );
        }
        c.within("environment", |c| environment::check(c, table));
    }
}

fn collect_hook(c: &mut Checker, hook: &CollectHook) {
    if hook.command.trim().is_empty() {
        c.problem("command", "`command` is empty", "say what to run in the service");
    }
    c.service(hook.service.as_deref());
    c.duration("timeout_sec", hook.timeout_sec);
    c.user(hook.user.as_ref());
}

fn steps(c: &mut Checker, steps: &[Step]) {
    let mut seen = BTreeSet::new();
    c.each("steps", steps, |c, step| {
        if let Err(error) = names::check_step_name(&step.name) {
            c.problem("name", error.to_string(), "name it like a folder that every system can hold");
        }
        if !seen.insert(step.name.to_lowercase()) {
            c.problem(
                "name",
                format!("another step is called `{}`, give or take upper case", step.name.escape_debug()),
                "give each step a name of its own",
            );
        }
        if let Some(least) = &step.min_reward {
            min_reward(c, least);
        }
        c.within("agent", |c| agent(c, &step.agent));
        c.within("verifier", |c| verifier(c, &step.verifier));
        if let Some(healthcheck) = &step.healthcheck {
            c.within("healthcheck", |c| environment::healthcheck(c, healthcheck));
        }
    });
}

fn min_reward(c: &mut Checker, least: &MinReward) {
    let hint = "give a finite number";
    match least {
        MinReward::Reward(value) if !value.is_finite() => {
            c.problem("min_reward", format!("{value} is no reward"), hint);
        }
        MinReward::Reward(_) => {}
        MinReward::PerKey(keys) => c.within("min_reward", |c| {
            for (key, value) in keys.iter().filter(|(_, value)| !value.is_finite()) {
                c.problem(key, format!("{value} is no reward"), hint);
            }
        }),
    }
}
