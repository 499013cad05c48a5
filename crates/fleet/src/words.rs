//! What went wrong with a store, in a line that shows no secret.

use std::env;

use object_store::Error;
use taskwright_base::text::brief;

/// What the names of our own variables begin with.
const OWN: &str = "TASKWRIGHT_";
/// How much of a server's own words is shown.
const MOST: usize = 300;

/// What to say of an error.
pub fn of(error: &Error) -> String {
    match error {
        Error::Unauthenticated { .. } | Error::PermissionDenied { .. } => format!(
            "it does not accept the credentials of the environment{}",
            if has_credentials() { "" } else { ", which holds none (`AWS_ACCESS_KEY_ID` and the like)" }
        ),
        Error::NotFound { .. } => "there is no such bucket or folder".to_owned(),
        other => {
            let words = shown(&other.to_string());
            let advice = if has_credentials() {
                ""
            } else {
                "; the environment holds no credentials (`AWS_ACCESS_KEY_ID` and the like)"
            };
            format!("{words}{advice}")
        }
    }
}

/// Whether the environment says who we are to any provider.
fn has_credentials() -> bool {
    secrets().any(|(name, _)| !name.starts_with(OWN))
}

/// What is secret in the environment, with its name: by those that providers have for it, and ours.
fn secrets() -> impl Iterator<Item = (String, String)> {
    let is_secret = |name: &str| {
        let is_ours = ["AWS_", "AZURE_", "GOOGLE_", OWN].iter().any(|begin| name.starts_with(begin));
        is_ours
            && ["KEY", "SECRET", "TOKEN", "SAS", "PASSWORD", "CREDENTIAL"]
                .iter()
                .any(|part| name.contains(part))
    };
    env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(move |(name, value)| is_secret(name) && value.len() >= 8)
}

/// Words of a server or a client, without secrets and without the queries of addresses, which may hold some.
fn shown(words: &str) -> String {
    let hidden = secrets().fold(words.to_owned(), |words, (_, secret)| words.replace(&secret, "***"));
    let words = hidden.split_whitespace().map(|word| match word.split_once('?') {
        Some((before, _)) if before.contains("://") => before,
        _ => word,
    });
    brief(&words.collect::<Vec<_>>().join(" "), MOST)
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn words_are_short_and_without_queries() {
        assert_eq!(shown("at  https://a.b/c?sig=secret now\n"), "at https://a.b/c now");
        assert!(shown(&"x".repeat(1000)).chars().count() <= MOST + 1);
    }
}
