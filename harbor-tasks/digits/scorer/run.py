"""The candidate's side: fits the checkout's Classifier once and asks it for each image.

Everything in this process belongs to the candidate; nothing it prints is trusted.
"""

import json
import os
import sys
import traceback


def fitted():
    """A Classifier of the checkout that has learnt the checkout's train.jsonl."""
    from classifier import Classifier

    with open("train.jsonl", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    classifier = Classifier()
    classifier.fit([row["pixels"] for row in rows], [row["label"] for row in rows])
    return classifier


def main():
    # What the candidate prints must not end up between our lines.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path.insert(0, os.getcwd())
    classifier = fitted()
    failed = False
    for line in sys.stdin:
        if not line.strip():
            continue
        request = json.loads(line)
        try:
            digit = classifier.predict(request["input"]["pixels"])
            answer = json.dumps({"id": request["id"], "output": digit})
        except Exception:
            # No line for this sample; the first traceback and the exit status say why.
            if not failed:
                traceback.print_exc()
            failed = True
            continue
        answers.write(answer + "\n")
        answers.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
