"""What a model of the script says, in the three wire formats: whole, and as a stream of events."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

Object = dict[str, object]


@dataclass(frozen=True)
class Usage:
    """What an answer took. What came from the cache, and what was put there, is part of `input`; thoughts are part of `output`."""

    input: int
    cached: int
    written: int
    output: int
    reasoning: int


@dataclass(frozen=True)
class Answer:
    """A text, or a call of a tool."""

    number: int
    model: str
    usage: Usage
    text: str = ""
    tool: str = ""
    arguments: str = ""

    @property
    def call(self) -> str:
        return f"call_{self.number}"


def chat(answer: Answer) -> Object:
    """OpenAI's chat completions."""
    message: Object = {"role": "assistant", "content": answer.text or None}
    if answer.tool:
        message["tool_calls"] = [_chat_call(answer)]
    return {**_chat_head(answer, "chat.completion"), "usage": _chat_usage(answer.usage),
            "choices": [{"index": 0, "message": message, "finish_reason": _chat_end(answer)}]}


def chat_stream(answer: Answer, says_usage: bool) -> Iterator[str]:
    """The same in pieces. Its usage comes only if it was asked for, in a piece without choices."""
    head = _chat_head(answer, "chat.completion.chunk")

    def piece(delta: Object, end: str | None = None) -> str:
        return _data({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]})

    yield piece({"role": "assistant", "content": ""})
    if answer.tool:
        call = _chat_call(answer)
        for part in _parts(answer.arguments):
            yield piece({"tool_calls": [{"index": 0, **call, "function": {**call["function"], "arguments": part}}]})
            call = {"function": {}}
    for part in _parts(answer.text):
        yield piece({"content": part})
    yield piece({}, _chat_end(answer))
    if says_usage:
        yield _data({**head, "choices": [], "usage": _chat_usage(answer.usage)})
    yield "data: [DONE]\n\n"


def responses(answer: Answer) -> Object:
    """OpenAI's responses."""
    return _response(answer, "completed", [_item(answer, "completed")], _responses_usage(answer.usage))


def responses_stream(answer: Answer) -> Iterator[str]:
    """The same as events, of which the last says what it took."""
    number = 0

    def event(kind: str, **fields: object) -> str:
        nonlocal number
        number += 1
        return _event(kind, {"type": kind, "sequence_number": number - 1, **fields})

    begun = _response(answer, "in_progress", [], None)
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    yield event("response.output_item.added", output_index=0, item=_item(answer, "in_progress"))
    item: Object = {"item_id": f"item_{answer.number}", "output_index": 0}
    if answer.tool:
        for part in _parts(answer.arguments):
            yield event("response.function_call_arguments.delta", **item, delta=part)
        yield event("response.function_call_arguments.done", **item, name=answer.tool, arguments=answer.arguments)
    else:
        item["content_index"] = 0
        yield event("response.content_part.added", **item, part=_output_text(""))
        for part in _parts(answer.text):
            yield event("response.output_text.delta", **item, delta=part, logprobs=[])
        yield event("response.output_text.done", **item, text=answer.text, logprobs=[])
        yield event("response.content_part.done", **item, part=_output_text(answer.text))
    yield event("response.output_item.done", output_index=0, item=_item(answer, "completed"))
    yield event("response.completed", response=responses(answer))


def messages(answer: Answer) -> Object:
    """Anthropic's messages."""
    block: Object = {"type": "text", "text": answer.text}
    if answer.tool:
        block = {"type": "tool_use", "id": f"toolu_{answer.number}", "name": answer.tool, "input": json.loads(answer.arguments)}
    return {**_message(answer), "content": [block], "stop_reason": _messages_end(answer),
            "usage": _messages_usage(answer.usage, answer.usage.output)}


def messages_stream(answer: Answer) -> Iterator[str]:
    """The same as events: what went in stands in the first, what came out in the last but one."""

    def event(kind: str, **fields: object) -> str:
        return _event(kind, {"type": kind, **fields})

    yield event("message_start", message={**_message(answer), "usage": _messages_usage(answer.usage, 1)})
    if answer.tool:
        block: Object = {"type": "tool_use", "id": f"toolu_{answer.number}", "name": answer.tool, "input": {}}
        pieces = [{"type": "input_json_delta", "partial_json": part} for part in _parts(answer.arguments)]
    else:
        block = {"type": "text", "text": ""}
        pieces = [{"type": "text_delta", "text": part} for part in _parts(answer.text)]
    yield event("content_block_start", index=0, content_block=block)
    yield event("ping")
    for piece in pieces:
        yield event("content_block_delta", index=0, delta=piece)
    yield event("content_block_stop", index=0)
    yield event("message_delta", delta={"stop_reason": _messages_end(answer), "stop_sequence": None},
                usage={"output_tokens": answer.usage.output})
    yield event("message_stop")


def _parts(text: str) -> list[str]:
    """A text in two, so that whoever reads a stream has to put something together."""
    half = (len(text) + 1) // 2
    return [part for part in (text[:half], text[half:]) if part]


def _data(value: Object) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _event(kind: str, value: Object) -> str:
    return f"event: {kind}\n{_data(value)}"


def _chat_head(answer: Answer, kind: str) -> Object:
    return {"id": f"chatcmpl-{answer.number}", "object": kind, "created": 1700000000, "model": answer.model}


def _chat_call(answer: Answer) -> dict:
    return {"id": answer.call, "type": "function", "function": {"name": answer.tool, "arguments": answer.arguments}}


def _chat_end(answer: Answer) -> str:
    return "tool_calls" if answer.tool else "stop"


def _chat_usage(usage: Usage) -> Object:
    return {"prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": usage.input + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cached},
            "completion_tokens_details": {"reasoning_tokens": usage.reasoning}}


def _response(answer: Answer, status: str, output: list[Object], usage: Object | None) -> Object:
    return {"id": f"resp_{answer.number}", "object": "response", "created_at": 1700000000, "status": status, "model": answer.model,
            "output": output, "usage": usage, "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
            "parallel_tool_calls": False, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0}


def _item(answer: Answer, status: str) -> Object:
    is_done = status == "completed"
    head: Object = {"id": f"item_{answer.number}", "status": status}
    if answer.tool:
        return {**head, "type": "function_call", "call_id": answer.call, "name": answer.tool,
                "arguments": answer.arguments if is_done else ""}
    return {**head, "type": "message", "role": "assistant", "content": [_output_text(answer.text)] if is_done else []}


def _output_text(text: str) -> Object:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _responses_usage(usage: Usage) -> Object:
    return {"input_tokens": usage.input, "output_tokens": usage.output, "total_tokens": usage.input + usage.output,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens_details": {"reasoning_tokens": usage.reasoning}}


def _message(answer: Answer) -> Object:
    return {"id": f"msg_{answer.number}", "type": "message", "role": "assistant", "model": answer.model, "content": [],
            "stop_reason": None, "stop_sequence": None}


def _messages_end(answer: Answer) -> str:
    return "tool_use" if answer.tool else "end_turn"


def _messages_usage(usage: Usage, output: int) -> Object:
    # Here the three parts of what went in do not overlap.
    return {"input_tokens": usage.input - usage.cached - usage.written, "cache_read_input_tokens": usage.cached,
            "cache_creation_input_tokens": usage.written, "output_tokens": output}
