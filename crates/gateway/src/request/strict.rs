//! Objects that two readers could understand differently are refused: a field that stands there twice, or whose name differs from a
//! known one only in upper and lower case. The gateway and the upstream must read the same body in the same way.

use taskwright_base::text::brief;

use crate::fields::Fields;
use crate::wire::refusal::{Kind, Refusal};

/// What names another model, another upstream or another key, past the allow-list.
pub const PASSING_BY: [&str; 14] = [
    "models",
    "fallbacks",
    "fallback_models",
    "context_window_fallbacks",
    "content_policy_fallbacks",
    "model_list",
    "user_config",
    "litellm_params",
    "extra_body",
    "custom_llm_provider",
    "api_base",
    "base_url",
    "api_key",
    "api_version",
];

/// What makes the upstream reach for something.
pub const REACHING: [&str; 5] =
    ["web_search_options", "mcp_servers", "container", "plugins", "search_parameters"];

/// What the gateway reads.
const READ: [&str; 16] = [
    "model",
    "stream",
    "stream_options",
    "include_usage",
    "n",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "background",
    "generationConfig",
    "generation_config",
    "candidateCount",
    "candidate_count",
    "maxOutputTokens",
    "tools",
    "type",
];

/// A name as the least strict readers see it: Go's take any case, and two letters that look like others.
fn folded(name: &str) -> String {
    name.chars()
        .map(|letter| match letter {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            _ => letter.to_ascii_lowercase(),
        })
        .collect()
}

/// The fields of an object that every reader understands alike.
pub fn strict<'a>(text: &'a str, what: &str) -> Result<Fields<'a>, Refusal> {
    let fields = Fields::of(text).map_err(|error| {
        let why = brief(&error.to_string(), 200);
        Refusal::new(Kind::Bad, format!("{what} is not a JSON object: {why}"))
    })?;
    let mut names: Vec<&str> = fields.0.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Refusal::new(Kind::Bad, format!("`{}` stands in {what} twice", brief(twice[0], 100))));
    }
    for name in names {
        let plain = folded(name);
        let like = PASSING_BY
            .iter()
            .chain(&READ)
            .chain(&REACHING)
            .find(|known| folded(known) == plain && **known != name);
        if let Some(known) = like {
            return Err(Refusal::new(
                Kind::Bad,
                format!("`{}` could be read as `{known}`: write it so", brief(name, 100)),
            ));
        }
    }
    Ok(fields)
}
