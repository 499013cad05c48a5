//! The gateway as the vendors' own clients see it: the `openai` and `anthropic` packages of Python.

use std::process::{Command, Stdio};

use serde_json::json;
use taskwright_gateway::{Door, Scope, Tokens as _};
use taskwright_testing::{Need, not_run, test, works};

use crate::support::{Message, Reply, World, obliging, scope};

/// The Python that has the clients: the one that `TASKWRIGHT_PYTHON` names.
fn python() -> String {
    let python = std::env::var("TASKWRIGHT_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if !works(&python, &["-c", "import openai, anthropic"]) {
        not_run(
            Need::Clients,
            format_args!("`{python}` has no `openai` and `anthropic`: TASKWRIGHT_PYTHON names one that has"),
        );
    }
    python
}

/// Runs a script with the clients made, and returns what it printed.
fn run(world: &World, token: &str, script: &str) -> String {
    let before = format!(
        "import anthropic, json, openai\n\
         base = 'http://{}'\n\
         token = '{token}'\n\
         o = openai.OpenAI(base_url=base + '/v1', api_key=token)\n\
         a = anthropic.Anthropic(base_url=base, api_key=token)\n\
         messages = [{{'role': 'user', 'content': 'hello'}}]\n\
         def failure(call):\n\
         \x20   try:\n\
         \x20       call()\n\
         \x20   except Exception as error:\n\
         \x20       return type(error).__name__, getattr(error, 'status_code', None)\n",
        world.door(Door::Evaluation)
    );
    let output = Command::new(python())
        .args(["-c", &format!("{before}{script}")])
        .env_remove("OPENAI_BASE_URL")
        .env_remove("OPENAI_API_KEY")
        .env_remove("ANTHROPIC_BASE_URL")
        .env_remove("ANTHROPIC_API_KEY")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Streams byte by byte where a stream is asked for.
fn upstream(asked: &Message, reply: &mut Reply<'_>) {
    if !asked.text().replace(' ', "").contains("\"stream\":true") {
        return obliging(asked, reply);
    }
    let event = |data: serde_json::Value| match data["type"].as_str() {
        Some(name) => format!("event: {name}\r\ndata: {data}\r\n\r\n"),
        None => format!("data: {data}\r\n\r\n"),
    };
    let text = if asked.path().contains("/messages") {
        [
            json!({ "type": "message_start", "message": { "id": "m", "type": "message", "role": "assistant", "content": [],
                "model": "up/small", "stop_reason": null, "stop_sequence": null,
                "usage": { "input_tokens": 10, "output_tokens": 1 } } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "hi" } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn", "stop_sequence": null },
                "usage": { "output_tokens": 5 } }),
            json!({ "type": "message_stop" }),
        ]
        .map(event)
        .concat()
    } else if asked.path().contains("/responses") {
        let response = |status: &str, usage: serde_json::Value| {
            json!({ "id": "resp_1", "object": "response", "created_at": 1, "model": "up/small", "status": status, "output": [],
                "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "usage": usage })
        };
        let usage = json!({ "input_tokens": 10, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 5,
            "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 15 });
        [
            json!({ "type": "response.created", "sequence_number": 0, "response": response("in_progress", json!(null)) }),
            json!({ "type": "response.output_text.delta", "sequence_number": 1, "item_id": "i", "output_index": 0,
                "content_index": 0, "delta": "hi", "logprobs": [] }),
            json!({ "type": "response.completed", "sequence_number": 2, "response": response("completed", usage) }),
        ]
        .map(event)
        .concat()
    } else {
        let chunk = |choices: serde_json::Value, usage: serde_json::Value| {
            json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "up/small", "choices": choices,
                "usage": usage })
        };
        let choice =
            json!([{ "index": 0, "delta": { "role": "assistant", "content": "hi" }, "finish_reason": null }]);
        let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
        format!("{}{}data: [DONE]\r\n\r\n", event(chunk(choice, json!(null))), event(chunk(json!([]), usage)))
    };
    reply.events(&text, 1);
}

fn world(limits: &serde_json::Value) -> World {
    let mut config = json!({ "evaluation": scope(limits) });
    config["model_aliases"] = json!({ "small": "up/small" });
    World::new(config, upstream)
}

#[test]
fn both_clients_are_answered_and_counted() {
    let world = world(&json!({}));
    let (id, token) = world.mint(Scope::Evaluation);
    let printed = run(
        &world,
        token.show(),
        r"
c = o.chat.completions.create(model='small', messages=messages, max_tokens=9)
print(c.model, c.choices[0].message.content, c.usage.total_tokens)
chunks = list(o.chat.completions.create(model='small', messages=messages, stream=True))
print([k.model for k in chunks], chunks[0].choices[0].delta.content)
chunks = list(o.chat.completions.create(model='small', messages=messages, stream=True, stream_options={'include_usage': True}))
print(len(chunks), chunks[-1].choices, chunks[-1].usage.total_tokens)
r = o.responses.create(model='small', input='hello')
print(r.model, r.usage.output_tokens)
events = list(o.responses.create(model='small', input='hello', stream=True))
print([e.type for e in events], events[-1].response.model)
e = o.embeddings.create(model='small', input='hello', encoding_format='float')
print(e.data[0].embedding)
m = a.messages.create(model='small', max_tokens=9, messages=messages)
print(m.model, m.content[0].text, m.usage.output_tokens)
with a.messages.stream(model='small', max_tokens=9, messages=messages) as s:
    print(''.join(s.text_stream), s.get_final_message().model, s.get_final_message().usage.output_tokens)
print(a.messages.count_tokens(model='small', messages=messages).input_tokens)
print([x.id for x in o.models.list()], [x.id for x in a.models.list()], o.models.retrieve('openai/big').id)
",
    );
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(
        lines,
        [
            "small hi there 15",
            "['small'] hi",
            "2 [] 15",
            "small 5",
            "['response.created', 'response.output_text.delta', 'response.completed'] small",
            "[0.5]",
            "small hi 5",
            "hi small 5",
            "7",
            "['small', 'openai/big'] ['small', 'openai/big'] openai/big",
        ]
    );
    let usage = world.usage(id);
    assert_eq!(
        (usage.requests, usage.tokens.total(), usage.estimated, usage.refused),
        (8, 7 * 15 + 10, 0, 0)
    );
}

#[test]
fn both_clients_raise_what_they_should_and_do_not_try_again() {
    let world = world(&json!({ "max_requests": 1 }));
    let (id, token) = world.mint(Scope::Evaluation);
    let (ended, old) = world.mint(Scope::Evaluation);
    world.gateway().handle().revoke(ended).unwrap();
    let script = format!(
        r"
o2 = openai.OpenAI(base_url=base, api_key='{old}')
a2 = anthropic.Anthropic(base_url=base + '/v1', api_key='{old}')
print(failure(lambda: o2.chat.completions.create(model='small', messages=messages)))
print(failure(lambda: a2.messages.create(model='small', max_tokens=9, messages=messages)))
print(failure(lambda: o.chat.completions.create(model='big', messages=messages)))
print(failure(lambda: a.messages.create(model='big', max_tokens=9, messages=messages)))
print(failure(lambda: o.images.generate(prompt='x')))
print(failure(lambda: a.messages.create(model='small', max_tokens=9, messages=messages)))
# How these are called differs between versions of the clients.
print(failure(lambda: a.messages.create(model='small', max_tokens=9, messages=messages))[1])
print(failure(lambda: o.chat.completions.create(model='small', messages=messages))[1])
print(failure(lambda: o.chat.completions.create(model='small', messages=[dict(role='user', content='x' * (17 << 20))]))[1])
",
        old = old.show()
    );
    let printed = run(&world, token.show(), &script);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(
        lines,
        [
            "('AuthenticationError', 401)",
            "('AuthenticationError', 401)",
            "('PermissionDeniedError', 403)",
            "('PermissionDeniedError', 403)",
            "('NotFoundError', 404)",
            "None",
            "402",
            "402",
            "413",
        ]
    );
    // Each was refused once: nobody tried again.
    assert_eq!((world.usage(id).requests, world.usage(id).refused), (1, 6));
}
