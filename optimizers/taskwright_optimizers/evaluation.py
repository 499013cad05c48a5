"""What an evaluation came to, as far as a search may know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from .task import Split, Task


@dataclass(frozen=True)
class SampleScore:
    """One sample of a split that may be seen. More is better."""

    id: str
    score: float
    feedback: str


@dataclass(frozen=True)
class Evaluation:
    """A candidate on a split. `samples` is empty where only the mean may be seen."""

    split: str
    score: float
    """The mean, more is better: the negative of the metric if the task wants less of it."""
    value: float
    """The mean as the task has it."""
    metrics: Mapping[str, float]
    samples: tuple[SampleScore, ...]
    failure: str
    """Why it does not count; empty if it does."""
    gaps: tuple[str, ...] = ()
    """The isolation that this machine could not give."""

    @property
    def feedback(self) -> str:
        """What may be told to whoever writes the next candidate."""
        lines = [f"{sample.id}: {sample.feedback}" for sample in self.samples if sample.feedback]
        return "\n".join(([self.failure] if self.failure else []) + lines)


def read(task: Task, split: Split, said: Mapping[str, Any], gaps: list[dict[str, str]]) -> Evaluation:
    """Reads a split of `eval --json`, and leaves out what its access does not show."""
    all_of_it = said["aggregate"]
    failure = _failure(all_of_it)
    broken = any(not held["holds"] for held in all_of_it["constraints"])
    # Who breaks a constraint has no score, however good the metric is.
    value = task.failure_value if broken else float(all_of_it["mean"])
    samples = [_sample(task, sample) for sample in said["samples"]] if split.is_viewable else []
    if broken:
        samples = [replace(sample, score=task.signed(value)) for sample in samples]
    return Evaluation(
        split=split.name,
        score=task.signed(value),
        value=value,
        metrics=dict(all_of_it["metrics"]),
        samples=tuple(samples),
        failure=failure,
        gaps=tuple(gap["name"] for gap in gaps),
    )


def refused(task: Task, split: Split, samples: tuple[str, ...], why: str) -> Evaluation:
    """Of a candidate that could not be evaluated at all: the failure value, whatever is asked."""
    score = task.signed(task.failure_value)
    rows = tuple(SampleScore(sample, score, "") for sample in samples) if split.is_viewable else ()
    return Evaluation(split.name, score, task.failure_value, {}, rows, why)


def _failure(all_of_it: Mapping[str, Any]) -> str:
    if all_of_it["candidate_errors"] == all_of_it["planned"]:
        return "the candidate failed on every sample"
    broken = [held["constraint"] for held in all_of_it["constraints"] if not held["holds"]]
    return "; ".join(f"the constraint {c['metric']} {c['operator']} {c['value']} does not hold" for c in broken)


def _sample(task: Task, said: Mapping[str, Any]) -> SampleScore:
    words = [said.get("detail"), said.get("feedback"), said.get("transcript") if task.shows_transcripts else None]
    return SampleScore(said["id"], task.signed(float(said["value"])), "\n".join(word.strip() for word in words if word))
