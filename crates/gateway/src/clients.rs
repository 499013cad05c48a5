//! The names under which clients of language models look for an address and a key.

use crate::token::Token;

/// For an address, and whether that ends in `/v1`. The last is that of the public reference's agents.
const ADDRESSES: [(&str, bool); 7] = [
    ("OPENAI_BASE_URL", true),
    ("OPENAI_API_BASE", true),
    ("ANTHROPIC_BASE_URL", false),
    ("GOOGLE_GEMINI_BASE_URL", false),
    ("GEMINI_API_BASE", false),
    ("LLM_BASE_URL", true),
    ("VERO_AGENT_INFERENCE_BASE_URL", true),
];
/// For a key.
const KEYS: [&str; 5] =
    ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "LLM_API_KEY", "VERO_AGENT_INFERENCE_API_KEY"];

/// All of these names, and the two that a spec has.
pub fn names<'a>(address: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    [address, key].into_iter().chain(ADDRESSES.map(|(name, _)| name)).chain(KEYS)
}

/// Whether one of these names is the gateway's to set: not where it is a secret that a spec names for something else.
pub fn is_free(name: &str, secrets: &[String], address: &str, key: &str) -> bool {
    name == address || name == key || !secrets.iter().any(|secret| secret == name)
}

/// What clients find in their environment: a door, `host:port`, and a token, under every name that they look for, and under the two
/// that a spec names.
pub fn variables<'a>(door: &str, token: &Token, address: &'a str, key: &'a str) -> Vec<(&'a str, String)> {
    let root = format!("http://{door}");
    let base = format!("{root}/v1");
    let mut variables: Vec<(&str, String)> = vec![(address, base.clone()), (key, token.show().to_owned())];
    variables.extend(
        ADDRESSES.map(|(name, is_versioned)| (name, if is_versioned { base.clone() } else { root.clone() })),
    );
    variables.extend(KEYS.map(|name| (name, token.show().to_owned())));
    variables
}
