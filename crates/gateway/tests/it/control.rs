//! The socket of our own side.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use serde_json::{Value, json};
use taskwright_gateway::{Client, Door, Scope, Token, Tokens as _};
use taskwright_testing::test;

use crate::support::{World, chat, obliging, scope};

#[test]
fn another_process_makes_tokens_and_reads_what_they_used() {
    let world = World::limited(&json!({ "max_requests": 2 }), obliging);
    let client = Client::new(world.folder.path().join("control/socket"));
    let (id, token) = client.mint(Scope::Evaluation, "evaluation 1").unwrap();
    assert_eq!(world.ask(&token, "/v1/messages", &chat("small")).status(), 200);
    let usage = client.usage(id).unwrap();
    assert_eq!((usage.requests, usage.tokens.total(), usage), (1, 15, world.usage(id)));
    let budget = client.budget(Scope::Finalization).unwrap().unwrap();
    assert_eq!((budget.pool, budget.requests_left, budget.tokens_left), (Scope::Evaluation, Some(1), None));
    assert_eq!(client.budget(Scope::Producer).unwrap(), None);
    assert_eq!(client.revoke(id).unwrap().requests, 1);
    assert_eq!(world.ask(&token, "/v1/messages", &chat("small")).status(), 401);
    // Ended twice, it has ended.
    assert_eq!(client.revoke(id).unwrap().requests, 1);
    let error = client.usage(taskwright_gateway::TokenId(99)).unwrap_err();
    assert_eq!(error.to_string(), "there is no token 99");
    assert!(client.mint(Scope::Producer, "x").is_err());
    let left = [(); 2].map(|()| client.mint(Scope::Evaluation, "left open").unwrap().1);
    client.revoke_all(Door::Evaluation).unwrap();
    assert!(left.iter().all(|token| world.ask(token, "/v1/models", &json!({})).status() == 401));
}

#[test]
fn what_a_scope_used_is_the_sum_over_its_tokens_wherever_its_budget_is() {
    let mut world = World::new(
        json!({
            "producer": scope(&json!({})),
            "evaluation": scope(&json!({})),
            "prices": { "up/small": { "input": 1, "output": 10 } },
            "model_aliases": { "small": "up/small" },
        }),
        obliging,
    );
    let socket = world.folder.path().join("control/socket");
    let used = |scope| Client::new(&socket).used(scope).unwrap().unwrap();
    for (scope, model) in
        [(Scope::Evaluation, "small"), (Scope::Evaluation, "openai/big"), (Scope::Finalization, "small")]
    {
        let (id, token) = Client::new(&socket).mint(scope, "evaluation").unwrap();
        assert_eq!(world.ask(&token, "/v1/messages", &chat(model)).status(), 200);
        Client::new(&socket).revoke(id).unwrap();
    }
    let search = used(Scope::Evaluation);
    assert_eq!((search.requests, search.tokens.input, search.tokens.output), (2, 20, 10));
    // What has no price is not taken for free.
    assert_eq!((search.cost.to_string(), search.unpriced), ("$0.0001".to_owned(), 1));
    let end = used(Scope::Finalization);
    assert_eq!((end.requests, end.unpriced, end.cost), (1, 0, search.cost));
    assert_eq!(used(Scope::Producer), taskwright_gateway::Usage::default());
    world.again();
    assert_eq!((used(Scope::Evaluation), used(Scope::Finalization)), (search, end));
    let without = World::limited(&json!({}), obliging);
    assert_eq!(without.gateway().handle().used(Scope::Producer).unwrap(), None);
}

