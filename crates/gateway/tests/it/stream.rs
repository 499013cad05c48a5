//! Streams: as they came, at once, counted, and ended when they must be.

use std::sync::Mutex;
use std::sync::mpsc;

use serde_json::{Value, json};
use taskwright_gateway::{Door, Scope, Tokens as _};
use taskwright_testing::test;

use crate::support::{Client, PATIENCE, World, chat, scope, streamed, wait};

fn chunk(content: &str) -> String {
    let choices = json!([{ "index": 0, "delta": { "content": content }, "finish_reason": null }]);
    json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "up/small", "choices": choices }).to_string()
}

fn usage(input: u64, output: u64) -> String {
    let usage =
        json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output });
    json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "up/small", "choices": [], "usage": usage })
        .to_string()
}

/// The data of a stream's events.
fn data(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("data: ")).collect()
}

#[test]
fn a_stream_is_the_same_however_the_upstream_splits_it() {
    let text = format!(
        ": hello\r\n\r\ndata: {}\r\n\r\ndata: {}\n\ndata: {}\r\n\r\ndata: [DONE]\r\n\r\n",
        chunk("hä"),
        chunk("llo").replace(",\"object\"", ",\ndata: \"object\""),
        usage(21, 4)
    );
    let script = text.clone();
    let world = World::limited(&json!({ "model_aliases": { "small": "up/small" } }), move |asked, reply| {
        let size = asked.header("x-size").unwrap().parse().unwrap();
        assert_eq!(asked.json()["stream_options"]["include_usage"], true);
        reply.events(&script, size);
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let ask = |size: usize, body: &Value| {
        let size = size.to_string();
        world.ask_with(&token, "POST", "/v1/chat/completions", &[("x-size", &size)], body.to_string())
    };
    let mut asked = streamed("small");
    asked["stream_options"] = json!({ "include_usage": true });
    let changed = text.replace("up/small", "small");
    for size in [1, 2, 3, 7, 50, text.len()] {
        let shown = ask(size, &asked).text();
        assert_eq!(data(&shown).concat(), data(&changed).concat(), "{size}");
        assert!(shown.starts_with(": hello\r\n\r\n") && !shown.contains("up/small"));
        // The piece that says what it took is left out for who did not ask for it.
        let hidden = ask(size, &streamed("small")).text();
        assert!(!hidden.contains("\"choices\":[]") && hidden.ends_with("data: [DONE]\r\n\r\n"), "{hidden}");
    }
    let used = world.usage(id);
    assert_eq!(
        (used.requests, used.tokens.input, used.tokens.output, used.estimated),
        (12, 12 * 21, 12 * 4, 0)
    );
}

#[test]
fn the_first_byte_of_a_stream_does_not_wait_for_the_second() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let world = World::limited(&json!({ "model_aliases": { "small": "up/small" } }), move |_, reply| {
        reply.begin_events();
        reply.piece(format!("data: {}\n\n", chunk("first")));
        wait.lock().unwrap().recv().unwrap();
        reply.piece("data: [DONE]\n\n");
        reply.end();
    });
    let (_, token) = world.mint(Scope::Evaluation);
    let bearer = format!("Bearer {}", token.show());
    let mut client = Client::connect(world.door(Door::Evaluation));
    client.send("POST", "/v1/chat/completions", &[("authorization", &bearer)], streamed("small").to_string());
    assert_eq!(client.head().status(), 200);
    let first = String::from_utf8(client.piece().unwrap().unwrap()).unwrap();
    assert!(first.contains("first"), "{first}");
    go.send(()).unwrap();
    assert_eq!(client.piece().unwrap().unwrap(), b"data: [DONE]\n\n");
}

#[test]
fn a_stream_without_usage_is_counted_by_its_text_and_marked() {
    let world = World::limited(&json!({}), |_, reply| {
        let text: String = (0..10).map(|_| format!("data: {}\n\n", chunk("12345678"))).collect();
        reply.events(&text, 100);
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let body = streamed("small");
    world.ask(&token, "/v1/chat/completions", &body);
    let used = world.usage(id);
    let input = body.to_string().len().div_ceil(4) as u64;
    assert_eq!((used.tokens.input, used.tokens.output, used.estimated), (input, 20, 1));
}

#[test]
fn a_stream_in_anthropics_words_is_counted_from_its_two_ends() {
    let world = World::limited(&json!({ "model_aliases": { "small": "up/small" } }), |_, reply| {
        let start = json!({ "type": "message_start", "message": { "model": "up/small", "usage":
            { "input_tokens": 3, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 7, "output_tokens": 1 } } });
        let delta = json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "hi" } });
        let end = json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 9 } });
        let text = format!(
            "event: message_start\ndata: {start}\n\nevent: ping\ndata: {{\"type\": \"ping\"}}\n\n\
             event: content_block_delta\ndata: {delta}\n\nevent: message_delta\ndata: {end}\n\n\
             event: message_stop\ndata: {{\"type\": \"message_stop\"}}\n\n"
        );
        reply.events(&text, 11);
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let shown = world.ask(&token, "/v1/messages", &streamed("small")).text();
    assert!(
        shown.contains("\"model\":\"small\"")
            && shown.contains("event: ping\ndata: {\"type\": \"ping\"}\n\n")
    );
    let used = world.usage(id);
    let tokens = used.tokens;
    assert_eq!(
        (tokens.input, tokens.cached, tokens.written, tokens.output, used.estimated),
        (20, 10, 7, 9, 0)
    );
}

