"""ShinkaEvolve: its `evaluate.py` calls `main(...)`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from .errors import InfrastructureFailed, NoBudgetLeft
from .search import Search


def main(task: str, *, file: str, split: str, state: str | Path, **of_search: Any) -> None:
    """Scores the program that the command line names, and leaves the two files that ShinkaEvolve reads. The program stands
    for one file of the task and is never imported here; it is run in the sandbox."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--program_path", type=Path, required=True)
    parser.add_argument("--results_dir", type=Path, required=True)
    given = parser.parse_args()
    try:
        result = Search(task, state, **of_search).attempt({file: given.program_path.read_text(encoding="utf-8")}, split)
    except (InfrastructureFailed, NoBudgetLeft) as error:
        # Without metrics, and not correct: it never becomes the best or a parent that counts.
        _leave(given.results_dir, {}, str(error))
        raise SystemExit(str(error)) from error
    metrics = {"combined_score": result.score, "public": dict(result.metrics), "text_feedback": result.feedback}
    _leave(given.results_dir, metrics, result.failure)


def _leave(folder: Path, metrics: dict[str, Any], failure: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    correct = {"correct": not failure, "error": failure or None}
    (folder / "correct.json").write_text(json.dumps(correct), encoding="utf-8")
