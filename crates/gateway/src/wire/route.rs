//! Paths: what is served. All others are refused, since what passes there would not be counted.

use super::{Dialect, Wire};

/// What is served, in words.
pub const SERVED: &str = "served are chat/completions, responses, embeddings, messages, messages/count_tokens, models, \
                          and models/...:generateContent, :streamGenerateContent and :countTokens";

/// What a path asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// A model's answer, which is counted.
    Call(Call),
    /// A count of tokens, which is free; the model is in the body, or in the path.
    Count(Call),
    /// Something about a response that the upstream keeps: free, since it was counted when it was made.
    Kept {
        /// The path at the upstream.
        path: String,
    },
    /// The models that may be asked for.
    Models,
    /// One of them.
    Model(String),
    /// Whether the gateway works.
    Health,
}

/// A call of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What is called.
    pub wire: Wire,
    /// The path at the upstream, below its root; `{model}` stands for the model where the path names it.
    pub path: &'static str,
    /// The model, where the path names it.
    pub model: Option<String>,
    /// Whether the path asks for a stream.
    pub streams: bool,
}

/// Why a path is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoRoute {
    /// There is nothing.
    Path,
    /// There is something, for another method.
    Method(&'static str),
}

/// What is called by a body that names the model: the path, what it is, the path at the upstream, whether it is counted.
const POSTS: &[(&str, Wire, &str, bool)] = &[
    ("chat/completions", Wire::Chat, "chat/completions", COUNTED),
    ("responses", Wire::Responses, "responses", COUNTED),
    ("responses/compact", Wire::Responses, "responses/compact", COUNTED),
    ("embeddings", Wire::Embeddings, "embeddings", COUNTED),
    ("messages", Wire::Messages, "messages", COUNTED),
    ("messages/count_tokens", Wire::Messages, "messages/count_tokens", FREE),
];
const COUNTED: bool = true;
const FREE: bool = false;

/// What is called by a path that names the model: the word, the path at the upstream, whether it streams, whether it is counted.
const ACTIONS: &[(&str, &str, bool, bool)] = &[
    ("generateContent", "models/{model}:generateContent", false, COUNTED),
    ("streamGenerateContent", "models/{model}:streamGenerateContent", true, COUNTED),
    ("countTokens", "models/{model}:countTokens", false, FREE),
];

/// What can be done with a response that the upstream keeps: the method, and what follows its id.
const KEPT: &[(&str, &str)] = &[("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items")];

/// The path less the prefix that clients put before it, each in its own way: none, `/v1`, or `/v1` twice.
fn bare(path: &str) -> &str {
    let mut rest = path.trim_start_matches('/');
    for _ in 0..2 {
        rest = rest.strip_prefix("v1/").unwrap_or(rest);
    }
    rest.strip_prefix("v1beta/").unwrap_or(rest)
}

/// In whose words the client of a path is answered, whatever is wrong with it.
pub fn dialect(path: &str) -> Dialect {
    let path = bare(path);
    if path == "messages" || path.starts_with("messages/") {
        Dialect::Anthropic
    } else if path.starts_with("models/") && path.contains(':') {
        Dialect::Gemini
    } else {
        Dialect::OpenAi
    }
}

/// What a request asks for.
pub fn find(method: &str, path: &str) -> Result<Route, NoRoute> {
    let only = |wanted, route| if method == wanted { Ok(route) } else { Err(NoRoute::Method(wanted)) };
    if path == "/health" {
        return only("GET", Route::Health);
    }
    let path = bare(path);
    if let Some(&(_, wire, path, counted)) = POSTS.iter().find(|(served, ..)| *served == path) {
        let call = Call { wire, path, model: None, streams: false };
        return only("POST", if counted { Route::Call(call) } else { Route::Count(call) });
    }
    if path == "models" {
        return only("GET", Route::Models);
    }
    if let Some(name) = path.strip_prefix("models/") {
        let name = decode(name).ok_or(NoRoute::Path)?;
        let action = name
            .rsplit_once(':')
            .and_then(|(model, word)| Some((model, ACTIONS.iter().find(|(action, ..)| *action == word)?)));
        let Some((model, &(_, path, streams, counted))) = action else {
            return only("GET", Route::Model(name));
        };
        let call = Call { wire: Wire::Gemini, path, model: Some(model.to_owned()), streams };
        return only("POST", if counted { Route::Call(call) } else { Route::Count(call) });
    }
    kept(method, path)
}

