//! The gateway: that trials can reach it, that nobody goes around it, and that its key is nobody else's.

use std::collections::BTreeMap;

use taskwright_base::text::one_of;
use taskwright_gateway::clients;
use taskwright_harbor::{HARBOR_VERSION, Release};
use taskwright_language::check::{Context, gateway_rules};

use super::secrets::template;
use crate::model::{Agent, Experiment, Gateway};

pub fn check(context: &mut Context<'_, Experiment>) {
    let experiment = context.value();
    let Some(gateway) = &experiment.gateway else { return };
    gateway_rules(context, &gateway.as_of_spec(), &[("agents", &gateway.agents)]);
    reach(context);
    release(context);
    for (index, agent) in experiment.agents.iter().enumerate() {
        let index = index.to_string();
        variables(context, gateway, &["agents", &index], &agent.secrets, &agent.env);
        models(context, gateway, &index, agent);
        connection(context, gateway, &index, agent);
    }
    let verification = &experiment.verification;
    variables(context, gateway, &["verification"], &verification.secrets, &verification.env);
}

/// Whether trials can reach a gateway of this machine.
fn reach(context: &mut Context<'_, Experiment>) {
    let backend = &context.value().compute.backend;
    if backend == "docker" {
        return;
    }
    context.error_with(
        &["compute", "backend"],
        format!(
            "trials on `{}` cannot reach the gateway, which listens on this machine",
            backend.escape_debug()
        ),
        "run them on `docker`, or leave `[gateway]` out and give the agents a key of their own by `secrets`",
        (&["gateway"], "the gateway"),
    );
}

/// Whether the named Harbor says where its agents ask.
fn release(context: &mut Context<'_, Experiment>) {
    let version = context.value().harbor.version.as_deref();
    if version.and_then(Release::of).is_some_and(|release| !release.says_endpoints) {
        context.error_with(
            &["harbor", "version"],
            "this Harbor does not say where its agents ask language models, so that none is known to use the gateway",
            format!("name Harbor {HARBOR_VERSION}, or leave `version` out"),
            (&["gateway"], "the gateway"),
        );
    }
}

/// That none of the variables is the gateway's to set, and none is given the upstream's key.
fn variables(
    context: &mut Context<'_, Experiment>,
    gateway: &Gateway,
    table: &[&str],
    secrets: &[String],
    env: &BTreeMap<String, String>,
) {
    let Gateway { upstream_api_key_env: key, upstream_base_url_env: address, .. } = gateway;
    let is_set = |name: &str| clients::names(address, key).any(|set| set == name);
    let second = (&["gateway"][..], "the gateway");
    for (index, name) in secrets.iter().enumerate() {
        let index = index.to_string();
        let place = [table, &["secrets", &index]].concat();
        if is_set(name) {
            let message = format!(
                "`{name}` is the gateway's to set: it holds a token of the gateway's, or its address"
            );
            context.error_with(&place, message, "take it out: agents find it as it is", second);
        }
    }
    for (name, value) in env {
        let place = [table, &["env", name.as_str()]].concat();
        let taken = template(value);
        if taken.is_some_and(is_set) {
            let message = "the upstream's key is the gateway's alone, and agents find its token as it is";
            context.error_with(&place, message, "take it out", second);
        } else if is_set(name) && table[0] == "agents" {
            let message = format!("`{name}` is the gateway's to set, and another value would go around it");
            context.error_with(&place, message, "take it out", second);
        }
    }
}

/// That an agent is not told to ask elsewhere, or with another key.
fn connection(context: &mut Context<'_, Experiment>, gateway: &Gateway, index: &str, agent: &Agent) {
    let second = (&["gateway"][..], "the gateway");
    if agent.base_url.is_some() {
        let message = "the agent would ask there, and not the gateway";
        context.error_with(
            &["agents", index, "base_url"],
            message,
            "take it out: it finds the gateway's address",
            second,
        );
    }
    let Gateway { upstream_api_key_env: key, upstream_base_url_env: address, .. } = gateway;
    if agent.api_key_name.as_ref().is_some_and(|name| !clients::names(address, key).any(|set| set == name)) {
        let message = "this variable does not hold the gateway's token";
        context.error_with(&["agents", index, "api_key_name"], message, "`OPENAI_API_KEY` does", second);
    }
}

/// That the agent's model is one that may be asked for. Clients leave out the provider before it, or a part of that.
fn models(context: &mut Context<'_, Experiment>, gateway: &Gateway, index: &str, agent: &Agent) {
    let Some(model) = &agent.model else { return };
    let mut names = std::iter::successors(Some(model.as_str()), |name| Some(name.split_once('/')?.1));
    if !names.any(|name| gateway.agents.allowed_models.iter().any(|allowed| allowed == name)) {
        let allowed = one_of(gateway.agents.allowed_models.iter().map(String::as_str));
        context.warning(
            &["agents", index, "model"],
            format!("`{}` is no model that the gateway lets through", model.escape_debug()),
            format!("`gateway.agents.allowed_models` has {allowed}; name it there as the upstream calls it, or an alias"),
        );
    }
}