#[test]
fn streams_of_responses_and_of_gemini_are_counted_from_their_last_word() {
    let world = World::limited(&json!({}), |asked, reply| {
        let text = if asked.path().contains("/responses") {
            let usage = json!({ "input_tokens": 8, "output_tokens": 6, "output_tokens_details": { "reasoning_tokens": 4 } });
            let done =
                json!({ "type": "response.completed", "response": { "model": "small", "usage": usage } });
            format!(
                "event: response.output_text.delta\ndata: {}\n\nevent: response.completed\ndata: {done}\n\n",
                json!({ "type": "response.output_text.delta", "delta": "hi" })
            )
        } else {
            let chunk = |output: u64| {
                let parts = json!([{ "content": { "parts": [{ "text": "hi" }] } }]);
                json!({ "candidates": parts, "usageMetadata": { "promptTokenCount": 8, "candidatesTokenCount": output } })
            };
            format!("data: {}\r\n\r\ndata: {}\r\n\r\n", chunk(2), chunk(6))
        };
        reply.events(&text, 9);
    });
    let (id, token) = world.mint(Scope::Evaluation);
    world.ask(&token, "/v1/responses", &json!({ "model": "small", "input": "x", "stream": true }));
    let used = world.usage(id);
    assert_eq!((used.tokens.input, used.tokens.output, used.tokens.reasoning, used.estimated), (8, 6, 4, 0));
    let answer = world.ask(&token, "/v1beta/models/small:streamGenerateContent", &json!({}));
    assert_eq!(answer.status(), 400);
    world.ask(&token, "/v1beta/models/small:streamGenerateContent?alt=sse&key=x", &json!({}));
    let used = world.usage(id);
    assert_eq!((used.tokens.input, used.tokens.output, used.estimated), (16, 12, 0));
    assert_eq!(world.upstream.requests()[1].path(), "/v1beta/models/small:streamGenerateContent?alt=sse");
}

