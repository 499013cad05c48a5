"""The candidate's side: runs the scoring program on the checkout, once for each sample, and answers with its report.

The program and the candidate share a process: nothing that is answered here can be trusted more than the candidate.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def arguments(command, folder):
    """The program's arguments, with the paths of this run in place of their names."""
    paths = {
        "{harness}": HERE / "harness",
        "{workspace}": Path.cwd(),
        "{request}": folder / "request.json",
        "{report}": folder / "report.json",
        "{artifacts}": folder / "artifacts",
    }
    for word in command:
        for name, path in paths.items():
            word = word.replace(name, str(path))
        yield word


def report(said, sample):
    """What the program reports of a sample."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "artifacts").mkdir()
        request = {"schema_version": 1, "request": {"seed": None, "cases": [sample]}}
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        subprocess.run(
            list(arguments(said["command"], folder)),
            cwd=Path.cwd() / said["working_directory"],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            check=True,
        )
        return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def main():
    # What the program prints must not end up between our lines.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    said = json.loads((HERE / "command.json").read_text(encoding="utf-8"))
    for line in sys.stdin:
        if line.strip():
            sample = json.loads(line)["id"]
            found = report(said, sample)
            output = {key: found.get(key) for key in ("status", "metrics", "diagnostics")}
            answers.write(json.dumps({"id": sample, "output": output}) + "\n")
            answers.flush()


if __name__ == "__main__":
    main()
