"""Shows a language model three examples, asks in their form, and answers with the first word that it says."""

import json
import re
import sys

from model import ask

EXAMPLES = [
    ("The grey wolf ran across the field.", "grey"),
    ("He drank from an orange cup.", "orange"),
    ("My sister wore a purple dress.", "purple"),
]


def messages(sentence: str) -> list[dict[str, str]]:
    """What the model is asked."""
    asked = []
    for example, colour in EXAMPLES:
        asked.append({"role": "user", "content": f"Sentence: {example}\nColour:"})
        asked.append({"role": "assistant", "content": colour})
    asked.append({"role": "user", "content": f"Sentence: {sentence}\nColour:"})
    return asked


def answer(text: str) -> str:
    """What is taken of the model's answer."""
    words = re.findall(r"[a-z]+", text.lower())
    return words[0] if words else ""


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        text = ask(messages(request["input"]["sentence"]))
        print(f"the model says {text!r}", file=sys.stderr)
        print(json.dumps({"id": request["id"], "output": answer(text)}), flush=True)


if __name__ == "__main__":
    main()
