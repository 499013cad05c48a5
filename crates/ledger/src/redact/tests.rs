//! Secrets in every place where one was met.

use std::io::Cursor;

use proptest::prelude::*;
use taskwright_testing::test;

use super::*;

fn redacted(document: &str) -> (String, Vec<String>) {
    let mut secrets = Secrets::default();
    let marks = look_through(document.as_bytes(), &mut secrets);
    let bytes = rewrite(document.as_bytes(), &marks, &Scrubber::new(&secrets)).into_owned();
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
    let (text, secrets) = redacted(r#"{"API_KEY": "${API_KEY:-sesame-7}"}"#);
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
        "OPENAI_API_KEY_2",
        "apiKey1",
        "SECRETS",
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
        "tokenizer",
        "keyboard_layout",
        "monkeypatch",
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
    for value in ["pa\"ss/ü wort", "prefix1", "prefix1-longer", "12345", "short", "123456789"] {
        secrets.add(value);
    }
    let scrubber = Scrubber::new(&secrets);
    let text = "pa\"ss/ü wort pa\\\"ss/ü wort pa\\\"ss/\\u00fc wort pa%22ss%2F%C3%BC%20wort prefix1-longer prefix1 123456789 short";
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

/// A text that looks drawn at random, of so many letters and digits.
fn random(length: usize) -> String {
    let signs = b"aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zC";
    (0..length).map(|at| char::from(signs[(at * 7 + at / 32) % 32])).collect()
}

#[test]
fn keys_of_services_are_removed_from_any_text() {
    let (r20, r36, r40, r60) = (random(20), random(36), random(40), random(60));
    let hex = |length: usize| "0a1b2c3d4e5f6071".repeat(5)[..length].to_owned();
    let mut keys: Vec<String> = [
        "sk-",
        "sk-proj-",
        "sk-svcacct-",
        "sk-ant-api03-",
        "sk-or-v1-",
        "ghp_",
        "gho_",
        "ghs_",
        "github_pat_",
        "glpat-",
        "xoxb-",
        "hf_",
        "npm_",
        "dckr_pat_",
        "sk_live_",
        "xai-",
        "gsk_",
        "pplx-",
        "r8_",
        "ak-",
        "as-",
        "dtn_",
        "ya29.",
    ]
    .iter()
    .map(|beginning| format!("{beginning}{r36}"))
    .collect();
    keys.extend([
        format!("AKIA{}", "Q3EGR7AMPLE7ABCD"),
        format!("AIza{}", random(35)),
        format!("pypi-{r60}"),
        format!("dapi{}", hex(32)),
        format!("SK{}", hex(32)),
        format!("e2b_{}", hex(40)),
        format!("dop_v1_{}", hex(64)),
        format!("SG.{}.{}", random(22), random(43)),
        format!("eyJ{r20}.eyJ{r20}.{r40}"),
    ]);
    for key in &keys {
        for text in [format!("a {key} b"), format!("{{\"line\": \"x\\n{key}\\n\"}}"), format!("see={key}")] {
            let cleaned = clean_text(&text);
            assert!(!cleaned.contains(&key[..]) && cleaned.contains("[REDACTED]"), "{text}: {cleaned}");
        }
    }
}

#[test]
fn what_is_assigned_to_a_sensitive_name_is_removed_from_any_text() {
    let r40 = random(40);
    for (text, wanted) in [
        ("WANDB_API_KEY=correcthorse x", "WANDB_API_KEY=[REDACTED] x"),
        ("export DB_PASSWORD=\"hunter2hunter2\"", "export DB_PASSWORD=\"[REDACTED]\""),
        ("password: hunter2hunter2", "password: [REDACTED]"),
        (r#"{"token": "abc123def456"}"#, r#"{"token": "[REDACTED]"}"#),
        (r#"{"a": "{\"token\": \"abc123def456\"}"}"#, r#"{"a": "{\"token\": \"[REDACTED]\"}"}"#),
        ("> Authorization: Bearer abc123def456", "> Authorization: Bearer [REDACTED]"),
        ("authorization: Basic dXNlcjpwYXNzd29yZDE=", "authorization: Basic [REDACTED]"),
        ("x-api-key: abc123def456", "x-api-key: [REDACTED]"),
        ("Set-Cookie: sid=abc123def456; Path=/", "Set-Cookie: [REDACTED]; Path=/"),
        ("tool --api-key abc123def456 go", "tool --api-key [REDACTED] go"),
        (r#"["--api-key", "abc123def456"]"#, r#"["--api-key", "[REDACTED]"]"#),
        ("https://x.org/a?access_token=abc123def456&b=1", "https://x.org/a?access_token=[REDACTED]&b=1"),
        ("https://x.org/a?sv=1&sig=abcdefgh%2Fijklmnop%3D", "https://x.org/a?sv=1&sig=[REDACTED]"),
        ("git clone https://bob:hunter2@x.org/y", "git clone https://bob:[REDACTED]@x.org/y"),
        ("redis://:hunter2@x:6379", "redis://:[REDACTED]@x:6379"),
        ("postgres://u:hunter2@x/db", "postgres://u:[REDACTED]@x/db"),
        ("line\\nDB_PASSWORD=hunter2hunter2\\nend", "line\\nDB_PASSWORD=[REDACTED]\\nend"),
    ] {
        assert_eq!(clean_text(text), wanted);
    }
    for text in [
        format!("aws_secret_access_key = {r40}"),
        format!("AccountKey={r40}=="),
        format!("https://{r40}@github.com/x"),
        format!("-----BEGIN RSA PRIVATE KEY-----\n{r40}\n{r40}\n-----END RSA PRIVATE KEY-----"),
        format!("\"-----BEGIN OPENSSH PRIVATE KEY-----\\n{r40}\\n-----END OPENSSH PRIVATE KEY-----\""),
        format!("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{r40}\n-----END PGP PRIVATE KEY BLOCK-----"),
        format!("-----BEGIN EC PRIVATE KEY-----\n{r40}"),
    ] {
        let cleaned = clean_text(&text);
        assert!(!cleaned.contains(&r40) && cleaned.contains("[REDACTED]"), "{cleaned}");
        assert_eq!(clean_text(&cleaned), cleaned);
    }
}

#[test]
fn what_only_resembles_a_secret_stays() {
    for text in [
        "sk-learn-pipeline-repair hf_model_inference_service dapi-of-the-day pypi-package-for-tests-of-all-kinds-and-more",
        "eyJ-decode-the-base64-blob eyJhIjogMSwgImIiOiAyfQ==",
        "commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567 sha256:0a1b2c3d4e5f60718293a4b5c6d7e8f9 md5",
        "integrity sha512-abcDEF0123456789abcDEF0123456789abcDEF0123456789==",
        "550e8400-e29b-41d4-a716-446655440000 me@example.org git@github.com:org/repo.git localhost:8080 https://x.org/a@b",
        "max_tokens=4096 token: 17 {\"token\": \"hello\", \"tokens\": [1, 2]} tokenizer=o200k_base author: team12345",
        "SSH_AUTH_SOCK=/tmp/ssh-aB3dE5gH7jK9/agent.12 API_KEY=${API_KEY} password=$PASSWORD1 secret: [REDACTED]",
        "token = self.next_token2() and key=lambda row: row2 and api_key = os.environ['X1']",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIabcDEF0123456789 me",
        "-----BEGIN CERTIFICATE-----\nMIIEowIBAAKCAQEA0000\n-----END CERTIFICATE-----",
    ] {
        assert_eq!(clean_text(text), text);
    }
}

#[test]
fn names_that_tell_trials_apart_stay_and_so_do_words() {
    let key = format!("sk-{}", random(24));
    let text = format!(
        r#"{{"task_name": "{key}", "trial_name": "{key}__1", "task_id": {{"path": "t/{key}"}}, "id": "{key}",
            "agent": {{"kwargs": {{"name": "{key}", "use_api_key": "always"}}}}, "said": "always {key}"}}"#
    );
    let (cleaned, secrets) = redacted(&text);
    assert_eq!(
        cleaned,
        format!(
            r#"{{"task_name": "{key}", "trial_name": "{key}__1", "task_id": {{"path": "t/{key}"}}, "id": "{key}",
            "agent": {{"kwargs": {{"name": "[REDACTED]", "use_api_key": "[REDACTED]"}}}}, "said": "always [REDACTED]"}}"#
        )
    );
    assert_eq!(secrets, [key]);
}

#[test]
fn values_that_are_known_are_removed_in_other_writings_too() {
    let mut secrets = Secrets::default();
    secrets.add("a-secret-value");
    let scrubber = Scrubber::new(&secrets);
    for text in ["YS1zZWNyZXQtdmFsdWU=", "dXNlcjphLXNlY3JldC12YWx1ZQ==", "612d7365637265742d76616c7565"] {
        let scrubbed = String::from_utf8(scrubber.scrub(text.as_bytes()).into_owned()).unwrap();
        assert!(scrubbed.contains("[REDACTED]"), "{text}: {scrubbed}");
    }
}

#[test]
fn shapes_on_the_seam_of_two_parts_are_removed() {
    let body = format!("{}\n", random(60)).repeat(40);
    let tail = format!(
        " OPENAI_API_KEY=sk-{} -----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY----- end",
        random(40)
    );
    for offset in (0..3_000).step_by(37) {
        let mut text = vec![b'.'; (256 << 10) - offset];
        text.extend_from_slice(tail.as_bytes());
        text.extend(vec![b'.'; 300 << 10]);
        let mut streamed = Vec::new();
        Scrubber::default()
            .stream(&mut Cursor::new(&text), |part| {
                streamed.extend_from_slice(part);
                Ok(())
            })
            .unwrap();
        let whole = Scrubber::default().scrub(&text).into_owned();
        assert!(streamed == whole, "{offset}");
        assert!(!String::from_utf8(whole).unwrap().contains(&random(40)), "{offset}");
    }
}

proptest! {
    #[test]
    fn no_document_makes_it_panic_and_what_is_clean_stays(document: Vec<u8>) {
        let once = clean(&document);
        prop_assert_eq!(clean(&once), once);
    }

    #[test]
    fn assignments_of_any_kind_are_looked_at(before: Vec<u8>, sign in "[:= \"'\\\\]{0,4}", after: Vec<u8>) {
        let text = [&before[..], b"api_key", sign.as_bytes(), &after[..], b" -----BEGIN PRIVATE KEY-----", &after[..]];
        Scrubber::default().scrub(&text.concat());
    }

    #[test]
    fn names_of_any_kind_are_judged(name: String) {
        is_sensitive(&name);
    }
}
