//! Rules about `[environment]` and the tables below it.

use super::Checker;
use crate::credentials::is_sensitive_header;
use crate::names::is_variable_name;
use crate::task_toml::{Environment, Healthcheck, McpServer, McpTransport, Tpu};

pub(super) fn check(c: &mut Checker, environment: &Environment) {
    c.duration("build_timeout_sec", environment.build_timeout_sec);
    if let Some(cpus) = environment.cpus
        && !(cpus.is_finite() && cpus > 0.0)
    {
        c.problem(
            "cpus",
            format!("`cpus` is {cpus}"),
            "give a number greater than zero, or leave the key out",
        );
    }
    c.count("memory_mb", environment.memory_mb, 1);
    c.count("storage_mb", environment.storage_mb, 1);
    c.count("gpus", environment.gpus, 0);
    if let Some(tpu) = &environment.tpu {
        c.within("tpu", |c| check_tpu(c, tpu));
    }
    c.network(environment.network_mode, environment.allowed_hosts.as_deref(), false);
    c.env(&environment.env);
    if let Some(table) = &environment.healthcheck {
        c.within("healthcheck", |c| healthcheck(c, table));
    }
    c.each("mcp_servers", &environment.mcp_servers, mcp_server);
}

pub(super) fn healthcheck(c: &mut Checker, healthcheck: &Healthcheck) {
    if healthcheck.command.trim().is_empty() {
        c.problem("command", "`command` is empty", "say what tells that the container is ready");
    }
    c.duration("interval_sec", healthcheck.interval_sec);
    c.duration("timeout_sec", healthcheck.timeout_sec);
    if let Some(seconds) = healthcheck.start_period_sec
        && !(seconds.is_finite() && seconds >= 0.0)
    {
        c.problem(
            "start_period_sec",
            format!("`start_period_sec` is {seconds}, which is no length of time"),
            "give a number of seconds, or leave the key out",
        );
    }
    c.duration("start_interval_sec", healthcheck.start_interval_sec);
    c.count("retries", healthcheck.retries, 1);
}

fn check_tpu(c: &mut Checker, tpu: &Tpu) {
    if tpu.kind.is_empty() {
        c.problem("type", "`type` is empty", "name the TPU's type, such as `v6e`");
    }
    let mut dimensions = 0;
    let well_formed = tpu.topology.trim().split('x').all(|dimension| {
        dimensions += 1;
        !dimension.starts_with('0') && !dimension.is_empty() && dimension.bytes().all(|b| b.is_ascii_digit())
    });
    if !well_formed || dimensions < 2 {
        c.problem(
            "topology",
            format!("`{}` is no topology", tpu.topology.escape_debug()),
            "write two or more dimensions with `x` between them, such as `2x4`",
        );
    }
}

fn mcp_server(c: &mut Checker, server: &McpServer) {
    let is_given = |value: &Option<String>| value.as_ref().is_some_and(|text| !text.is_empty());
    match server.transport.unwrap_or_default() {
        McpTransport::Stdio => {
            if !is_given(&server.command) {
                c.problem("command", "a server on standard input needs a command", "say how to start it");
            }
            if !server.headers.is_empty() {
                c.problem(
                    "headers",
                    "a server on standard input takes no HTTP headers",
                    "remove them, or choose another `transport`",
                );
            }
        }
        McpTransport::Sse | McpTransport::StreamableHttp => {
            if !is_given(&server.url) {
                c.problem(
                    "url",
                    "a server that is reached over HTTP needs an address",
                    "give its `url`, or set `transport = \"stdio\"` and a `command`",
                );
            }
        }
    }
    c.within("headers", |c| {
        for (name, value) in &server.headers {
            header(c, name, value);
        }
    });
}

fn header(c: &mut Checker, name: &str, value: &str) {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+.^_`|~-".contains(&b);
    if name.is_empty() || !name.bytes().all(is_token) {
        c.problem(
            name,
            format!("`{}` cannot name an HTTP header", name.escape_debug()),
            "use letters, digits and `-`",
        );
    }
    if value.contains(['\r', '\n']) {
        c.problem(name, "an HTTP header cannot hold a line break", "write the value on one line");
    }
    if is_sensitive_header(name) && !value.trim().is_empty() && !is_reference(value.trim()) {
        c.problem(
            name,
            "a credential would be written into the task",
            "name the variable that holds it, without a default, as in `Bearer ${TOKEN}`",
        );
    }
}

/// Whether a header's value is `${VAR}` references only, after an optional scheme such as `Bearer`.
fn is_reference(value: &str) -> bool {
    let mut rest = match value.split_once(char::is_whitespace) {
        Some((scheme, rest)) if !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphabetic()) => {
            rest.trim_start()
        }
        _ => value,
    };
    while let Some((name, after)) = rest.strip_prefix("${").and_then(|text| text.split_once('}')) {
        if !is_variable_name(name.strip_suffix(":-").unwrap_or(name)) {
            return false;
        }
        rest = after.trim_start_matches(|c: char| c.is_whitespace() || c == ':' || c == '-');
        if rest.is_empty() {
            return true;
        }
    }
    false
}
