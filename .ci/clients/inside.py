"""Runs a client, and leaves beside it what it was given: its environment; and, asked for with `--ask`, what the gateway answers
to whoever asks once more.
    inside.py FOLDER [--ask MODEL] -- CLIENT ...
"""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path


def ask(model: str) -> dict[str, object]:
    """The status of one request, and whether its answer says that it should be tried again."""
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "More?"}]}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return {"status": answer.status, "retry": answer.headers["x-should-retry"]}
    except urllib.error.HTTPError as error:
        return {"status": error.code, "retry": error.headers["x-should-retry"]}


def main() -> int:
    split = sys.argv.index("--")
    folder, *asked = sys.argv[1:split]
    Path(folder, "environment.json").write_text(json.dumps(dict(os.environ)))
    with Path(folder, "client.log").open("w") as log:
        status = subprocess.run(sys.argv[split + 1:], stdin=subprocess.DEVNULL, stdout=log, stderr=log).returncode
    if asked:
        Path(folder, "asked.json").write_text(json.dumps(ask(asked[1])))
    return status


if __name__ == "__main__":
    sys.exit(main())
