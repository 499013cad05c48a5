//! What clients of language models find in their environment.

use taskwright_language::model::{CLIENT_ADDRESSES, CLIENT_KEYS};

use crate::token::Token;

/// All names under which clients look for an address and a key, and the two that a spec has.
pub fn names<'a>(address: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    [address, key].into_iter().chain(CLIENT_ADDRESSES.map(|(name, _)| name)).chain(CLIENT_KEYS)
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
        CLIENT_ADDRESSES
            .map(|(name, is_versioned)| (name, if is_versioned { base.clone() } else { root.clone() })),
    );
    variables.extend(CLIENT_KEYS.map(|name| (name, token.show().to_owned())));
    variables
}
