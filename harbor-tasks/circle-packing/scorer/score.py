"""The trusted side: decides exactly whether a packing is valid, and adds up its radii."""

import json
import sys
from fractions import Fraction

FAILURE = 0.0  # the score of everything that is not a valid packing

NO_OUTPUT = {
    "timeout": "pack() did not finish in time",
    "crash": "the program ended with an error before it had answered",
    "no_output": "the program answered nothing for this sample",
    "invalid_output": "the answer is not valid JSON (is there a NaN or an infinity in it?)",
}


class Invalid(Exception):
    """The answer is not a valid packing; the text says why."""


def exact(value, what):
    """The very rational number that a JSON number stands for once it is a double."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Invalid(f"{what} is not a number")
    try:
        return Fraction(float(value))
    except (OverflowError, ValueError):
        raise Invalid(f"{what} is not finite") from None


def check(output, n):
    """Return the exact sum of radii of a valid packing of n circles."""
    if not isinstance(output, list):
        raise Invalid("the answer is not a list of circles")
    if len(output) != n:
        raise Invalid(f"{len(output)} circles instead of {n}")
    circles = []
    for i, circle in enumerate(output):
        if not isinstance(circle, list) or len(circle) != 3:
            raise Invalid(f"circle {i} is not a list of the three numbers x, y, r")
        x, y, r = (exact(v, f"{name} of circle {i}") for v, name in zip(circle, "xyr"))
        if r < 0:
            raise Invalid(f"circle {i} has a negative radius")
        if not (r <= x <= 1 - r and r <= y <= 1 - r):
            raise Invalid(f"circle {i} leaves the unit square")
        for j, (x2, y2, r2) in enumerate(circles):
            if (x - x2) ** 2 + (y - y2) ** 2 < (r + r2) ** 2:
                raise Invalid(f"circles {j} and {i} overlap")
        circles.append((x, y, r))
    return sum((r for _, _, r in circles), Fraction(0))


def judge(request):
    """Score one request; wrong answers of any kind get the failure score."""
    error = request.get("error")
    if error is not None:
        return FAILURE, False, NO_OUTPUT.get(error, f"no usable answer: {error}")
    n = request["sample"]["circles"]
    try:
        total = check(request.get("output"), n)
    except Invalid as reason:
        return FAILURE, False, f"invalid: {reason}"
    return float(total), True, f"valid: the radii of {n} circles add up to {float(total):.9f}"


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
            score, valid, feedback = judge(request)
            answer = {
                "id": request["id"],
                "score": score,
                "metrics": {"valid": int(valid)},
                "feedback": feedback,
            }
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
