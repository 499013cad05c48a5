"""Calls the installed program, and tells its ends apart by exit status and by what it printed as JSON."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from .errors import InfrastructureFailed, Refused

# `taskwright --help` lists them.
WELL, FAILURE, USAGE, INCOMPLETE = 0, 1, 2, 3


class Program:
    """`taskwright eval` of one task."""

    def __init__(self, program: str, root: Path, task: str, log: Path) -> None:
        self._command = [program, "--root", str(root), "eval", task, "--json"]
        self._log = log

    def build(self) -> None:
        """Builds the task, if it is not."""
        status, _, said = self._run("--dry-run")
        if status != WELL:
            raise InfrastructureFailed(f"the task cannot be evaluated here: {said}")

    def evaluate(self, candidate: Path, split: str, samples: list[str] | None, fresh: bool) -> dict[str, Any]:
        """Evaluates a folder. Every sample that was asked for has a value in what is returned."""
        options = ["--candidate", str(candidate), "--split", split]
        if samples is not None:
            # The comma at the end: a name of digits alone would be a number of samples.
            options += ["--samples", ",".join(samples) + ","]
        status, answer, said = self._run(*options, *(["--fresh"] if fresh else []))
        if status == WELL and answer is not None:
            return answer
        if status == FAILURE and answer is None:
            # It was refused, unless the task itself cannot be evaluated any more.
            self.build()
            raise Refused(said)
        if status == INCOMPLETE and answer is not None:
            said = f"{_without_value(answer)} of the samples have no value; {said}"
        raise InfrastructureFailed(f"`taskwright eval` ended with exit status {status}: {said}")

    def _run(self, *options: str) -> tuple[int, dict[str, Any] | None, str]:
        command = [*self._command, *options]
        try:
            done = subprocess.run(
                command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
            )
        except OSError as error:
            raise InfrastructureFailed(
                f"starting `{command[0]}`: {error}; install it, or name it with `program` or TASKWRIGHT"
            ) from error
        with self._log.open("a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(command)}\n{done.stderr}exit status {done.returncode}\n")
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            answer = None
        return done.returncode, answer if isinstance(answer, dict) else None, _last_words(done.stderr)


def _without_value(answer: dict[str, Any]) -> int:
    return sum(split["aggregate"]["infrastructure_errors"] for split in answer.get("splits", []))


def _last_words(text: str) -> str:
    """The error itself, or else the end of what was said."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((number for number, line in enumerate(lines) if line.startswith("error")), max(len(lines) - 3, 0))
    return " ".join(lines[first:])[:2000] or "it said nothing"
