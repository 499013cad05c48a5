//! The models that a scope may ask for: whether one is among them, and the list in each dialect's shape.

use serde_json::{Value, json};
use taskwright_base::text::{brief, nearest, one_of};

use crate::config::ScopeConfig;
use crate::wire::Dialect;
use crate::wire::refusal::{Kind, Refusal};

/// Whether a scope may ask for a model. The name must be the one on the list, to the letter.
pub fn admit(limits: &ScopeConfig, model: &str) -> Result<(), Refusal> {
    let allowed = &limits.allowed_models;
    if allowed.iter().any(|name| name == model) {
        return Ok(());
    }
    let meant = match meant(allowed, model) {
        Some(meant) => format!("; did you mean `{meant}`?"),
        None => String::new(),
    };
    let names = one_of(allowed.iter().map(String::as_str));
    let message = format!("the model `{}` may not be asked for here, but {names}{meant}", brief(model, 100));
    Err(Refusal::new(Kind::Denied, message))
}

/// The model that a client most likely means: one whose name has a provider before it that this one lacks, or the other way
/// round, or the nearest.
fn meant<'a>(allowed: &'a [String], model: &str) -> Option<&'a str> {
    let bare = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let same = allowed.iter().find(|name| bare(name) == bare(model)).map(String::as_str);
    same.or_else(|| nearest(text_of(model), allowed.iter().map(String::as_str)))
}

/// As much of a name as a typing mistake is looked for in.
fn text_of(model: &str) -> &str {
    taskwright_base::text::cut(model, 200)
}

/// The list, in a dialect.
pub fn list(limits: &ScopeConfig, dialect: Dialect) -> Value {
    let models: Vec<Value> = limits.allowed_models.iter().map(|model| one(model, dialect)).collect();
    match dialect {
        Dialect::OpenAi => json!({ "object": "list", "data": models }),
        Dialect::Anthropic => json!({
            "data": models,
            "has_more": false,
            "first_id": limits.allowed_models.first(),
            "last_id": limits.allowed_models.last(),
        }),
        Dialect::Gemini => json!({ "models": models }),
    }
}

/// One of them, in a dialect.
pub fn one(model: &str, dialect: Dialect) -> Value {
    match dialect {
        Dialect::OpenAi => json!({ "id": model, "object": "model", "created": 0, "owned_by": "taskwright" }),
        Dialect::Anthropic => json!({
            "type": "model",
            "id": model,
            "display_name": model,
            "created_at": "1970-01-01T00:00:00Z",
        }),
        Dialect::Gemini => json!({
            "name": format!("models/{model}"),
            "displayName": model,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }),
    }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn a_model_is_allowed_to_the_letter_and_a_likely_one_is_named() {
        let limits: ScopeConfig =
            serde_json::from_value(json!({ "allowed_models": ["openai/gpt-5-mini", "claude-haiku-4-5"] }))
                .unwrap();
        let said = |model| admit(&limits, model).map_err(|refusal| refusal.message);
        assert_eq!(said("openai/gpt-5-mini"), Ok(()));
        for (model, meant) in [
            ("gpt-5-mini", "openai/gpt-5-mini"),
            ("openai/openai/gpt-5-mini", "openai/gpt-5-mini"),
            ("anthropic/claude-haiku-4-5", "claude-haiku-4-5"),
            ("claude-haiku-4.5", "claude-haiku-4-5"),
        ] {
            let message = said(model).unwrap_err();
            assert!(message.ends_with(&format!("did you mean `{meant}`?")), "{message}");
        }
        assert_eq!(
            said("OPENAI/x\n").unwrap_err(),
            "the model `OPENAI/x\\n` may not be asked for here, but `openai/gpt-5-mini` or `claude-haiku-4-5`"
        );
        assert!(said(" openai/gpt-5-mini").is_err() && said("").is_err());
    }
}
