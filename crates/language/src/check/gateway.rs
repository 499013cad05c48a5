//! The way to a language model: that every model named is one that may be asked for, and the reports to W&B.

use super::{Context, is_env_name};
use crate::model::{
    CLIENT_KEYS, Gateway, GatewayScope, MOST_DOLLARS, Mode, ModelPrice, WandbMode, lone_finalization,
    without_price,
};
use taskwright_base::text::{nearest, one_of};

pub fn check(context: &mut Context<'_>) {
    wandb(context);
    let spec = context.spec;
    let Some(gateway) = &spec.gateway else { return };
    users(context, gateway);
    let scopes: Vec<_> = gateway.scopes().collect();
    rules(context, gateway, &scopes);
    if let Some(index) = spec.secrets.iter().position(|name| *name == gateway.upstream_api_key_env) {
        context.error_with(
            &["secrets", &index.to_string()],
            "the gateway alone holds the upstream's key, and secrets reach the eval sidecar",
            "take it out: candidates find the gateway's address and a token under the same names",
            (&["gateway", "upstream_api_key_env"], "the key"),
        );
    }
    own_keys(context, gateway);
    candidate_model(context, gateway);
}

/// What must hold of a gateway, whoever its users are: each of them with the key that it stands under in `[gateway]`.
pub fn rules<T>(context: &mut Context<'_, T>, gateway: &Gateway, scopes: &[(&str, &GatewayScope)]) {
    for (key, name) in [
        ("upstream_api_key_env", &gateway.upstream_api_key_env),
        ("upstream_base_url_env", &gateway.upstream_base_url_env),
    ] {
        if !is_env_name(name) {
            context.hide(&["gateway", key]);
            context.error(
                &["gateway", key],
                "this is not the name of an environment variable",
                "name the variable only: its value is taken from the machine that runs Harbor",
            );
        }
    }
    for &(name, scope) in scopes {
        scope_rules(context, name, scope);
        money(context, gateway, name, scope);
    }
    for (model, price) in &gateway.prices {
        let ModelPrice { input, cached_input, cache_write, output } = *price;
        let all = [Some(input), cached_input, cache_write, Some(output)];
        if all.into_iter().flatten().any(|price| !(0.0..=MOST_DOLLARS).contains(&price)) {
            context.error(
                &["gateway", "prices", model],
                "a price is a number of US dollars for a million tokens, from 0 to a million",
                "write it like `{ input = 0.25, output = 2.0 }`",
            );
        }
    }
    aliases(context, gateway, scopes);
}

fn wandb(context: &mut Context<'_>) {
    let spec = context.spec;
    let Some(wandb) = &spec.wandb else { return };
    if wandb.project.trim().is_empty() {
        context.error(
            &["wandb", "project"],
            "`project` is empty",
            "name the project, or leave `[wandb]` out",
        );
    }
    match (spec.mode, wandb.mode) {
        (_, WandbMode::Disabled) => {}
        (Mode::A, _) => context.error(
            &["wandb"],
            "`[wandb]` asks for reports, and the eval sidecar of Mode A makes none",
            "write `mode = \"disabled\"` in it, or leave it out: the evidence holds everything that would be reported",
        ),
        (Mode::B, _) => context.warning(
            &["wandb"],
            "`[wandb]` is declared and passed on; this version does not report there itself",
            "the evidence holds everything that would be reported",
        ),
    }
}

/// Who may ask for anything at all.
fn users(context: &mut Context<'_>, gateway: &Gateway) {
    if gateway.producer.is_none() && gateway.evaluation.is_none() {
        context.error(
            &["gateway"],
            "`[gateway]` says nothing of what anybody may use",
            "add `[gateway.evaluation]` for candidates, `[gateway.producer]` for the optimizer, or leave it out",
        );
    }
    let has_run = context.spec.scorer.as_ref().is_none_or(|scorer| !scorer.run.is_empty());
    if context.spec.mode == Mode::A && gateway.evaluation.is_some() && !has_run {
        // Believed, it would be worse than nothing.
        context.error(
            &["gateway", "evaluation"],
            "the scorer runs the candidate itself, which has no way to a language model then",
            "give the candidate a command of its own, `scorer.run`; or leave this out: `[gateway.producer]` is the optimizer's",
        );
    }
    if let Some(why) = lone_finalization(gateway.finalization.as_ref(), gateway.evaluation.as_ref()) {
        context.error(&["gateway", "finalization"], why, "add `[gateway.evaluation]`");
    }
}

/// Keys that a spec keeps for itself, under names at which candidates' clients would look for the gateway's.
fn own_keys(context: &mut Context<'_>, gateway: &Gateway) {
    // No secret reaches the sandbox of Mode A.
    if gateway.evaluation.is_none() || context.spec.mode == Mode::A {
        return;
    }
    for (index, name) in context.spec.secrets.iter().enumerate() {
        if CLIENT_KEYS.contains(&name.as_str()) && *name != gateway.upstream_api_key_env {
            context.warning(
                &["secrets", &index.to_string()],
                format!("candidates' clients that look for `{name}` find this secret, and the gateway's address"),
                "take it out, unless something that is no candidate's needs it: they find a token under this name then",
            );
        }
    }
}

