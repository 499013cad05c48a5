//! Which names promise a credential: Harbor hides what stands under them, and refuses some of it.

/// Words that make a name one of a credential, wherever they stand in it.
const WORDS: [&str; 5] = ["KEY", "SECRET", "PASSWORD", "CREDENTIAL", "AUTH"];

/// Whether Harbor takes the value of a variable, or of an argument, for a credential by its name.
///
/// ```
/// use taskwright_harbor::credentials::is_sensitive;
///
/// assert!(is_sensitive("OPENAI_API_KEY") && is_sensitive("my_token") && is_sensitive("authorization"));
/// assert!(!is_sensitive("MAX_OUTPUT_TOKENS"));
/// ```
#[must_use]
pub fn is_sensitive(name: &str) -> bool {
    let upper: String = name.chars().map(upper).collect();
    // `MAX_TOKENS` counts tokens, it does not hold one.
    let token = upper.match_indices("TOKEN").any(|(at, word)| !upper[at + word.len()..].starts_with('S'));
    token || WORDS.iter().any(|word| upper.contains(word))
}

/// Whether Harbor takes the value of an HTTP header for a credential.
#[must_use]
pub fn is_sensitive_header(name: &str) -> bool {
    is_sensitive(name) || ["cookie", "set-cookie"].contains(&name.to_lowercase().as_str())
}

/// A letter as Python compares it where case is ignored: four letters that are no ASCII count as some that are.
fn upper(letter: char) -> char {
    match letter {
        'ı' | 'İ' => 'I',
        'ſ' => 'S',
        '\u{212a}' => 'K',
        other => other.to_ascii_uppercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python;
    use taskwright_testing::test;

    /// Names that try every part of the rule.
    const NAMES: &[&str] = &[
        "OPENAI_API_KEY",
        "my_token",
        "Password",
        "AWS_SECRET",
        "authorization",
        "TOKENS_TOKEN",
        "tokens_tokens",
        "tOkEnſ",
        "TOKEN",
        "TOKENS",
        "TOKENs",
        "TOKENſ",
        "MAX_OUTPUT_TOKENS",
        "LOG_LEVEL",
        "MODEL",
        "",
        "KEYBOARD",
        "monkey",
        "\u{212a}ey",
        "ſecret",
        "Credentıal",
        "credentİal",
        "CREDENTIALS",
        "author",
        "x-api-key",
        "cookie",
        "Set-Cookie",
        "cookies",
        "passwd",
        "pwd",
        "ſet-cookie",
        "coo\u{212a}ie",
        "ΑUTH",
        "ключ",
    ];

    #[test]
    fn the_rule_is_harbors() {
        let python = python::of_harbor();
        let script = "import json, sys\n\
            from harbor.utils.env import is_sensitive_env_key, is_sensitive_header_name\n\
            print(json.dumps([[is_sensitive_env_key(n), is_sensitive_header_name(n)] for n in json.load(sys.stdin)]))";
        let said = python::run(&python, script, &serde_json::to_string(NAMES).unwrap());
        let theirs: Vec<[bool; 2]> = serde_json::from_str(&said).unwrap();
        for (name, theirs) in NAMES.iter().zip(theirs) {
            assert_eq!([is_sensitive(name), is_sensitive_header(name)], theirs, "{name}");
        }
    }
}
