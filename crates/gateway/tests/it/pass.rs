//! What passes: paths, names, headers and keys, in both directions.

use serde_json::json;
use taskwright_gateway::{Door, Scope, Tokens as _};
use taskwright_testing::test;

use crate::support::{Client, KEY, World, chat, obliging, scope};

#[test]
fn every_endpoint_reaches_the_upstream_with_its_key_and_without_the_token() {
    let world = World::limited(&json!({ "model_aliases": { "small": "up/small" } }), obliging);
    let (id, token) = world.mint(Scope::Evaluation);
    let named = json!({ "model": "small", "max_tokens": 9, "messages": [], "input": "x" });
    let unnamed = json!({ "contents": [] });
    let cases = [
        ("chat/completions", &named, "/v1/chat/completions", "authorization", 15),
        ("responses", &named, "/v1/responses", "authorization", 15),
        ("embeddings", &named, "/v1/embeddings", "authorization", 10),
        ("messages", &named, "/v1/messages", "x-api-key", 15),
        ("messages/count_tokens", &named, "/v1/messages/count_tokens", "x-api-key", 0),
        (
            "models/small:generateContent",
            &unnamed,
            "/v1beta/models/up/small:generateContent",
            "x-goog-api-key",
            15,
        ),
        ("models/small:countTokens", &unnamed, "/v1beta/models/up/small:countTokens", "x-goog-api-key", 0),
    ];
    for (path, body, upstream, header, tokens) in cases {
        let prefixes: &[&str] =
            if path.starts_with("models") { &["/", "/v1beta/"] } else { &["/", "/v1/", "/v1/v1/"] };
        for prefix in prefixes {
            let before = world.usage(id);
            let answer = world.ask(&token, &format!("{prefix}{path}"), body);
            assert_eq!(answer.status(), 200, "{prefix}{path}: {}", answer.text());
            assert!(!answer.text().contains("up/small"), "{path}: {}", answer.text());
            let seen = world.upstream.requests().pop().unwrap();
            assert_eq!(seen.path(), upstream);
            assert!(seen.header(header).unwrap().ends_with(KEY));
            assert!(!format!("{seen:?}").contains(token.show()), "{path}");
            assert_eq!(seen.header("accept-encoding"), Some("identity"));
            if *body == named {
                assert_eq!(seen.json()["model"], "up/small");
            }
            let after = world.usage(id);
            assert_eq!(after.tokens.total() - before.tokens.total(), tokens, "{path}");
            assert_eq!(after.requests - before.requests, u64::from(tokens > 0), "{path}");
        }
    }
    let usage = world.usage(id);
    assert_eq!((usage.estimated, usage.refused, usage.open), (0, 0, 0));
    assert_eq!((usage.tokens.cached, usage.tokens.written), (15, 6));
}