/// Whether a budget of money can be kept.
fn money<T>(context: &mut Context<'_, T>, gateway: &Gateway, name: &str, scope: &GatewayScope) {
    let Some(most) = scope.max_cost else { return };
    if !(most > 0.0 && most <= MOST_DOLLARS) {
        context.error(
            &["gateway", name, "max_cost"],
            "this is no amount of money that can be spent",
            "write a number of US dollars above 0, or leave it out",
        );
    }
    let upstream = |model| gateway.upstream_model(scope, model);
    let is_priced = |model: &str| gateway.prices.contains_key(model);
    let unknown = without_price(&scope.allowed_models, upstream, is_priced);
    if !unknown.is_empty() {
        context.error_with(
            &["gateway", name, "max_cost"],
            format!("`max_cost` cannot be kept without a price of {}", one_of(unknown)),
            "add it to `[gateway.prices]`, in US dollars for a million tokens",
            (&["gateway", name, "allowed_models"], "the allow-list"),
        );
    }
}

fn scope_rules<T>(context: &mut Context<'_, T>, name: &str, scope: &GatewayScope) {
    if scope.allowed_models.is_empty() {
        context.error(&["gateway", name, "allowed_models"], "no model may be asked for", "name at least one");
    }
    for (index, model) in scope.allowed_models.iter().enumerate() {
        if model.trim() != model || model.is_empty() {
            context.error(
                &["gateway", name, "allowed_models", &index.to_string()],
                format!("`{}` cannot be the name of a model", model.escape_debug()),
                "write it as the upstream calls it",
            );
        }
    }
    super::rules::refuse_doubles(
        context,
        &["gateway", name, "allowed_models"],
        &scope.allowed_models,
        "model",
    );
    let limits = [
        ("max_requests", scope.max_requests),
        ("max_tokens", scope.max_tokens),
        ("max_concurrency", scope.max_concurrency),
    ];
    for (key, limit) in limits {
        if limit.at_most() == Some(0) {
            context.error(
                &["gateway", name, key],
                format!("`{key}` of 0 allows nothing"),
                "raise it, or write \"unlimited\"",
            );
        }
    }
}

/// Whether a scope lets a model through: allow-lists speak of models as their clients call them, aliases included.
fn admits(scope: &GatewayScope, model: &str) -> bool {
    scope.allowed_models.iter().any(|allowed| allowed == model)
}

fn aliases<T>(context: &mut Context<'_, T>, gateway: &Gateway, scopes: &[(&str, &GatewayScope)]) {
    for (alias, model) in &gateway.model_aliases {
        let is_admitted = scopes.iter().any(|(_, scope)| admits(scope, alias));
        alias_rules(context, &["gateway", "model_aliases", alias], alias, model, is_admitted);
    }
    for &(name, scope) in scopes {
        for (alias, model) in &scope.model_aliases {
            let place = ["gateway", name, "model_aliases", alias];
            alias_rules(context, &place, alias, model, admits(scope, alias));
        }
    }
}

fn alias_rules<T>(context: &mut Context<'_, T>, place: &[&str], alias: &str, model: &str, is_admitted: bool) {
    if model.trim().is_empty() || alias.trim().is_empty() {
        context.error(place, "an alias needs a name and a model", "write `\"name\" = \"model\"`");
    } else if !is_admitted {
        // A list may get it from a parameter, in another build.
        context.warning(
            place,
            format!("nobody may ask for `{alias}`: no allow-list names it"),
            "allow-lists name models as clients do, so add the alias to the `allowed_models` of those who may ask for it",
        );
    }
}

fn candidate_model(context: &mut Context<'_>, gateway: &Gateway) {
    let Some(model) = context.spec.harbor.as_ref().map(|harbor| harbor.model.as_str()) else { return };
    if model == "none" {
        return;
    }
    if gateway.evaluation.is_none() {
        context.error_with(
            &["harbor", "model"],
            format!("candidates may ask no model: `[gateway]` says nothing of `{model}` for them"),
            "add `[gateway.evaluation]`",
            (&["gateway"], "the gateway"),
        );
    }
    for (name, scope) in gateway.scopes().filter(|(name, _)| *name != "producer") {
        if !admits(scope, model) {
            let allowed = scope.allowed_models.iter().map(String::as_str);
            let hint = match nearest(model, allowed.clone()) {
                Some(near) => format!("did you mean `{near}`? `gateway.{name}` admits {}", one_of(allowed)),
                None => format!("`gateway.{name}` admits {}", one_of(allowed)),
            };
            context.error_with(
                &["harbor", "model"],
                format!("`{model}` is a model that no allow-list of `gateway.{name}` admits"),
                hint,
                (&["gateway", name, "allowed_models"], "the allow-list"),
            );
        }
    }
}
