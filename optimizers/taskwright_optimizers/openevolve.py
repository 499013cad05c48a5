"""OpenEvolve: its evaluator file sets `evaluate = evaluator(...)`."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openevolve.evaluation_result import EvaluationResult

from .errors import InfrastructureFailed, NoBudgetLeft
from .search import Search


def evaluator(task: str, *, file: str, split: str, state: str | Path, **of_search: Any) -> Callable[[str], EvaluationResult]:
    """What scores a program that stands for one file of the task. OpenEvolve never imports it; it is run in the sandbox."""
    search = Search(task, state, **of_search)

    def evaluate(program_path: str) -> EvaluationResult:
        text = Path(program_path).read_text(encoding="utf-8")
        try:
            result = search.attempt({file: text}, split)
        except (InfrastructureFailed, NoBudgetLeft) as error:
            return _stop(error)
        return EvaluationResult(
            # The metrics under other names than OpenEvolve's own, which a scorer must not set.
            metrics={"combined_score": result.score, **{f"task_{name}": value for name, value in result.metrics.items()}},
            artifacts={"feedback": result.feedback} if result.feedback else {},
        )

    return evaluate


def _stop(error: Exception) -> EvaluationResult:
    """Ends the run as Ctrl-C does, with the best program kept. An exception would count as a score of 0, which may be a
    good one, and every further iteration would ask the model for nothing."""
    controller = multiprocessing.parent_process()
    if controller is None or controller.pid is None:
        raise SystemExit(f"the initial program cannot be scored: {error}")
    os.kill(controller.pid, signal.SIGTERM)
    return EvaluationResult(metrics={"combined_score": float("-inf")}, artifacts={"failure": str(error)})
