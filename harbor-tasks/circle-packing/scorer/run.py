"""The candidate's side: calls pack() of the checkout and prints the circles.

Everything in this process belongs to the candidate; nothing it prints is trusted.
"""

import json
import os
import sys
import traceback


def main():
    # What the candidate prints must not end up between our lines.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path.insert(0, os.getcwd())
    failed = False
    for line in sys.stdin:
        if not line.strip():
            continue
        request = json.loads(line)
        try:
            from packing import pack

            circles = [list(circle) for circle in pack(request["input"]["circles"])]
            answer = json.dumps({"id": request["id"], "output": circles})
        except Exception:
            # No line for this sample: the exit status and the traceback say why.
            traceback.print_exc()
            failed = True
            continue
        answers.write(answer + "\n")
        answers.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
