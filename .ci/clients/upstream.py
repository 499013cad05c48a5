"""A scripted upstream: it has each client run the commands of a script by whatever tool that offers, then says that it is done,
and counts what it gave.
"""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import answers
from answers import Answer, Usage

KEY = "sk-scripted-upstream-9f27c1"
# The upstream's own name of the model: no client may get to see it.
MODEL = "vendor/upstream-model-9f27c1"
DONE = "The file is written."
# What a tool that runs commands calls them.
COMMANDS = ("command", "cmd")


@dataclass
class Asked:
    """A request as it came in, and how it was answered."""

    path: str
    headers: dict[str, str]
    body: str
    status: int


@dataclass
class Count:
    """What was given: the upstream's side of what a gateway says."""

    requests: int = 0
    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    reasoning: int = 0

    def add(self, usage: Usage) -> None:
        self.requests += 1
        for name in ("input", "cached", "written", "output", "reasoning"):
            setattr(self, name, getattr(self, name) + getattr(usage, name))


@dataclass
class Upstream:
    """The commands that each conversation runs, one a turn; what came in, and what was given."""

    commands: list[str]
    asked: list[Asked] = field(default_factory=list)
    count: Count = field(default_factory=Count)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"upstream": self}))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, kind: str, body: dict) -> Answer:
        """What the script says next in this conversation. Every answer took another number of tokens."""
        with self._lock:
            number = self.count.requests + 1
            # Only Anthropic says what was put into its cache.
            written = 70 * number if kind == "messages" else 0
            usage = Usage(1000 + 300 * number, 200 + number, written, 50 + 3 * number, 0 if kind == "messages" else number)
            self.count.add(usage)
        turn = turns(kind, body)
        command = self.commands[turn] if turn < len(self.commands) else None
        if "keystrokes" in json.dumps(body.get("messages", "")):
            return Answer(number, MODEL, usage, text=typed(command))
        if command is not None and (tool := commanding(body.get("tools") or [])):
            name, arguments = tool
            return Answer(number, MODEL, usage, tool=name, arguments=json.dumps(arguments(command)))
        return Answer(number, MODEL, usage, text=DONE)


def turns(kind: str, body: dict) -> int:
    """How often the model has spoken in a conversation."""
    if kind == "responses":
        said = [item for item in body["input"] if isinstance(item, dict) and item.get("type") == "function_call"]
    else:
        said = [message for message in body["messages"] if message["role"] == "assistant"]
    return len(said)


def typed(command: str | None) -> str:
    """An answer for a client that has no tools, but asks for keystrokes in JSON."""
    strokes = [{"keystrokes": f"{command}\n", "duration": 1.0}] if command is not None else []
    return json.dumps({"analysis": "A file is asked for.", "plan": "Write it.", "commands": strokes, "task_complete": not strokes})


def commanding(tools: list[dict]):
    """The first tool that runs a command: its name, and what makes its arguments of a command."""
    for tool in tools:
        function = tool.get("function", tool)
        schema = function.get("parameters") or function.get("input_schema") or {}
        properties = schema.get("properties") or {}
        name = next((name for name in COMMANDS if name in properties), None)
        if name is None:
            continue
        is_list = properties[name].get("type") == "array"
        others = {other: "Writes a file" for other in schema.get("required", []) if other != name}
        return function["name"], lambda command: {name: ["bash", "-c", command] if is_list else command, **others}
    return None


class Handler(BaseHTTPRequestHandler):
    """Serves what a gateway asks of an upstream, to whoever has its key."""

    upstream: Upstream
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        kind = self.path.partition("?")[0].removeprefix("/v1/").removeprefix("chat/")
        name = "x-api-key" if kind.startswith("messages") else "Authorization"
        if (self.headers[name] or "").removeprefix("Bearer ") != KEY:
            return self._reply(body, 401, b"{}")
        if kind == "messages/count_tokens":
            return self._reply(body, 200, b'{"input_tokens": 1000}')
        if kind not in ("completions", "responses", "messages"):
            return self._reply(body, 404, b"{}")
        asked = json.loads(body)
        answer = self.upstream.answer(kind, asked)
        if not asked.get("stream"):
            whole = {"completions": answers.chat, "responses": answers.responses, "messages": answers.messages}[kind]
            return self._reply(body, 200, json.dumps(whole(answer)).encode())
        if kind == "completions":
            events = answers.chat_stream(answer, bool((asked.get("stream_options") or {}).get("include_usage")))
        else:
            events = {"responses": answers.responses_stream, "messages": answers.messages_stream}[kind](answer)
        self._keep(body, 200)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events:
            self.wfile.write(event.encode())
            self.wfile.flush()

    def do_GET(self) -> None:
        self._reply("", 404, b"{}")

    do_DELETE = do_PUT = do_GET

    def _reply(self, body: str, status: int, text: bytes) -> None:
        self._keep(body, status)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _keep(self, body: str, status: int) -> None:
        self.upstream.asked.append(Asked(self.path, {name.lower(): value for name, value in self.headers.items()}, body, status))

    def log_message(self, *_: object) -> None:
        pass
