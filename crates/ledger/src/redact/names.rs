//! Names under which secrets stand.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Words that make a name sensitive, wherever they stand in it.
const WORDS: [&str; 14] = [
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "passphrase",
    "passwd",
    "password",
    "pat",
    "pwd",
    "secret",
    "token",
];

/// Words that come before `key` in names of secrets.
const KEYS: [&str; 11] = [
    "access",
    "account",
    "api",
    "auth",
    "deploy",
    "encryption",
    "master",
    "private",
    "signing",
    "ssh",
    "subscription",
];

/// Words at the end of a name that say it holds something about a secret, not the secret.
const ABOUT: [&str; 16] = [
    "budget", "count", "env", "expiry", "file", "format", "id", "length", "limit", "mode", "name", "path",
    "timeout", "type", "url", "usage",
];

/// Whether what stands under a name is a secret, by the words of the name: `OPENAI_API_KEY`, `authToken`, `db-password`;
/// but not `max_tokens`, `model_api_key_name` or `reward_key`.
///
/// ```
/// use taskwright_ledger::redact::is_sensitive;
///
/// assert!(is_sensitive("OPENAI_API_KEY") && is_sensitive("githubToken") && is_sensitive("HOSTKEY"));
/// assert!(!is_sensitive("MAX_OUTPUT_TOKENS") && !is_sensitive("model_api_key_name") && !is_sensitive("reward_key"));
/// ```
pub fn is_sensitive(name: &str) -> bool {
    // Nobody names a variable in a thousand letters; text of an agent's may be a key, too.
    if name.len() > 256 {
        return false;
    }
    if !may_be_sensitive(name.as_bytes()) {
        return false;
    }
    let words = words(name);
    let Some(last) = words.last() else { return false };
    if ABOUT.contains(&last.as_str()) {
        return false;
    }
    if words.iter().any(|word| WORDS.contains(&word.as_str())) {
        return true;
    }
    // In capitals, as environment variables are, every key is one that opens something.
    let is_variable = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    match last.as_str() {
        "key" | "keys" => {
            is_variable && words.len() > 1
                || words.len().checked_sub(2).is_some_and(|before| KEYS.contains(&words[before].as_str()))
        }
        word => is_variable && word.len() > 3 && (word.ends_with("key") || word.ends_with("token")),
    }
}

/// Whether a name, as JSON writes it, holds a word that matters, or an escaped letter. Most hold neither, and need not be
/// taken apart.
pub fn may_be_sensitive(name: &[u8]) -> bool {
    static FIRST: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS.iter().chain(&["key"])).ok()
    });
    name.contains(&b'\\') || FIRST.as_ref().is_none_or(|words| words.is_match(name))
}

/// The words of a name in lower case: parts between other signs than letters and digits, and humps of camel case.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = '_';
    for letter in name.chars() {
        if !letter.is_alphanumeric() {
            previous = '_';
            continue;
        }
        let begins = previous == '_' || letter.is_uppercase() && !previous.is_uppercase();
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
        previous = letter;
    }
    words
}
