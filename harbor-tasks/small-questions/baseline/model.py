"""One request to the language model, in the format of OpenAI's chat completions."""

import json
import os
import urllib.request

MODEL = "smollm2"


def ask(messages: list[dict[str, str]], max_tokens: int = 16) -> str:
    """What the model answers. Address and key are those that the environment names."""
    body = {"model": MODEL, "messages": messages, "max_tokens": max_tokens, "temperature": 0}
    request = urllib.request.Request(
        f"{os.environ['OPENAI_BASE_URL'].rstrip('/')}/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},
    )
    with urllib.request.urlopen(request, timeout=100) as response:
        return json.load(response)["choices"][0]["message"]["content"]
