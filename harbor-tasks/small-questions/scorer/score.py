"""The trusted side: the colour that the sentence names is right, and nothing else is."""

import json
import sys

NO_OUTPUT = {
    "timeout": "the program did not answer in time",
    "crash": "the program ended with an error before it had answered",
    "no_output": "the program answered nothing for this sample",
    "invalid_output": "the answer is not valid JSON",
}


def judge(colour: str, output: object, error: str | None) -> tuple[int, str]:
    """1 for the colour to the letter, 0 for anything else, and what is said of it."""
    if error is not None:
        return 0, NO_OUTPUT.get(error, f"no usable answer: {error}")
    if not isinstance(output, str):
        return 0, "the answer is not a text"
    if output == colour:
        return 1, "right"
    return 0, "wrong"


def main() -> None:
    for line in sys.stdin:
        # An answer may hold integers of any length, which Python would refuse to read; no text is one.
        request = json.loads(line, parse_int=float)
        score, feedback = judge(request["sample"]["colour"], request["output"], request["error"])
        print(json.dumps({"id": request["id"], "score": score, "feedback": feedback}), flush=True)


if __name__ == "__main__":
    main()
