//! Who is to blame where the upstream does not take the key.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use taskwright_gateway::Scope;
use taskwright_testing::test;

use crate::support::{KEY, Message, Reply, World, chat, obliging};

/// What the upstream is told to do with a key.
fn is_bearer(asked: &Message) -> bool {
    asked.header("authorization") == Some(&format!("Bearer {KEY}"))
}

fn refuse(reply: &mut Reply<'_>) {
    reply.whole(401, &[], "{}");
}

/// Knows the key where OpenAI's clients have it, and nowhere else.
fn bearer_only(asked: &Message, reply: &mut Reply<'_>) {
    if is_bearer(asked) { obliging(asked, reply) } else { refuse(reply) }
}

/// Reads bodies before keys, and lists its models to everybody: nothing that is free says whether it knows the key.
fn close_lipped(asked: &Message, reply: &mut Reply<'_>) {
    match asked.text().as_str() {
        "" => reply.json(&json!({ "data": [] })),
        "{}" => reply.whole(400, &[], "{}"),
        _ => bearer_only(asked, reply),
    }
}

#[test]
fn a_dialect_that_the_upstream_does_not_take_is_the_fault_of_who_asks_in_it() {
    // Before and after the upstream has taken the key for something.
    for first in [None, Some("/v1/chat/completions")] {
        let world = World::limited(&json!({}), bearer_only);
        let (id, token) = world.mint(Scope::Evaluation);
        if let Some(path) = first {
            assert_eq!(world.ask(&token, path, &chat("small")).status(), 200);
        }
        for path in [
            "/v1/messages/count_tokens",
            "/v1beta/models/small:countTokens",
            "/v1/messages",
            "/v1beta/models/small:generateContent",
        ] {
            let answer = world.ask(&token, path, &chat("small"));
            assert_eq!((answer.status(), answer.header("x-should-retry")), (400, Some("false")), "{path}");
            assert!(answer.text().contains("in the words of another dialect"), "{}", answer.text());
        }
        let anthropic = world.ask(&token, "/v1/messages", &chat("small")).json();
        assert_eq!(anthropic["error"]["type"], "invalid_request_error");
        let usage = world.usage(id);
        let asked = u64::from(first.is_some());
        assert_eq!((usage.unreachable, usage.requests, usage.tokens.total()), (0, asked, 15 * asked));
        assert_eq!(world.ask(&token, "/v1/chat/completions", &chat("small")).status(), 200);
    }
}

#[test]
fn however_often_it_is_brought_about_the_upstream_is_asked_once_in_a_while() {
    let world = World::limited(&json!({}), bearer_only);
    let (_, token) = world.mint(Scope::Evaluation);
    for _ in 0..20 {
        assert_eq!(world.ask(&token, "/v1/messages/count_tokens", &chat("small")).status(), 400);
    }
    let lists = world.upstream.requests().iter().filter(|seen| seen.path() == "/v1/models").count();
    // Ours and one that is made up; were the machine so slow that this takes longer than is believed, as often again.
    assert!((2..=6).contains(&lists), "{lists}");
}

#[test]
fn a_key_that_the_upstream_does_not_know_is_not_the_clients_fault() {
    let everything: fn(&Message, &mut Reply<'_>) = |_, reply| refuse(reply);
    // Paths that are not there, and a list for everybody, say nothing of the key.
    let in_part: fn(&Message, &mut Reply<'_>) = |asked, reply| match asked.path() {
        "/v1/models" => reply.json(&json!({ "data": [] })),
        path if path.starts_with("/v1beta") => reply.whole(404, &[], "{}"),
        _ => refuse(reply),
    };
    for script in [everything, in_part] {
        let world = World::limited(&json!({}), script);
        let (id, token) = world.mint(Scope::Evaluation);
        for (asked, path) in ["/v1/chat/completions", "/v1/messages/count_tokens"].into_iter().enumerate() {
            let answer = world.ask(&token, path, &chat("small"));
            assert_eq!((answer.status(), answer.header("x-should-retry")), (502, Some("false")));
            assert!(answer.text().contains("the gateway's own key"), "{}", answer.text());
            assert_eq!(world.usage(id).unreachable, asked as u64 + 1);
        }
        assert_eq!(world.usage(id).requests, 0);
    }
}

#[test]
fn a_key_that_is_withdrawn_is_blamed_though_it_was_taken_before() {
    let withdrawn = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&withdrawn);
    let world = World::limited(&json!({}), move |asked, reply| {
        if told.load(Ordering::Relaxed) { refuse(reply) } else { bearer_only(asked, reply) }
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let ask = || world.ask(&token, "/v1/chat/completions", &chat("small")).status();
    assert_eq!(ask(), 200);
    withdrawn.store(true, Ordering::Relaxed);
    assert_eq!((ask(), world.usage(id).unreachable), (502, 1));
}

#[test]
fn where_nothing_free_says_whether_a_key_is_known_it_is_what_was_taken_before() {
    let world = World::limited(&json!({}), close_lipped);
    let (id, token) = world.mint(Scope::Evaluation);
    assert_eq!(world.ask(&token, "/v1/chat/completions", &chat("small")).status(), 200);
    let answer = world.ask(&token, "/v1/messages/count_tokens", &chat("small"));
    assert_eq!((answer.status(), world.usage(id).unreachable), (400, 0), "{}", answer.text());
    let world = World::limited(&json!({}), close_lipped);
    let (id, token) = world.mint(Scope::Evaluation);
    let answer = world.ask(&token, "/v1/messages/count_tokens", &chat("small"));
    assert_eq!((answer.status(), world.usage(id).unreachable), (502, 1), "{}", answer.text());
}
