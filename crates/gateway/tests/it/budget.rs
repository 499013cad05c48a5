//! Budgets: set aside before, charged after, given back, waited for, and never overdrawn by many at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use serde_json::json;
use taskwright_gateway::{Money, Scope, Tokens as _};
use taskwright_testing::test;

use crate::support::{World, chat, chat_answer, obliging, scope};

#[test]
fn of_a_hundred_at_once_with_one_request_left_one_is_answered() {
    let world = Arc::new(World::limited(&json!({ "max_requests": 1 }), obliging));
    let tokens: Vec<_> = (0..100).map(|_| world.mint(Scope::Evaluation)).collect();
    let together = Barrier::new(100);
    let answered = AtomicUsize::new(0);
    thread::scope(|threads| {
        for (_, token) in &tokens {
            let (world, together, answered) = (&world, &together, &answered);
            threads.spawn(move || {
                together.wait();
                let answer = world.ask(token, "/v1/chat/completions", &chat("small"));
                match answer.status() {
                    200 => drop(answered.fetch_add(1, Ordering::Relaxed)),
                    402 => assert_eq!(answer.header("x-should-retry"), Some("false")),
                    other => panic!("{other}: {}", answer.text()),
                }
            });
        }
    });
    assert_eq!((answered.into_inner(), world.upstream.requests().len()), (1, 1));
    let left = world.gateway().handle().budget(Scope::Evaluation).unwrap().unwrap();
    assert!(left.is_spent() && left.requests_left == Some(0));
}

#[test]
fn what_failed_is_given_back_and_those_who_waited_for_it_go_on() {
    let world = Arc::new(World::limited(&json!({ "max_requests": 2 }), |asked, reply| {
        if asked.header("x-case") == Some("fail") {
            thread::sleep(std::time::Duration::from_millis(200));
            reply.whole(500, &[], "{}");
        } else {
            obliging(asked, reply);
        }
    }));
    let (id, token) = world.mint(Scope::Evaluation);
    let ask = |case| {
        world
            .ask_with(&token, "POST", "/v1/chat/completions", &[("x-case", case)], chat("small").to_string())
            .status()
    };
    thread::scope(|threads| {
        let failing = [threads.spawn(|| ask("fail")), threads.spawn(|| ask("fail"))];
        world.until(id, |usage| usage.open == 2);
        let waiting = threads.spawn(|| ask("pass"));
        assert_eq!(failing.map(|thread| thread.join().unwrap()), [500, 500]);
        assert_eq!(waiting.join().unwrap(), 200);
    });
    assert_eq!([ask("pass"), ask("pass")], [200, 402]);
    let usage = world.usage(id);
    assert_eq!((usage.requests, usage.failed, usage.refused), (2, 2, 1));
}

#[test]
fn tokens_are_set_aside_for_all_that_may_come_out() {
    let world = World::limited(&json!({ "max_tokens": 10_000 }), obliging);
    let (id, token) = world.mint(Scope::Evaluation);
    let ask = |n: u64, most: Option<u64>| {
        let mut body = chat("small");
        body["n"] = n.into();
        body["max_tokens"] = most.into();
        world.ask(&token, "/v1/chat/completions", &body)
    };
    let refused = ask(100, Some(100));
    assert_eq!(refused.status(), 402);
    assert!(refused.text().contains("of 10000 are left; allow it less output"), "{}", refused.text());
    assert_eq!(ask(90, Some(100)).status(), 200);
    // Without a word about it, 4096.
    assert_eq!([ask(2, None).status(), ask(3, None).status()], [200, 402]);
    assert_eq!(ask(1, Some(u64::MAX)).status(), 402);
    assert_eq!((world.usage(id).tokens.total(), world.usage(id).refused), (30, 3));
}

