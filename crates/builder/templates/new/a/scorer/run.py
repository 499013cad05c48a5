"""The candidate's side: asks its read() for each row. Nothing that this process prints is trusted."""

import json
import os
import sys
import traceback


def main():
    # What the candidate prints goes to standard error, so that it cannot end up between our lines.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # The working directory is the candidate's checkout.
    sys.path.insert(0, os.getcwd())
    from reader import read

    failed = False
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = json.dumps({"id": request["id"], "output": read(request["input"]["text"])})
        except Exception:
            # No line for this sample: it counts as failed, and the traceback says why.
            traceback.print_exc()
            failed = True
            continue
        print(answer, file=answers, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
