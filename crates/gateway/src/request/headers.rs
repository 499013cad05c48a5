//! Headers: which pass to the upstream and back, and by which a client says who it is.

use hyper::HeaderMap;
use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, USER_AGENT,
};

use crate::wire::{Dialect, route};

/// What concerns one connection only, whichever way it goes.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What a client does not say to the upstream: who it is, on whose account, by which way it came, which encoding it takes, and
/// that another method or path is meant.
const NOT_SENT: [&str; 22] = [
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "api-key",
    "cookie",
    "openai-organization",
    "openai-project",
    "x-goog-user-project",
    "host",
    "content-length",
    "accept-encoding",
    "expect",
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
    "x-original-url",
];

/// What the upstream does not say to a client: cookies of the account, where else to ask, and how long a body was that may be
/// changed.
const NOT_PASSED_BACK: [&str; 6] =
    ["set-cookie", "location", "content-location", "content-length", "alt-svc", "strict-transport-security"];

/// In the names of headers that say what is left of the upstream's account, or used of it: of OpenAI's, Anthropic's and those who follow
/// them, and of LiteLLM's, which passes on what others said to it.
const ACCOUNT: [&str; 5] = ["ratelimit", "rate-limit", "quota", "remaining", "litellm-key"];

/// Whether the upstream's account is used by others as well, of whom a client is not to learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Account {
    /// What it says of it is for the client.
    Open,
    /// By what others take of it they could tell the client something.
    Hidden,
}

/// The headers that pass, without those in a list and those that concern one connection only.
fn passing(headers: &HeaderMap, without: &[&str]) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let mut passing = HeaderMap::with_capacity(headers.len() + 2);
    for (name, value) in headers {
        let word = name.as_str();
        if !HOP_BY_HOP.contains(&word) && !without.contains(&word) && !named.iter().any(|named| named == word)
        {
            passing.append(name.clone(), value.clone());
        }
    }
    passing
}

/// The headers for the upstream, without those that say who we are.
pub fn sent(headers: &HeaderMap) -> HeaderMap {
    let mut sent = passing(headers, &NOT_SENT);
    // What is compressed could be neither counted nor changed.
    sent.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    sent.entry(USER_AGENT)
        .or_insert(HeaderValue::from_static(concat!("taskwright/", env!("CARGO_PKG_VERSION"))));
    sent
}

/// The headers for the client.
pub fn passed_back(headers: &HeaderMap, account: Account) -> HeaderMap {
    let mut passing = passing(headers, &NOT_PASSED_BACK);
    if account == Account::Hidden {
        let is_hidden = |name: &&HeaderName| ACCOUNT.iter().any(|part| name.as_str().contains(part));
        let hidden: Vec<HeaderName> = passing.keys().filter(is_hidden).cloned().collect();
        for name in hidden {
            passing.remove(name);
        }
    }
    passing
}

/// How long a body is, if the other side says so.
pub fn length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// All that a client shows to say who it is: in whichever place its dialect has for that.
pub fn shown(headers: &HeaderMap, query: Option<&str>) -> Vec<String> {
    let bearer = headers.get_all(AUTHORIZATION).iter().filter_map(|value| {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
    });
    let plain = ["x-api-key", "x-goog-api-key", "api-key"]
        .into_iter()
        .flat_map(|name| headers.get_all(name))
        .filter_map(|value| value.to_str().ok().map(|token| token.trim().to_owned()));
    bearer.chain(plain).chain(query.and_then(route::key)).filter(|token| !token.is_empty()).collect()
}

/// Where the key stands in a request to the upstream, and what stands before it.
pub fn credential(dialect: Dialect) -> (HeaderName, &'static str) {
    match dialect {
        Dialect::OpenAi => (AUTHORIZATION, "Bearer "),
        Dialect::Anthropic => (HeaderName::from_static("x-api-key"), ""),
        Dialect::Gemini => (HeaderName::from_static("x-goog-api-key"), ""),
    }
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn credentials_and_what_connection_names_do_not_pass() {
        let sent = sent(&headers(&[
            ("authorization", "Bearer t"),
            ("x-api-key", "t"),
            ("connection", "close, X-Secret"),
            ("x-secret", "s"),
            ("te", "trailers"),
            ("anthropic-version", "2023-06-01"),
            ("anthropic-beta", "a"),
            ("accept-encoding", "gzip"),
            ("user-agent", "sdk"),
            ("openai-organization", "org"),
            ("x-http-method-override", "DELETE"),
        ]));
        let mut names: Vec<&str> = sent.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept-encoding", "anthropic-beta", "anthropic-version", "user-agent"]);
        assert_eq!(sent["accept-encoding"], "identity");
    }

    #[test]
    fn what_tells_a_client_when_to_try_again_passes_back() {
        let said = headers(&[
            ("retry-after", "3"),
            ("retry-after-ms", "30"),
            ("x-should-retry", "true"),
            ("x-ratelimit-remaining-tokens", "1"),
            ("anthropic-ratelimit-requests-reset", "2026-01-01T00:00:00Z"),
            ("llm_provider-x-ratelimit-limit-tokens", "2"),
            ("ratelimit-policy", "q"),
            ("x-litellm-key-spend", "0.5"),
            ("set-cookie", "c"),
            ("location", "https://elsewhere"),
            ("keep-alive", "timeout=5"),
            ("content-type", "text/event-stream"),
        ]);
        let back = passed_back(&said, Account::Open);
        assert_eq!(back.len(), 9);
        assert!(!back.contains_key("location") && !back.contains_key("set-cookie"));
        let back = passed_back(&said, Account::Hidden);
        let mut names: Vec<&str> = back.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-type", "retry-after", "retry-after-ms", "x-should-retry"]);
    }

    #[test]
    fn a_token_is_found_wherever_a_dialect_puts_it() {
        let shown = shown(
            &headers(&[("authorization", "bearer  a"), ("x-api-key", "b"), ("x-goog-api-key", "c")]),
            Some("alt=sse&key=d"),
        );
        assert_eq!(shown, ["a", "b", "c", "d"]);
    }
}
