//! The way to language models, and the reports to W&B.

use taskwright_base::Result;
use taskwright_language::model::Mode;
use toml::{Table, Value as Toml};

use crate::kind::Kind;
use crate::mapping::{At, Mapping, Rule};
use crate::notes::List;
use crate::yaml::{Map, Value};

const GATEWAY: &[Rule] = &[
    Rule::field("upstream_api_key_env", Kind::Text, ".", "upstream_api_key_env"),
    Rule::by("upstream_base_url_env", address),
    Rule::not(
        "default_upstream_base_url",
        "the address comes from the variable alone, so that has to have a value",
    ),
    Rule::field("request_log_attribution", Kind::Flag, ".", "request_log_attribution"),
    Rule::not("log_requests", "what is logged is not chosen by the spec"),
    Rule::not("request_log_body_bytes", "what is logged is not chosen by the spec"),
    Rule::by("producer", scope),
    Rule::by("evaluation", candidates),
    Rule::by("finalization", finalization),
];

const SCOPE: &[Rule] = &[
    Rule::field("allowed_models", Kind::Texts, ".", "allowed_models"),
    Rule::field("max_requests", Kind::Limit, ".", "max_requests"),
    Rule::field("max_tokens", Kind::Limit, ".", "max_tokens"),
    Rule::field("max_concurrency", Kind::Count, ".", "max_concurrency").absent("8"),
    Rule::by("model_aliases", aliases),
    // Nothing says it there: such tools pass.
    Rule::field("hosted_tools", Kind::Flag, ".", "hosted_tools").absent("true"),
];

const WANDB: &[Rule] = &[
    Rule::field("project", Kind::Text, ".", "project"),
    Rule::field("group", Kind::Text, ".", "group"),
    Rule::field("name", Kind::Text, ".", "name"),
    Rule::field("tags", Kind::Texts, ".", "tags"),
    Rule::field("mode", Kind::Text, ".", "mode"),
    Rule::field("log_traces", Kind::Flag, ".", "log_traces"),
    Rule::not("entity", "the account's own is reported to"),
    Rule::not("notes", "a run has no note"),
    Rule::not("run_id", "every trial is a run of its own"),
];

/// `inference_gateway`.
pub fn gateway(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    if entry.node.value == Value::Null {
        return Ok(());
    }
    let map = mapping.map(entry)?;
    mapping.draft.comment("gateway", &entry.comments);
    mapping.apply(GATEWAY, map, "gateway")
}

fn address(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    if entry.node.value == Value::Null {
        mapping
            .lose(entry, "the address always comes from a variable: OPENAI_BASE_URL, if no other is named");
        return Ok(());
    }
    let value = mapping.value(entry, Kind::Text)?;
    mapping.note(
        List::Changed,
        entry,
        format!("{value} has to have a value; there an address stands in where it has none"),
    );
    mapping.draft.set(at.table, "upstream_base_url_env", value, &entry.comments);
    Ok(())
}

/// What one user may use.
fn scope(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let map = mapping.map(entry)?;
    let table = format!("{}.{}", at.table, entry.key);
    mapping.draft.comment(&table, &entry.comments);
    mapping.apply(SCOPE, map, &table)
}

/// What candidates may use: nothing where a program scores them, which gets no token there.
fn candidates(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    match at.entry {
        Some(entry) if mapping.mode == Mode::A => {
            mapping.lose(
                entry,
                "a program that scores gets no token there: a table `gateway.evaluation` would give candidates one here",
            );
            Ok(())
        }
        _ => scope(mapping, at),
    }
}

/// Without one of its own, the end has a budget as large as that of `evaluation`; here it would have what is left of it.
fn finalization(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    if at.entry.is_some_and(|entry| entry.node.value != Value::Null) {
        return candidates(mapping, at);
    }
    if mapping.mode == Mode::A {
        return Ok(());
    }
    let Some(evaluation) = at.map.get("evaluation") else { return Ok(()) };
    let map: Map = mapping.map(evaluation)?.clone();
    mapping.apply(SCOPE, &map, "gateway.finalization")
}

/// Other names for models, of one user.
fn aliases(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    let mut all = Table::new();
    let mut comments = entry.comments.clone();
    for alias in &mapping.map(entry)?.0 {
        let model = mapping.value(alias, Kind::Text)?;
        comments.extend_from_slice(&alias.comments);
        let allowed = mapping.draft.get(at.table, "allowed_models").and_then(Toml::as_array);
        let is_allowed =
            allowed.is_some_and(|models| models.iter().any(|name| name.as_str() == Some(alias.key.as_str())));
        if !is_allowed {
            mapping.note(
                List::ToDecide,
                alias,
                format!("`{}` is in no allow-list before a parameter puts it there", alias.key),
            );
        }
        all.insert(alias.key.clone(), model);
    }
    mapping.draft.set(at.table, "model_aliases", Toml::Table(all), &comments);
    Ok(())
}

/// `task_services_use_upstream`.
pub fn services(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    if mapping.value(entry, Kind::Flag)? == Toml::Boolean(true) {
        mapping.lose(
            entry,
            "an inner task takes what Harbor finds in its own task.toml: the gateway's address and a token, not the upstream's",
        );
    }
    Ok(())
}

/// `wandb`.
pub fn wandb(mapping: &mut Mapping, at: At<'_>) -> Result<()> {
    let Some(entry) = at.entry else { return Ok(()) };
    if entry.node.value == Value::Null {
        return Ok(());
    }
    if mapping.mode == Mode::A {
        mapping.lose(
            entry,
            "where a scorer of our own scores nothing reports to W&B: the evidence holds it all",
        );
        return Ok(());
    }
    let map = mapping.map(entry)?;
    mapping.draft.comment("wandb", &entry.comments);
    mapping.apply(WANDB, map, "wandb")
}
