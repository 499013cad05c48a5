"""The scripted upstream, asked in each wire format."""

import json
import unittest
import urllib.error
import urllib.request

from upstream import DONE, KEY, MODEL, Count, Upstream

COMMAND = {"type": "object", "properties": {"command": {"type": "string"}, "why": {"type": "string"}}, "required": ["command", "why"]}
FUNCTION = {"name": "bash", "description": "Runs a command", "parameters": COMMAND}
USER = {"role": "user", "content": "Write a file."}


class Asking(unittest.TestCase):
    def setUp(self) -> None:
        self.upstream = Upstream(["echo one"])
        self.addCleanup(self.upstream.close)

    def ask(self, path: str, body: dict, **headers: str) -> str:
        headers = {"Content-Type": "application/json", **(headers or {"Authorization": f"Bearer {KEY}"})}
        request = urllib.request.Request(self.upstream.address + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            return answer.read().decode()

    def events(self, text: str) -> list[dict]:
        lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]

    def test_chat_calls_a_tool_and_then_ends(self) -> None:
        body = {"model": MODEL, "messages": [USER], "tools": [{"type": "function", "function": FUNCTION}]}
        answer = json.loads(self.ask("/v1/chat/completions", body))
        [call] = answer["choices"][0]["message"]["tool_calls"]
        self.assertEqual(json.loads(call["function"]["arguments"]), {"command": "echo one", "why": "Writes a file"})
        body["messages"] += [answer["choices"][0]["message"], {"role": "tool", "tool_call_id": call["id"], "content": ""}]
        self.assertEqual(json.loads(self.ask("/v1/chat/completions", body))["choices"][0]["message"]["content"], DONE)
        self.assertEqual(self.upstream.count, Count(2, 1300 + 1600, 201 + 202, 0, 53 + 56, 1 + 2))

    def test_a_stream_of_chat_says_its_usage_to_who_asked_for_it(self) -> None:
        body = {"model": MODEL, "messages": [USER], "stream": True}
        self.assertFalse([event for event in self.events(self.ask("/v1/chat/completions", body)) if event.get("usage")])
        body["stream_options"] = {"include_usage": True}
        *pieces, last = self.events(self.ask("/v1/chat/completions", body))
        self.assertEqual(last["usage"]["total_tokens"], 1600 + 56)
        text = "".join(piece["choices"][0]["delta"].get("content", "") for piece in pieces)
        self.assertEqual(text, DONE)

    def test_responses_stream_what_they_say_whole(self) -> None:
        tools = [{"type": "namespace", "name": "n", "tools": []}, {"type": "function", **FUNCTION}]
        body = {"model": MODEL, "input": [USER], "tools": tools, "stream": True}
        events = self.events(self.ask("/v1/responses", body))
        last = events[-1]["response"]
        self.assertEqual((events[-1]["type"], last["status"]), ("response.completed", "completed"))
        parts = [event["delta"] for event in events if event["type"] == "response.function_call_arguments.delta"]
        self.assertEqual("".join(parts), last["output"][0]["arguments"])
        self.assertEqual(last["usage"]["input_tokens_details"]["cached_tokens"], 201)
        body.update(stream=False, input=[USER, last["output"][0], {"type": "function_call_output", "output": ""}])
        self.assertEqual(json.loads(self.ask("/v1/responses", body))["output"][0]["content"][0]["text"], DONE)

    def test_messages_take_apart_what_went_in(self) -> None:
        body = {"model": MODEL, "messages": [USER], "tools": [{"name": "Bash", "input_schema": COMMAND}], "stream": True}
        events = self.events(self.ask("/v1/messages", body, **{"x-api-key": KEY}))
        usage = {**events[0]["message"]["usage"], **events[-2]["usage"]}
        self.assertEqual(usage, {"input_tokens": 1029, "cache_read_input_tokens": 201, "cache_creation_input_tokens": 70,
                                 "output_tokens": 53})
        self.assertEqual(self.upstream.count, Count(1, 1300, 201, 70, 53, 0))
        arguments = "".join(event["delta"]["partial_json"] for event in events if event["type"] == "content_block_delta")
        self.assertEqual(json.loads(arguments)["command"], "echo one")

    def test_keystrokes_are_sent_where_they_are_asked_for(self) -> None:
        messages = [{"role": "user", "content": "Answer with keystrokes."}]
        said = []
        for _ in range(2):
            message = json.loads(self.ask("/v1/chat/completions", {"model": MODEL, "messages": messages}))["choices"][0]["message"]
            messages += [message, {"role": "user", "content": "$"}]
            said.append(json.loads(message["content"]))
        self.assertEqual([plan["task_complete"] for plan in said], [False, True])
        self.assertEqual(said[0]["commands"][0]["keystrokes"], "echo one\n")

    def test_who_has_not_the_key_is_given_nothing(self) -> None:
        for path, headers in [("/v1/messages", {"Authorization": f"Bearer {KEY}"}), ("/v1/chat/completions", {"Authorization": "Bearer x"})]:
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.ask(path, {"messages": [USER]}, **headers)
            self.assertEqual(refused.exception.code, 401)
            refused.exception.close()
        self.assertEqual(self.upstream.count, Count())


if __name__ == "__main__":
    unittest.main()
