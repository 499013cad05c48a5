"""Answers each sentence with what a language model says of it."""

import json
import sys

from model import ask


def messages(sentence: str) -> list[dict[str, str]]:
    """What the model is asked."""
    question = "Which colour does this sentence name? Answer with that one word, in lower case."
    return [{"role": "user", "content": f"{sentence}\n{question}"}]


def answer(text: str) -> str:
    """What is taken of the model's answer."""
    return text.strip()


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        text = ask(messages(request["input"]["sentence"]))
        print(f"the model says {text!r}", file=sys.stderr)
        print(json.dumps({"id": request["id"], "output": answer(text)}), flush=True)


if __name__ == "__main__":
    main()
