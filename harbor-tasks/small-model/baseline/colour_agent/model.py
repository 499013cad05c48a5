"""One request to a language model, in the format of OpenAI's chat completions."""

import json
import os
import urllib.request
from dataclasses import dataclass


@dataclass(frozen=True)
class Reply:
    text: str
    input_tokens: int
    output_tokens: int


def ask(model: str, messages: list[dict[str, str]], max_tokens: int = 16) -> Reply:
    """What the model answers. Address and key are those that the environment names."""
    body = {"model": model, "messages": messages, "max_tokens": max_tokens, "temperature": 0}
    request = urllib.request.Request(
        f"{os.environ['OPENAI_BASE_URL'].rstrip('/')}/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        answer = json.load(response)
    usage = answer["usage"]
    return Reply(
        answer["choices"][0]["message"]["content"], usage["prompt_tokens"], usage["completion_tokens"]
    )
