"""The trusted side: compares each answer with its label. It never executes the candidate's code."""

import json
import re
import sys


def judge(request):
    """The score of an answer, and what the optimizer may read about it."""
    if request.get("error") is not None:
        return 0, f"no answer: {request['error']}"
    output, value = request["output"], request["sample"]["value"]
    if isinstance(output, bool) or not isinstance(output, (int, float)):
        return 0, "the answer is not a number"
    if output == value:
        return 1, "right"
    return 0, f"wrong: it is {value:.0f}"


def parse(line):
    """A request, whatever the candidate answered: also integers and nesting that Python refuses to parse."""
    try:
        return json.loads(line, parse_int=float)
    except RecursionError:
        request_id = re.match(r'\s*\{\s*"id"\s*:\s*("(?:[^"\\]|\\.)*")', line)[1]
        return {"id": json.loads(request_id), "error": "too deeply nested"}


def main():
    for line in sys.stdin:
        request = parse(line)
        score, feedback = judge(request)
        answer = {"id": request["id"], "score": score, "metrics": {}, "feedback": feedback}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