#[test]
fn a_response_that_is_kept_is_served_by_its_id_to_the_optimizer_and_costs_nothing() {
    let limits = json!({ "model_aliases": { "small": "up/small" } });
    let world = World::new(
        json!({ "producer": scope(&limits), "evaluation": scope(&limits) }),
        |_, reply| {
            reply.json(&json!({ "id": "resp_1", "model": "up/small", "usage": { "input_tokens": 9, "output_tokens": 9 } }));
        },
    );
    let (id, token) = world.mint(Scope::Producer);
    let (_, candidates) = world.mint(Scope::Evaluation);
    for (method, path) in [
        ("GET", "/v1/responses/resp_1?include=x&key=y"),
        ("DELETE", "/responses/resp_1"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("GET", "/v1/responses/resp_1/input_items"),
    ] {
        assert_eq!(world.ask_with(&candidates, method, path, &[], "").status(), 404, "{path}");
        let answer = world.ask_at(Door::Producer, &token, method, path, &[], "");
        assert_eq!((answer.status(), &answer.json()["model"]), (200, &json!("small")), "{path}");
    }
    assert_eq!((world.usage(id).requests, world.upstream.requests().len()), (0, 4));
    assert_eq!(world.upstream.requests()[0].path(), "/v1/responses/resp_1?include=x");
}

#[test]
fn the_models_are_those_of_the_list_in_the_dialect_of_who_asks() {
    let world = World::limited(&json!({}), obliging);
    let (_, token) = world.mint(Scope::Evaluation);
    let get = |path: &str, headers: &[(&str, &str)]| world.ask_with(&token, "GET", path, headers, "");
    let openai = get("/v1/models", &[]).json();
    assert_eq!((&openai["object"], &openai["data"][1]["id"]), (&json!("list"), &json!("openai/big")));
    let version = [("anthropic-version", "2023-06-01")];
    let anthropic = get("/v1/models", &version).json();
    assert_eq!((&anthropic["has_more"], &anthropic["data"][0]["type"]), (&json!(false), &json!("model")));
    assert_eq!(get("/v1beta/models", &[]).json()["models"][0]["name"], "models/small");
    assert_eq!(get("/models/openai/big", &[]).json()["id"], "openai/big");
    assert_eq!(get("/v1/models/openai%2Fbig", &version).json()["type"], "model");
    let missing = get("/v1/models/big", &[]);
    assert_eq!(missing.status(), 404);
    assert!(missing.text().contains("did you mean `openai/big`"), "{}", missing.text());
    assert!(world.upstream.requests().is_empty());
}

#[test]
fn what_is_not_on_the_list_is_refused_in_the_words_of_the_dialect() {
    let world = World::limited(&json!({}), obliging);
    let (id, token) = world.mint(Scope::Evaluation);
    let body = json!({ "model": "big", "max_tokens": 1, "messages": [] });
    let openai = world.ask(&token, "/v1/chat/completions", &body);
    assert_eq!((openai.status(), &openai.json()["error"]["code"]), (403, &json!("model_not_found")));
    assert!(
        openai.text().contains("`small` or `openai/big`; did you mean `openai/big`?"),
        "{}",
        openai.text()
    );
    assert_eq!(openai.header("x-should-retry"), Some("false"));
    let anthropic = world.ask(&token, "/v1/messages", &body);
    assert_eq!((anthropic.status(), &anthropic.json()["error"]["type"]), (403, &json!("permission_error")));
    let gemini = world.ask(&token, "/v1beta/models/big:generateContent", &json!({}));
    assert_eq!((gemini.status(), &gemini.json()["error"]["status"]), (403, &json!("PERMISSION_DENIED")));
    for path in ["/v1/files", "/v1/batches", "/v1/audio/speech", "/v1/completions", "/v1/images/generations"]
    {
        let answer = world.ask(&token, path, &body);
        assert_eq!(answer.status(), 404, "{path}");
        assert!(answer.text().contains("served are chat/completions, responses"), "{}", answer.text());
    }
    assert_eq!(world.ask_with(&token, "GET", "/v1/chat/completions", &[], "").status(), 405);
    let socket = [("connection", "upgrade"), ("upgrade", "websocket")];
    assert_eq!(world.ask_with(&token, "GET", "/v1/responses", &socket, "").status(), 426);
    assert!(world.upstream.requests().is_empty());
    assert_eq!(world.usage(id).refused, 10);
}

#[test]
fn headers_pass_in_both_directions_but_for_credentials_and_what_concerns_a_connection() {
    let world = World::limited(&json!({}), |_, reply| {
        let headers = [
            ("content-type", "application/json"),
            ("retry-after", "3"),
            ("retry-after-ms", "3000"),
            ("x-should-retry", "true"),
            ("x-ratelimit-remaining-requests", "7"),
            ("request-id", "req_1"),
            ("set-cookie", "account=ours"),
            ("keep-alive", "timeout=9"),
        ];
        reply.whole(529, &headers, r#"{"error":{"message":"busy"}}"#);
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let headers = [
        ("anthropic-version", "2023-06-01"),
        ("anthropic-beta", "a,b"),
        ("x-session-id", "s"),
        ("connection", "x-private"),
        ("x-private", "mine"),
        ("cookie", "c=1"),
        ("x-api-key", "another"),
        ("x-forwarded-for", "1.2.3.4"),
    ];
    let answer = world.ask_with(&token, "POST", "/v1/messages", &headers, chat("small").to_string());
    assert_eq!(answer.status(), 529);
    for (name, value) in [
        ("retry-after", "3"),
        ("retry-after-ms", "3000"),
        ("x-should-retry", "true"),
        ("request-id", "req_1"),
        ("x-ratelimit-remaining-requests", "7"),
    ] {
        assert_eq!(answer.header(name), Some(value));
    }
    assert_eq!((answer.header("set-cookie"), answer.header("keep-alive")), (None, None));
    let seen = world.upstream.requests().pop().unwrap();
    assert_eq!(
        (seen.header("anthropic-version"), seen.header("anthropic-beta")),
        (Some("2023-06-01"), Some("a,b"))
    );
    for gone in ["x-private", "cookie", "x-forwarded-for", "authorization"] {
        assert_eq!(seen.header(gone), None, "{gone}");
    }
    assert_eq!(seen.header("x-api-key"), Some(KEY));
    // What the upstream refuses costs nothing.
    let usage = world.usage(id);
    assert_eq!((usage.requests, usage.failed, usage.tokens.total()), (0, 1, 0));
}

#[test]
fn what_candidates_take_of_the_account_is_not_told_to_the_optimizer() {
    let both = json!({ "producer": scope(&json!({})), "evaluation": scope(&json!({})) });
    let alone = json!({ "producer": scope(&json!({})) });
    for (config, asks, is_told) in
        [(&both, Scope::Producer, false), (&both, Scope::Evaluation, true), (&alone, Scope::Producer, true)]
    {
        // An answer, a refusal, a stream, and a response that is kept.
        let world = World::new(config.clone(), |asked, reply| {
            let limits =
                [("x-ratelimit-remaining-requests", "7"), ("anthropic-ratelimit-tokens-remaining", "9")];
            let with = |kind| [limits[0], limits[1], ("retry-after", "3"), ("content-type", kind)];
            match asked.path() {
                "/v1/messages" => reply.whole(429, &with("application/json"), "{}"),
                "/v1/responses" => reply.whole(200, &with("text/event-stream"), "data: {}\n\n"),
                _ => reply.whole(200, &with("application/json"), "{}"),
            }
        });
        let (_, token) = world.mint(asks);
        let calls = ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/messages/count_tokens"];
        let calls = calls.map(|path| ("POST", path, chat("small").to_string()));
        let kept = (asks == Scope::Producer).then(|| ("GET", "/v1/responses/resp_1", String::new()));
        for (method, path, body) in calls.into_iter().chain(kept) {
            let answer = world.ask_at(asks.door(), &token, method, path, &[], body);
            assert_eq!(answer.header("retry-after"), Some("3"), "{path}: {}", answer.first);
            for name in ["x-ratelimit-remaining-requests", "anthropic-ratelimit-tokens-remaining"] {
                assert_eq!(answer.header(name).is_some(), is_told, "{asks} {path} {name}");
            }
        }
    }
}

#[test]
fn a_token_is_unknown_at_the_other_door_and_after_its_end() {
    let config = json!({ "producer": scope(&json!({})), "evaluation": scope(&json!({})), "finalization": scope(&json!({})) });
    let world = World::new(config, obliging);
    let ask = |door, token: &str, header: &str| {
        Client::connect(world.door(door)).ask(
            "POST",
            "/v1/messages",
            &[(header, token)],
            chat("small").to_string(),
        )
    };
    for (scope, here, there) in [
        (Scope::Producer, Door::Producer, Door::Evaluation),
        (Scope::Evaluation, Door::Evaluation, Door::Producer),
        (Scope::Finalization, Door::Evaluation, Door::Producer),
    ] {
        let (id, token) = world.mint(scope);
        assert_eq!(ask(here, token.show(), "x-api-key").status(), 200);
        let unknown = ask(there, token.show(), "x-api-key");
        assert_eq!(unknown.status(), 401);
        assert_eq!(unknown.json()["error"]["type"], "authentication_error");
        assert_eq!(world.gateway().handle().revoke(id).unwrap().requests, 1);
        assert_eq!(ask(here, token.show(), "x-api-key").status(), 401);
    }
    for nonsense in ["", "x", &"0".repeat(64), KEY] {
        assert_eq!(ask(Door::Evaluation, nonsense, "x-api-key").status(), 401);
    }
    assert_eq!(world.upstream.requests().len(), 3);
}

#[test]
fn neither_key_nor_token_stands_in_anything_that_is_written_or_said() {
    let world = World::limited(&json!({}), |asked, reply| {
        // An upstream that repeats what it was shown.
        let shown = asked.header("authorization").unwrap_or_default().to_owned();
        let status = if asked.text().contains("\"big\"") { 200 } else { 403 };
        let body = json!({ "error": { "message": format!("this is not a key: {shown}") } });
        reply.whole(status, &[("content-type", "application/json")], body.to_string());
    });
    let (_, token) = world.mint(Scope::Evaluation);
    for model in ["small", "openai/big"] {
        let answer = world.ask(&token, "/v1/chat/completions", &chat(model));
        assert!(!answer.text().contains(KEY), "{}", answer.text());
    }
    let state = world.folder.path().join("state");
    let mut world = world;
    drop(world.gateway.take());
    let mut files = 0;
    for file in std::fs::read_dir(state).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains(KEY) && !text.contains(token.show()));
        files += 1;
    }
    assert_eq!(files, 4);
}

#[test]
fn whether_it_works_can_be_asked_without_a_token() {
    let world = World::limited(&json!({}), obliging);
    let answer = Client::connect(world.door(Door::Producer)).ask("GET", "/health", &[], "");
    assert_eq!((answer.status(), &answer.json()["status"]), (200, &json!("ok")));
}