#[test]
fn nobody_else_may_open_the_socket_and_nonsense_is_answered() {
    let world = World::limited(&json!({}), obliging);
    let socket = world.folder.path().join("control/socket");
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(b"nonsense\n{\"mint\":{\"scope\":\"owner\",\"attribution\":\"\"}}\n{\"budget\":{\"scope\":\"evaluation\"}}\n").unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert!(next()["failed"]["message"].is_string() && next()["failed"]["message"].is_string());
    assert_eq!(next()["budget"]["pool"], "evaluation");
    drop(world);
    let error = Client::new(&socket).at_once().budget(Scope::Evaluation).unwrap_err();
    assert!(error.hint_text().is_some(), "{error}");
}

#[test]
fn a_token_in_a_file_stays_valid_when_the_gateway_is_started_again() {
    let mut world =
        World::new(json!({ "producer": scope(&json!({})), "evaluation": scope(&json!({})) }), obliging);
    let path = world.folder.path().join("tokens/producer");
    let mint =
        |world: &World| world.gateway().handle().mint_into(Scope::Producer, "optimizer", &path).unwrap();
    let first = mint(&world);
    let token = std::fs::read_to_string(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    world.again();
    assert_eq!((mint(&world), std::fs::read_to_string(&path).unwrap()), (first, token.clone()));
    world.gateway().handle().revoke(first).unwrap();
    assert_ne!(mint(&world), first);
    assert_ne!(std::fs::read_to_string(&path).unwrap(), token);
}

#[test]
fn a_token_that_somebody_else_has_chosen_is_one() {
    let world = World::new(json!({ "producer": scope(&json!({ "max_requests": 1 })) }), obliging);
    let path = world.folder.path().join("tokens/producer");
    let token = Token::shown("0123456789abcdef0123456789abcdef");
    let admit = || world.gateway().handle().admit_into(Scope::Producer, "optimizer", &token, &path).unwrap();
    let id = admit();
    assert_eq!((admit(), std::fs::read_to_string(&path).unwrap().as_str()), (id, token.show()));
    assert!(world.gateway().handle().usage(id).unwrap().requests == 0);
}

#[test]
fn what_was_refused_for_want_of_budget_is_counted_apart() {
    let world = World::limited(&json!({ "max_requests": 1 }), obliging);
    let (id, token) = world.gateway().handle().mint(Scope::Evaluation, "evaluation 1").unwrap();
    for (model, status) in [("other", 403), ("small", 200), ("small", 402), ("small", 402)] {
        assert_eq!(world.ask(&token, "/v1/chat/completions", &chat(model)).status(), status);
    }
    let usage = world.gateway().handle().revoke(id).unwrap();
    assert_eq!((usage.requests, usage.refused, usage.spent), (1, 3, 2));
}

#[test]
fn the_log_says_for_whom_a_request_was_only_where_that_is_asked_for() {
    for asked in [true, false] {
        let mut config = json!({ "evaluation": scope(&json!({ "model_aliases": { "small": "up/small" } })) });
        config["request_log_attribution"] = asked.into();
        let mut world = World::new(config, obliging);
        let (id, token) = world.gateway().handle().mint(Scope::Evaluation, "evaluation 7").unwrap();
        let headers = [("x-session-id", "sample 3")];
        world.ask_with(&token, "POST", "/v1/messages", &headers, chat("small").to_string());
        world.ask(&token, "/v1/messages", &chat("other"));
        drop(world.gateway.take());
        let log = std::fs::read_to_string(world.folder.path().join("state/requests.jsonl")).unwrap();
        let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!((&lines[0]["model"], &lines[0]["upstream_model"]), (&json!("small"), &json!("up/small")));
        assert_eq!(
            (&lines[0]["tokens"]["output"], &lines[0]["end"], &lines[0]["token"]),
            (&json!(5), &json!("answered"), &json!(id))
        );
        assert_eq!((&lines[1]["status"], &lines[1]["model"]), (&json!(403), &json!("other")));
        let said = (lines[0].get("attribution"), lines[0].get("session"));
        let (attribution, session) = (json!("evaluation 7"), json!("sample 3"));
        assert_eq!(said, if asked { (Some(&attribution), Some(&session)) } else { (None, None) });
    }
}
