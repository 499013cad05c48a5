//! Where agents ask their models, and which servers of tools they have.

use taskwright_harbor::credentials::is_sensitive_header;
use taskwright_language::check::{Context, is_env_name, refuse_doubles};

use super::rules::filled;
use crate::model::{Agent, Experiment, McpServer};

pub fn check(context: &mut Context<'_, Experiment>, table: &[&str; 2], agent: &Agent) {
    let [agents, index] = *table;
    if let Some(url) = &agent.base_url {
        address(context, &[agents, index, "base_url"], url);
    }
    if agent.api_key_name.as_deref().is_some_and(|name| !is_env_name(name)) {
        let place = [agents, index, "api_key_name"];
        context.hide(&place);
        context.error(
            &place,
            "this is not the name of an environment variable",
            "name the variable only: its value is taken from the machine that runs Harbor",
        );
    }
    if agent.skip_model_parsing && agent.model.is_none() {
        context.error(
            &[agents, index, "skip_model_parsing"],
            "there is no model whose name could reach the agent as it is",
            "write `model`, or take it out",
        );
    }
    let names: Vec<String> = agent.mcp_servers.iter().map(|server| server.name().to_owned()).collect();
    refuse_doubles(context, &[agents, index, "mcp_servers"], &names, "server");
    for (number, server) in agent.mcp_servers.iter().enumerate() {
        self::server(context, &[agents, index, "mcp_servers", &number.to_string()], server);
    }
}

fn server(context: &mut Context<'_, Experiment>, table: &[&str], server: &McpServer) {
    filled(context, &[table, &["name"]].concat(), Some(server.name()));
    match server {
        McpServer::Started(server) => {
            filled(context, &[table, &["command"]].concat(), Some(&server.command));
        }
        McpServer::Remote(server) => {
            address(context, &[table, &["url"]].concat(), &server.url);
            for (name, value) in &server.headers {
                let place = [table, &["headers", name.as_str()]].concat();
                if is_sensitive_header(name) && !value.contains("${") {
                    context.hide(&place);
                    context.error(
                        &place,
                        format!("a value of `{}` stands in the file", name.escape_debug()),
                        "a manifest is committed: name the variable that has it, `Bearer $${NAME}`",
                    );
                }
            }
        }
    }
}

/// Reports what is no address of a server, or has a credential in it.
pub fn address(context: &mut Context<'_, Experiment>, place: &[&str], url: &str) {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    if host.contains('@') {
        context.hide(place);
        context.error(
            place,
            "a credential stands in the address",
            "take it out: Harbor keeps addresses as they are",
        );
    } else if host.is_empty() || url.contains(char::is_whitespace) {
        context.error(
            place,
            format!("`{}` is not an address", url.escape_debug()),
            "write it as `https://host/path`, or with `http://`",
        );
    }
}