fn kept(method: &str, path: &str) -> Result<Route, NoRoute> {
    let rest = path.strip_prefix("responses/").ok_or(NoRoute::Path)?;
    let (id, after) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // It becomes part of the upstream's path: nothing may stand in it that leads elsewhere.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if id.is_empty() || id.len() > 512 || !id.bytes().all(plain) {
        return Err(NoRoute::Path);
    }
    let mut served = KEPT.iter().filter(|(_, follows)| *follows == after).peekable();
    let first = served.peek().ok_or(NoRoute::Path)?.0;
    if served.any(|(wanted, _)| *wanted == method) {
        Ok(Route::Kept { path: format!("responses/{id}{after}") })
    } else {
        Err(NoRoute::Method(first))
    }
}

/// A part of a path without its escapes; none if they are not understood.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? << 4 | digit()?).ok()?
            }
            _ => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// A model's name as a part of a path.
pub fn encode(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/@".contains(&byte);
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// A query without what a client can say who it is with; none if nothing is left.
pub fn query(query: &str) -> Option<String> {
    const SECRET: [&str; 4] = ["key", "api_key", "api-key", "access_token"];
    let kept: Vec<&str> = query
        .split('&')
        .filter(|pair| {
            let name = decode(pair.split('=').next().unwrap_or_default());
            let is_secret = |name: String| SECRET.iter().any(|secret| name.eq_ignore_ascii_case(secret));
            // `$` begins what Google's front end understands on every path: another method, other fields.
            !pair.is_empty() && name.is_some_and(|name| !name.starts_with('$') && !is_secret(name))
        })
        .collect();
    (!kept.is_empty()).then(|| kept.join("&"))
}

/// The value of the query's `key`, by which Google's clients say who they are.
pub fn key(query: &str) -> Option<String> {
    query.split('&').find_map(|pair| pair.strip_prefix("key=")).and_then(decode)
}

#[cfg(test)]
mod tests {
    use taskwright_testing::test;

    use super::*;

    #[test]
    fn every_path_is_served_with_and_without_its_version() {
        for prefix in ["", "/v1", "/v1/v1"] {
            for (path, wire, ..) in POSTS {
                match find("POST", &format!("{prefix}/{path}")) {
                    Ok(Route::Call(call) | Route::Count(call)) => assert_eq!(call.wire, *wire),
                    other => panic!("{prefix}/{path}: {other:?}"),
                }
            }
            assert_eq!(find("GET", &format!("{prefix}/models")), Ok(Route::Models));
            assert_eq!(find("GET", &format!("{prefix}/models/a/b")), Ok(Route::Model("a/b".into())));
        }
        for prefix in ["", "/v1", "/v1beta", "/v1/v1beta"] {
            let Ok(Route::Call(call)) = find("POST", &format!("{prefix}/models/a%2Fb:streamGenerateContent"))
            else {
                panic!("{prefix}")
            };
            assert_eq!((call.model.as_deref(), call.streams, call.wire), (Some("a/b"), true, Wire::Gemini));
        }
    }

    #[test]
    fn all_else_is_refused() {
        for path in [
            "/",
            "/v1",
            "/v1/files",
            "/v1/batches",
            "/v1/completions",
            "/v1/audio/speech",
            "/v1/images/generations",
            "/v1/realtime",
            "/v1/chat/completions/",
            "/v1/chat/completions/x",
            "/v1/messages/batches",
            "/v2/messages",
            "/v1/responses/..",
            "/v1/responses/a%2f..%2f..%2ffiles",
            "/v1/responses/a/../files",
            "/v1/responses/a/other",
            "/v1/responses//cancel",
            "/v1/models/%ff",
        ] {
            assert_eq!(find("POST", path), Err(NoRoute::Path), "{path}");
        }
        assert_eq!(find("GET", "/v1/messages"), Err(NoRoute::Method("POST")));
        assert_eq!(find("PUT", "/v1/responses/resp_1"), Err(NoRoute::Method("GET")));
        assert_eq!(find("POST", "/v1/models/m:batchEmbedContents"), Err(NoRoute::Method("GET")));
    }

    #[test]
    fn kept_responses_are_served_by_id() {
        for (method, path) in [
            ("GET", "resp_1"),
            ("DELETE", "resp_1"),
            ("POST", "resp_1/cancel"),
            ("GET", "resp_1/input_items"),
        ] {
            let kept = Route::Kept { path: format!("responses/{path}") };
            assert_eq!(find(method, &format!("/v1/responses/{path}")), Ok(kept));
        }
    }

    #[test]
    fn a_query_loses_what_says_who_asks() {
        assert_eq!(query("alt=sse&key=secret&%6bey=x&beta=true"), Some("alt=sse&beta=true".into()));
        assert_eq!(query("key=secret&$httpMethod=DELETE&access_token=t"), None);
        assert_eq!(key("alt=sse&key=a%2Db"), Some("a-b".into()));
    }
}
