//! Names under which secrets stand, by their words: what is removed from records, and refused in what is committed.
//!
//! [`crate::credentials`] has Harbor's own rule, which looks for letters and not for words: `tokenizer`, `author` and
//! `monkeypatch` are credentials to it.

/// Words that make a name sensitive, wherever they stand in it.
pub const WORDS: [&str; 16] = [
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
    "passwords",
    "pat",
    "pwd",
    "secret",
    "secrets",
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
const ABOUT: [&str; 20] = [
    "budget", "count", "digest", "env", "expiry", "file", "format", "hash", "id", "length", "limit", "mode",
    "name", "path", "sock", "socket", "timeout", "type", "url", "usage",
];

/// Whether what stands under a name is a secret, by the words of the name: `OPENAI_API_KEY`, `authToken`, `db-password`;
/// but not `max_tokens`, `model_api_key_name` or `reward_key`.
///
/// ```
/// use taskwright_harbor::secret_names::is_sensitive;
///
/// assert!(is_sensitive("OPENAI_API_KEY") && is_sensitive("githubToken") && is_sensitive("HOSTKEY"));
/// assert!(!is_sensitive("MAX_OUTPUT_TOKENS") && !is_sensitive("model_api_key_name") && !is_sensitive("reward_key"));
/// ```
pub fn is_sensitive(name: &str) -> bool {
    // Nobody names a variable in a thousand letters; text of an agent's may be a key, too.
    if name.len() > 256 {
        return false;
    }
    let mut words = words(name);
    // `API_KEY_2` is one more of the kind.
    while words.last().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
        words.pop();
    }
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
    for word in &mut words {
        // `key2`
        let rest = word.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
        if rest > 0 {
            word.truncate(rest);
        }
    }
    words
}
