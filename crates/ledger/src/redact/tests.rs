//! Secrets in every place where one was met.

use std::io::Cursor;

use proptest::prelude::*;
use taskwright_testing::test;

use super::*;

fn redacted(document: &str) -> (String, Vec<String>) {
    let mut secrets = Secrets::default();
    let bytes = redact_document(document.as_bytes(), &mut secrets).into_owned();
    (String::from_utf8(bytes).unwrap(), secrets.values)
}

#[test]
fn what_stands_under_a_sensitive_name_is_replaced_and_nothing_else() {
    let (text, secrets) = redacted(
        r#"{"env": {"OPENAI_API_KEY" : "abc\"def", "PLAIN": "visible", "HOSTKEY": "${HOSTKEY}", "DB_PASSWORD": ""},
            "max_tokens": "100000", "n": 12345678901234567890123, "x": NaN,
            "credentials": {"user": "alice1", "deep": ["secret-one", 7, null]}, "after": "stays",
            "headers": {"Authorization": "Bearer abcdef"}, "model_api_key_name": "OPENAI_API_KEY"}"#,
    );
    assert_eq!(
        text,
        r#"{"env": {"OPENAI_API_KEY" : "[REDACTED]", "PLAIN": "visible", "HOSTKEY": "${HOSTKEY}", "DB_PASSWORD": ""},
            "max_tokens": "100000", "n": 12345678901234567890123, "x": NaN,
            "credentials": {"user": "[REDACTED]", "deep": ["[REDACTED]", 7, null]}, "after": "stays",
            "headers": {"Authorization": "[REDACTED]"}, "model_api_key_name": "OPENAI_API_KEY"}"#
    );
    assert_eq!(secrets, ["abc\"def", "alice1", "secret-one", "Bearer abcdef"]);
}

#[test]
fn a_default_in_a_template_is_a_value() {
    let (text, secrets) = redacted(r#"{"API_KEY": "${API_KEY:-sesame}"}"#);
    assert_eq!((text.as_str(), secrets.len()), (r#"{"API_KEY": "[REDACTED]"}"#, 1));
}

#[test]
fn secrets_are_known_by_their_shape_under_any_name() {
    let (_, secrets) = redacted(
        r#"{"args": ["--key=sk-abcdefghijklmnopqrstuvwx", "https://me:hunter22@host/x", "sk-short", "plain"]}"#,
    );
    assert_eq!(secrets, ["sk-abcdefghijklmnopqrstuvwx", "hunter22"]);
}

#[test]
fn names_are_judged_by_their_words() {
    for name in [
        "API_KEY",
        "HOSTKEY",
        "ZZ_TOKEN",
        "AGENT_SECRET",
        "apiKey",
        "aws_secret_access_key",
        "Authorization",
        "db-password",
        "GITHUB_PAT",
        "GHTOKEN",
        "private_key",
        "SSH_KEYS",
    ] {
        assert!(is_sensitive(name), "{name}");
    }
    for name in [
        "max_tokens",
        "MAX_OUTPUT_TOKENS",
        "n_input_tokens",
        "key",
        "KEY",
        "reward_key",
        "monkey",
        "author",
        "model_api_key_name",
        "token_limit",
        "TOKEN_FILE",
        "path",
        "patch",
        "",
        "🔑",
    ] {
        assert!(!is_sensitive(name), "{name}");
    }
}

#[test]
fn values_are_removed_however_they_are_written() {
    let mut secrets = Secrets::default();
    for value in ["pa\"ss/ü wort", "prefix", "prefix-longer", "12345", "short", "123456789"] {
        secrets.add(value);
    }
    let scrubber = Scrubber::new(&secrets);
    let text = "pa\"ss/ü wort pa\\\"ss/ü wort pa\\\"ss/\\u00fc wort pa%22ss%2F%C3%BC%20wort prefix-longer prefix 123456789 short";
    assert_eq!(
        String::from_utf8_lossy(&scrubber.scrub(text.as_bytes())),
        "[REDACTED] [REDACTED] [REDACTED] [REDACTED] [REDACTED] [REDACTED] 123456789 short"
    );
}

#[test]
fn a_secret_on_the_seam_of_two_parts_is_removed() {
    let mut secrets = Secrets::default();
    secrets.add("a-secret-value");
    let scrubber = Scrubber::new(&secrets);
    for offset in 0..20 {
        let mut text = vec![b'a'; (256 << 10) - offset];
        text.extend_from_slice(b"a-secret-valuea-secret-value!");
        let mut streamed = Vec::new();
        scrubber
            .stream(&mut Cursor::new(&text), |part| {
                streamed.extend_from_slice(part);
                Ok(())
            })
            .unwrap();
        assert_eq!(streamed, scrubber.scrub(&text).into_owned(), "{offset}");
        assert!(streamed.ends_with(b"a[REDACTED][REDACTED]!"));
    }
}

proptest! {
    #[test]
    fn no_document_makes_it_panic_and_what_is_clean_stays(document: Vec<u8>) {
        let mut secrets = Secrets::default();
        let once = redact_document(&document, &mut secrets).into_owned();
        prop_assert_eq!(redact_document(&once, &mut secrets).into_owned(), once);
    }

    #[test]
    fn names_of_any_kind_are_judged(name: String) {
        is_sensitive(&name);
    }
}
