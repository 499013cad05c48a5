"""The trusted side: an answer is right or it is not."""

import json
import sys

NO_OUTPUT = {
    "timeout": "predict() did not finish in time",
    "crash": "the program ended with an error before it had answered",
    "no_output": "the program answered nothing for this sample",
    "invalid_output": "the answer is not valid JSON",
}


def judge(request):
    """Score one request: 1 for the right digit, 0 for anything else."""
    error, output = request.get("error"), request.get("output")
    if error is not None:
        return 0, NO_OUTPUT.get(error, f"no usable answer: {error}")
    if isinstance(output, bool) or not isinstance(output, (int, float)):
        return 0, "the answer is not a digit"
    label = request["sample"]["label"]
    if output == label:
        return 1, f"right: {label}"
    shown = output if output in range(10) else "something that is no digit"
    return 0, f"wrong: this is a {label}, not {shown}"


def read_request(line):
    """Parse a line, whatever is in its output: huge integers, any depth of nesting."""
    try:
        return json.loads(line, parse_int=to_int)
    except (RecursionError, ValueError):
        request = json.loads(skeleton(line), parse_int=to_int)
        return {"id": request["id"], "error": "invalid_output"}


def to_int(digits):
    # Python refuses to parse integers of thousands of digits; as a double they are infinite.
    return int(digits) if len(digits) < 400 else float(digits)


def skeleton(line):
    """The same object with every nested list and object emptied."""
    kept, depth, in_string, escaped = [], 0, False, False
    for char in line:
        closing = not in_string and char in "]}"
        depth -= closing
        if depth <= 1:
            kept.append(char)
        depth += not in_string and char in "[{"
        if in_string:
            in_string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        else:
            in_string = char == '"'
    return "".join(kept)


def main():
    for line in sys.stdin:
        if line.strip():
            request = read_request(line)
            score, feedback = judge(request)
            answer = {
                "id": request["id"],
                "score": score,
                "metrics": {"correct": score},
                "feedback": feedback,
            }
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
