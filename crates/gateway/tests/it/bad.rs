//! What a hostile client or upstream does.

use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};
use taskwright_gateway::{Door, Scope};
use taskwright_testing::test;

use crate::support::{Client, Scripted, World, chat, chat_answer, obliging, scope, start};

#[test]
fn a_redirect_is_neither_followed_nor_passed_on() {
    let elsewhere = Scripted::start(obliging);
    let target = format!("http://{}/v1/chat/completions", elsewhere.address);
    let world = World::limited(&json!({}), move |asked, reply| {
        let status = asked.header("x-status").unwrap().parse().unwrap();
        reply.whole(status, &[("location", &target)], "");
    });
    let (id, token) = world.mint(Scope::Evaluation);
    for status in ["301", "302", "303", "307", "308"] {
        let headers = [("x-status", status)];
        let answer = world.ask_with(&token, "POST", "/v1/messages", &headers, chat("small").to_string());
        assert_eq!((answer.status(), answer.header("location")), (502, None));
        assert_eq!(answer.json()["error"]["type"], "api_error");
    }
    assert!(elsewhere.requests().is_empty());
    assert_eq!((world.usage(id).requests, world.usage(id).failed), (0, 5));
}

#[test]
fn an_answer_in_an_encoding_that_was_not_asked_for_is_refused() {
    let world = World::limited(&json!({}), |_, reply| {
        reply.whole(
            200,
            &[("content-encoding", "gzip"), ("content-type", "application/json")],
            [0x1f, 0x8b, 8],
        );
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let answer = world.ask_with(
        &token,
        "POST",
        "/v1/chat/completions",
        &[("accept-encoding", "gzip, br")],
        chat("small").to_string(),
    );
    assert_eq!(answer.status(), 502);
    assert_eq!(world.upstream.requests()[0].header("accept-encoding"), Some("identity"));
    assert_eq!(world.usage(id).requests, 0);
}

#[test]
fn a_usage_that_lies_is_not_believed() {
    let world = World::limited(&json!({}), |asked, reply| {
        let mut answer = chat_answer("small", 10, 5);
        answer["usage"]["completion_tokens"] = asked.json()["lie"].clone();
        // Text of 400 bytes.
        answer["choices"][0]["message"]["content"] = "12345678".repeat(50).into();
        reply.json(&answer);
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let mut before = 0;
    for (lie, output) in [
        (json!(-1), 100),
        (json!("7"), 100),
        (json!(1e300), 100),
        (json!(u64::MAX), 100),
        (json!(1.5), 100),
        (json!(null), 100),
        (json!([1]), 100),
        (json!(0), 100),
        (json!(1), 100),
        // As many as there may be.
        (json!(99), 99),
        (json!(99.0), 99),
    ] {
        let mut body = chat("small");
        body["lie"] = lie.clone();
        assert_eq!(world.ask(&token, "/v1/chat/completions", &body).status(), 200);
        let usage = world.usage(id);
        assert_eq!(usage.tokens.output - before, output, "{lie}");
        before = usage.tokens.output;
    }
    assert_eq!(world.usage(id).estimated, 9);
}

#[test]
fn an_answer_that_is_no_json_passes_and_is_counted_by_its_bytes() {
    let world = World::limited(&json!({}), |_, reply| {
        reply.whole(200, &[("content-type", "text/plain")], [0xff; 400]);
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let answer = world.ask(&token, "/v1/chat/completions", &chat("small"));
    assert_eq!((answer.status(), answer.body.len()), (200, 400));
    assert_eq!((world.usage(id).tokens.output, world.usage(id).estimated), (100, 1));
}

#[test]
fn an_upstream_that_speaks_nonsense_or_is_not_there_costs_nothing() {
    let world = World::limited(&json!({}), |asked, reply| match asked.header("x-case").unwrap() {
        "nonsense" => drop(reply.raw("SMTP ready\r\n\r\n")),
        "short" => drop(reply.raw("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{")),
        _ => {}
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let ask = |case| {
        world
            .ask_with(&token, "POST", "/v1/messages", &[("x-case", case)], chat("small").to_string())
            .status()
    };
    assert_eq!(ask("nonsense"), 502);
    assert_eq!((world.usage(id).requests, world.usage(id).failed), (0, 1));
    let mut world = world;
    let (config, folder) = (world.config.clone(), world.folder.path().to_owned());
    drop(world.gateway.take());
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    world.gateway = Some(start(&config, nowhere, &folder).unwrap());
    let answer = world.ask(&token, "/v1/messages", &chat("small"));
    assert_eq!(answer.status(), 502);
    assert!(
        answer.text().contains("cannot be reached") && !answer.text().contains("127.0.0.1"),
        "{}",
        answer.text()
    );
}

#[test]
fn large_bodies_pass_and_larger_ones_do_not() {
    let world = World::limited(&json!({}), |asked, reply| {
        let mut answer = chat_answer("small", 10, 5);
        answer["choices"][0]["message"]["content"] = "x".repeat(asked.body.len()).into();
        reply.json(&answer);
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let body = |size: usize| {
        let mut body = chat("small");
        body["messages"][0]["content"] = "x".repeat(size).into();
        body.to_string()
    };
    let large = world.ask_with(&token, "POST", "/v1/chat/completions", &[], body(10 << 20));
    assert_eq!(large.status(), 200);
    assert!(large.body.len() > 10 << 20);
    let larger = world.ask_with(&token, "POST", "/v1/messages", &[], body(16 << 20));
    assert_eq!((larger.status(), &larger.json()["error"]["type"]), (413, &json!("request_too_large")));
    // One that does not say how long it is.
    let bearer = format!("Bearer {}", token.show());
    let mut client = Client::connect(world.door(Door::Evaluation));
    client.raw(format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\nauthorization: {bearer}\r\ntransfer-encoding: chunked\r\n\r\n"));
    for _ in 0..20 {
        client.raw(format!("100000\r\n{}\r\n", "x".repeat(1 << 20)));
    }
    assert_eq!(client.head().status(), 413);
    assert_eq!(world.usage(id).requests, 1);
}

#[test]
fn many_large_bodies_at_once_wait_for_memory_and_all_are_answered() {
    let config = json!({
        "evaluation": scope(&json!({})),
        "sizes": { "request": 1 << 20, "answer": 1 << 20, "memory": 4 << 20 },
    });
    let world = Arc::new(World::new(config, obliging));
    let (id, token) = world.mint(Scope::Evaluation);
    let mut body = chat("small");
    body["messages"][0]["content"] = "x".repeat(1_000_000).into();
    let body = body.to_string();
    thread::scope(|threads| {
        for _ in 0..16 {
            threads.spawn(|| {
                let answer = world.ask_with(&token, "POST", "/v1/chat/completions", &[], &body);
                assert_eq!(answer.status(), 200, "{}", answer.text());
            });
        }
    });
    assert_eq!(world.usage(id).requests, 16);
}

#[test]
fn a_request_behind_another_is_checked_on_its_own() {
    let world = World::limited(&json!({}), obliging);
    let (id, token) = world.mint(Scope::Evaluation);
    let bearer = format!("authorization: Bearer {}\r\n", token.show());
    let request = |who: &str, model: &str| {
        let body = chat(model).to_string();
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n{who}content-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let mut client = Client::connect(world.door(Door::Evaluation));
    // All in one piece.
    client.raw(
        [request(&bearer, "small"), request("", "small"), request(&bearer, "big"), request(&bearer, "small")]
            .concat(),
    );
    let said: Vec<u16> = (0..4).map(|_| client.answer().status()).collect();
    assert_eq!(said, [200, 401, 403, 200]);
    assert_eq!(world.usage(id).requests, 2);
    assert_eq!(world.upstream.requests().len(), 2);
}

#[test]
fn a_body_whose_length_could_be_read_in_two_ways_hides_no_request() {
    let world = World::limited(&json!({}), obliging);
    let (_, token) = world.mint(Scope::Evaluation);
    let bearer = format!("authorization: Bearer {}\r\n", token.show());
    let hidden = format!("GET /v1/models HTTP/1.1\r\nhost: x\r\n{bearer}\r\n");
    let body = format!("0\r\n\r\n{hidden}");
    let length = body.len();
    for framing in [
        format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n"),
        format!("transfer-encoding: chunked\r\ncontent-length: {length}\r\n"),
        format!("content-length: {length}\r\ncontent-length: 5\r\n"),
        format!("content-length: {length}, {length}\r\n"),
        format!("content-length: +{length}\r\n"),
        format!("content-length : {length}\r\n"),
        format!("content-length: {length}\r\ntransfer-encoding: xchunked\r\n"),
        "transfer-encoding: chunked, identity\r\n".to_owned(),
        "transfer-encoding: \u{b}chunked\r\n".to_owned(),
    ] {
        let mut client = Client::connect(world.door(Door::Evaluation));
        client.raw(format!("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n{bearer}{framing}\r\n{body}"));
        let first = client.answer();
        assert_eq!(first.status(), 400, "{framing}: {}", first.text());
        assert!(client.is_closed(), "{framing}");
    }
    assert!(world.upstream.requests().is_empty());
}

#[test]
fn a_body_that_two_readers_understand_differently_is_refused() {
    let world = World::limited(&json!({}), obliging);
    let (id, token) = world.mint(Scope::Evaluation);
    for (body, status) in [
        (r#"{"model":"small","model":"big"}"#, 400),
        (r#"{"model":"small","MODEL":"big"}"#, 400),
        (r#"{"model":"small","fallbacks":["big"]}"#, 403),
        (r#"{"model":"small","tools":[{"type":"web_search"}]}"#, 403),
        (r#"{"model":"small","max_tokens":"many"}"#, 400),
        (r#"{"model":"small","n":-3}"#, 400),
        ("not json", 400),
        ("\u{feff}{}", 400),
        ("", 400),
        (&format!("{{\"a\":{}", "[".repeat(100_000)), 400),
    ] {
        let answer = world.ask_with(&token, "POST", "/v1/chat/completions", &[], body);
        assert_eq!(answer.status(), status, "{}", answer.text());
        assert!(answer.json()["error"]["message"].is_string());
    }
    assert_eq!(world.ask_with(&token, "POST", "/v1/responses", &[], [0xff, 0xfe]).status(), 400);
    assert!(world.upstream.requests().is_empty());
    assert_eq!(world.usage(id).refused, 11);
}

#[test]
fn a_client_that_sends_nothing_is_not_waited_for() {
    let config = json!({ "evaluation": scope(&json!({})), "patience": { "head": 0.2, "body": 0.2 } });
    let world = World::new(config, obliging);
    let (_, token) = world.mint(Scope::Evaluation);
    let mut silent = Client::connect(world.door(Door::Evaluation));
    silent.raw("POST /v1/chat/completions HTTP/1.1\r\nhost:");
    assert!(silent.is_closed() || silent.is_closed());
    let mut slow = Client::connect(world.door(Door::Evaluation));
    let bearer = token.show();
    slow.raw(format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {bearer}\r\ncontent-length: 100\r\n\r\n{{"
    ));
    assert_eq!(slow.answer().status(), 408);
}

#[test]
fn no_error_says_what_makes_clients_try_again() {
    let world = World::limited(&json!({ "max_tokens": 429 }), obliging);
    let (_, token) = world.mint(Scope::Evaluation);
    let mut body = chat("small");
    body["max_tokens"] = 4290.into();
    let mut said = vec![world.ask(&token, "/v1/chat/completions", &body)];
    for (path, body) in
        [("/v1/files", json!({})), ("/v1/messages", chat("big")), ("/v1/messages", Value::Null)]
    {
        said.push(world.ask(&token, path, &body));
    }
    for answer in said {
        let text = answer.text().to_lowercase();
        for word in ["rate limit", "rate_limit", "429", "too many requests", "overloaded", "timeout"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
        assert_eq!(answer.header("x-should-retry"), Some("false"));
    }
}
