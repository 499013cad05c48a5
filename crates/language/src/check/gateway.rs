//! The way to a language model: that every model named is one that may be asked for, and the reports to W&B.

use super::{Context, is_env_name};
use crate::model::{Gateway, GatewayScope, Mode, WandbMode};
use taskwright_base::text::{nearest, one_of};

pub fn check(context: &mut Context<'_>) {
    let spec = context.spec;
    if let Some(wandb) = &spec.wandb {
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
    let Some(gateway) = &spec.gateway else { return };
    match spec.mode {
        // Believed, it would be worse than nothing: candidates would have a network, and nobody would count or refuse.
        Mode::A => context.error(
            &["gateway"],
            "`[gateway]` asks for a metered way to a language model, and the eval sidecar of Mode A has none",
            "leave it out: candidates of Mode A run without a network",
        ),
        Mode::B => context.sidecar_warning(
            &["gateway"],
            "inside the eval sidecar no gateway runs yet: `[gateway]` is declared and passed on there",
            "`eval` on this machine starts one for its candidates; in a trial requests are neither metered nor refused",
        ),
    }
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
    let mut scopes = vec![("producer", &gateway.producer), ("evaluation", &gateway.evaluation)];
    scopes.extend(gateway.finalization.as_ref().map(|scope| ("finalization", scope)));
    for (name, scope) in &scopes {
        scope_rules(context, name, scope);
    }
    aliases(context, gateway, &scopes);
    candidate_model(context, gateway);
}

fn scope_rules(context: &mut Context<'_>, name: &str, scope: &GatewayScope) {
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

fn aliases(context: &mut Context<'_>, gateway: &Gateway, scopes: &[(&str, &GatewayScope)]) {
    for (alias, model) in &gateway.model_aliases {
        if model.trim().is_empty() || alias.trim().is_empty() {
            context.error(
                &["gateway", "model_aliases", alias],
                "an alias needs a name and a model",
                "write `\"name\" = \"model\"`",
            );
        } else if !scopes.iter().any(|(_, scope)| admits(scope, alias)) {
            // A list may get it from a parameter, in another build.
            context.warning(
                &["gateway", "model_aliases", alias],
                format!("nobody may ask for `{alias}`: no allow-list names it"),
                "allow-lists name models as clients do, so add the alias to the `allowed_models` of those who may ask for it",
            );
        }
    }
}

fn candidate_model(context: &mut Context<'_>, gateway: &Gateway) {
    let Some(model) = context.spec.harbor.as_ref().map(|harbor| harbor.model.as_str()) else { return };
    if model == "none" {
        return;
    }
    let mut scopes = vec![("evaluation", &gateway.evaluation)];
    scopes.extend(gateway.finalization.as_ref().map(|scope| ("finalization", scope)));
    for (name, scope) in scopes {
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