#[test]
fn a_budget_of_money_is_kept_by_the_price() {
    let mut config = json!({
        "producer": scope(&json!({ "max_cost": 0.001 })),
        "evaluation": scope(&json!({ "max_cost": 0.001 })),
        "model_aliases": { "small": "up/small" },
        "prices": { "up/small": { "input": 1, "output": 10 }, "openai/big": { "input": 100, "output": 1000 } },
    });
    config["upstream_says_cost"] = true.into();
    let world = World::new(config, |asked, reply| {
        let cost = asked.header("x-cost").unwrap_or("nan");
        let headers = [("content-type", "application/json"), ("x-litellm-response-cost", cost)];
        reply.whole(200, &headers, chat_answer("up/small", 10, 5).to_string());
    });
    let (id, token) = world.mint(Scope::Evaluation);
    // About 30 tokens in and 100 out: a tenth of a cent and more.
    let refused = world.ask(&token, "/v1/chat/completions", &chat("small"));
    assert_eq!(refused.status(), 402);
    assert!(
        refused.text().contains("may cost $0.0010, and $0.0010 of $0.0010 are left"),
        "{}",
        refused.text()
    );
    let mut body = chat("small");
    body["max_tokens"] = 50.into();
    let ask = |cost: &str| {
        let headers = [("x-cost", cost)];
        world.ask_with(&token, "POST", "/v1/chat/completions", &headers, body.to_string()).status()
    };
    assert_eq!(ask("nonsense"), 200);
    assert_eq!(world.usage(id).cost, Money::dollars(0.00006).unwrap());
    // The upstream knows better, within reason.
    assert_eq!([ask("0.0002"), ask("1e9"), ask("-5"), ask("90000")], [200; 4]);
    assert_eq!(world.usage(id).cost, Money::dollars(0.00006 * 4.0 + 0.0002).unwrap());
    assert_eq!(ask("0.0009"), 200);
    assert_eq!(ask("0"), 402);
}

#[test]
fn more_than_may_be_under_way_wait_and_none_is_refused() {
    let open = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (inside, highest) = (Arc::clone(&open), Arc::clone(&most));
    let world = Arc::new(World::limited(&json!({ "max_concurrency": 3 }), move |asked, reply| {
        highest.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        thread::sleep(std::time::Duration::from_millis(5));
        inside.fetch_sub(1, Ordering::SeqCst);
        obliging(asked, reply);
    }));
    let (id, token) = world.mint(Scope::Evaluation);
    thread::scope(|threads| {
        for _ in 0..30 {
            threads.spawn(|| assert_eq!(world.ask(&token, "/v1/messages", &chat("small")).status(), 200));
        }
    });
    assert_eq!(world.usage(id).requests, 30);
    assert!(most.load(Ordering::SeqCst) <= 3);
}

#[test]
fn finalization_has_a_budget_of_its_own_where_it_is_declared() {
    let limits = json!({ "max_requests": 1 });
    let own = World::new(json!({ "evaluation": scope(&limits), "finalization": scope(&limits) }), obliging);
    let common = World::new(json!({ "evaluation": scope(&limits) }), obliging);
    for (world, last) in [(own, 200), (common, 402)] {
        let (_, evaluation) = world.mint(Scope::Evaluation);
        let (_, finalization) = world.mint(Scope::Finalization);
        assert_eq!(world.ask(&evaluation, "/v1/messages", &chat("small")).status(), 200);
        assert_eq!(world.ask(&evaluation, "/v1/messages", &chat("small")).status(), 402);
        assert_eq!(world.ask(&finalization, "/v1/messages", &chat("small")).status(), last);
        assert!(world.gateway().handle().mint(Scope::Producer, "nobody").is_err());
    }
}

#[test]
fn a_response_in_the_background_is_charged_what_it_may_take() {
    let world = World::limited(&json!({}), |_, reply| {
        reply.json(
            &json!({ "id": "resp_1", "status": "queued", "model": "small", "usage": null, "output": [] }),
        );
    });
    let (id, token) = world.mint(Scope::Evaluation);
    let body = json!({ "model": "small", "input": "x", "background": true, "max_output_tokens": 500 });
    assert_eq!(world.ask(&token, "/v1/responses", &body).status(), 200);
    assert_eq!((world.usage(id).tokens.output, world.usage(id).estimated), (500, 1));
}