#[test]
fn who_hangs_up_is_charged_what_passed_and_the_upstream_is_told() {
    let world = World::limited(&json!({}), |_, reply| {
        reply.begin_events();
        while reply.piece(format!("data: {}\n\n", chunk("12345678"))) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let bearer = format!("Bearer {}", token.show());
    let mut client = Client::connect(world.door(Door::Evaluation));
    client.send("POST", "/v1/chat/completions", &[("authorization", &bearer)], streamed("small").to_string());
    client.head();
    client.piece().unwrap();
    drop(client);
    let used = world.until(id, |usage| usage.open == 0);
    assert!(used.requests == 1 && used.estimated == 1 && used.tokens.output >= 2, "{used:?}");
    wait(
        || (world.upstream.open.load(std::sync::atomic::Ordering::SeqCst) == 0).then_some(()),
        || "open".into(),
    );
}

#[test]
fn who_hangs_up_before_the_answer_is_charged_what_was_set_aside() {
    let world = World::limited(&json!({}), |_, reply| reply.stall());
    let (id, token) = world.mint(Scope::Evaluation);
    let bearer = format!("Bearer {}", token.show());
    let mut client = Client::connect(world.door(Door::Evaluation));
    let body = chat("small").to_string();
    client.send("POST", "/v1/chat/completions", &[("authorization", &bearer)], &body);
    world.until(id, |usage| usage.open == 1);
    wait(|| (!world.upstream.requests().is_empty()).then_some(()), || "asked".into());
    drop(client);
    let used = world.until(id, |usage| usage.open == 0);
    assert_eq!((used.requests, used.tokens.output, used.estimated), (1, 100, 1));
    assert_eq!(used.tokens.input, body.len().div_ceil(4) as u64);
}

#[test]
fn an_upstream_that_stalls_is_given_up() {
    let mut config = json!({ "evaluation": scope(&json!({})), "patience": { "answer": 0.2, "stream": 0.2 } });
    config["evaluation"]["max_tokens"] = 1000.into();
    let world = World::new(config, |asked, reply| {
        if asked.text().contains("\"stream\"") {
            reply.begin_events();
            reply.piece(format!("data: {}\n\n", chunk("12345678")));
        }
        reply.stall();
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let late = world.ask(&token, "/v1/chat/completions", &chat("small"));
    assert_eq!(late.status(), 504);
    assert_eq!((world.usage(id).requests, world.usage(id).failed), (0, 1));
    let bearer = format!("Bearer {}", token.show());
    let mut client = Client::connect(world.door(Door::Evaluation));
    client.send("POST", "/v1/chat/completions", &[("authorization", &bearer)], streamed("small").to_string());
    assert_eq!(client.head().status(), 200);
    assert!(client.piece().unwrap().is_some());
    // Broken off, so that nobody takes a part for everything.
    assert!(client.piece().is_err());
    let used = world.until(id, |usage| usage.open == 0);
    assert_eq!((used.requests, used.tokens.output, used.estimated), (1, 2, 1));
}

#[test]
fn a_stream_that_breaks_off_breaks_off() {
    let world = World::limited(&json!({}), |_, reply| {
        reply.begin_events();
        reply.piece(format!("data: {}\n\n", chunk("12345678")));
        reply.raw("nonsense\r\n");
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let bearer = format!("Bearer {}", token.show());
    let mut client = Client::connect(world.door(Door::Evaluation));
    client.send("POST", "/v1/chat/completions", &[("authorization", &bearer)], streamed("small").to_string());
    client.head();
    while client.piece().is_ok_and(|piece| piece.is_some()) {}
    let used = world.until(id, |usage| usage.open == 0);
    assert_eq!((used.requests, used.estimated), (1, 1));
}

#[test]
fn the_streams_of_a_token_end_with_it() {
    let world = World::limited(&json!({}), |_, reply| {
        reply.begin_events();
        while reply.piece(format!("data: {}\n\n", chunk("12345678"))) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let bearer = format!("Bearer {}", token.show());
    let mut client = Client::connect(world.door(Door::Evaluation));
    client.send("POST", "/v1/chat/completions", &[("authorization", &bearer)], streamed("small").to_string());
    client.head();
    client.piece().unwrap();
    world.gateway().handle().revoke(id).unwrap();
    while client.piece().is_ok() {}
    let used = world.until(id, |usage| usage.open == 0);
    assert_eq!((used.requests, used.estimated), (1, 1));
}

#[test]
fn a_gateway_that_is_stopped_lets_streams_end() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let mut world = World::limited(&json!({}), move |_, reply| {
        reply.begin_events();
        reply.piece(format!("data: {}\n\n", chunk("first")));
        wait.lock().unwrap().recv().unwrap();
        reply.piece(format!("data: {}\n\ndata: [DONE]\n\n", usage(5, 1)));
        reply.end();
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let bearer = format!("Bearer {}", token.show());
    let address = world.door(Door::Evaluation);
    let mut client = Client::connect(address);
    client.send("POST", "/v1/chat/completions", &[("authorization", &bearer)], streamed("small").to_string());
    client.head();
    client.piece().unwrap();
    let gateway = world.gateway.take().unwrap();
    let stopping = std::thread::spawn(move || gateway.stop(PATIENCE));
    crate::support::wait(|| std::net::TcpStream::connect(address).is_err().then_some(()), || "closed".into());
    go.send(()).unwrap();
    let mut rest = Vec::new();
    while let Some(piece) = client.piece().unwrap() {
        rest.extend(piece);
    }
    assert!(rest.ends_with(b"[DONE]\n\n"));
    stopping.join().unwrap();
    world.again();
    let used = world.usage(id);
    assert_eq!((used.requests, used.tokens.total(), used.estimated), (1, 6, 0));
}
