"""Agents of one's own, in Harbor's process: they ask a language model by what they find in their environment."""

import asyncio
import json
import os
from urllib.request import Request, urlopen

from harbor.agents.base import BaseAgent


class Asker(BaseAgent):
    """Asks for a command, once, and runs what it is told. It says what that took, at the prices of `.ci/metered`."""

    @staticmethod
    def name() -> str:
        return "asker"

    def version(self) -> str:
        return "1"

    async def setup(self, environment) -> None:
        pass

    async def run(self, instruction: str, environment, context) -> None:
        # Nothing of what this process knows may be the upstream's key: who looks for that reads this file, too.
        (self.logs_dir / "environment.json").write_text(json.dumps(dict(os.environ)))
        model = (self.model_name or "").rpartition("/")[2]
        tool = {"type": "function", "function": {"name": "shell", "parameters": {"properties": {"command": {"type": "string"}}}}}
        body = {"model": model, "messages": [{"role": "user", "content": instruction}], "tools": [tool], "max_tokens": 200}
        answer = await asyncio.to_thread(ask, body)
        usage = answer["usage"]
        context.n_input_tokens, context.n_output_tokens = usage["prompt_tokens"], usage["completion_tokens"]
        context.cost_usd = (10 * usage["prompt_tokens"] + 100 * usage["completion_tokens"]) / 1e6
        [call] = answer["choices"][0]["message"]["tool_calls"]
        await environment.exec(json.loads(call["function"]["arguments"])["command"])


def ask(body: dict) -> dict:
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"}
    with urlopen(Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(), headers), timeout=60) as reply:
        return json.load(reply)
