"""GEPA: an adapter whose components are files of the task, by path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gepa.core.adapter import EvaluationBatch

from .evaluation import Evaluation, SampleScore
from .search import Search


class Row(NamedTuple):
    """What GEPA samples: a sample, or a whole split of which only the mean may be seen."""

    split: str
    sample: str | None


class Adapter:
    """A GEPAAdapter. `trainset` and `valset` are its `rows`; give `stop_callbacks=[adapter.is_over]`."""

    propose_new_texts = None

    def __init__(self, search: Search) -> None:
        self.search = search

    def rows(self, split: str) -> list[Row]:
        allowed = self.search.task.split(split)
        return [Row(split, sample) for sample in allowed.samples] if allowed.is_viewable else [Row(split, None)]

    def is_over(self, gepa_state: object) -> bool:
        """Whether the budget is spent or the infrastructure failed: then GEPA stops, and keeps its best."""
        return bool(self.search.over)

    def evaluate(
        self, batch: list[Row], candidate: dict[str, str], capture_traces: bool = False
    ) -> EvaluationBatch[SampleScore, SampleScore]:
        known: dict[Row, SampleScore] = {}
        for split in dict.fromkeys(row.split for row in batch):
            samples = [row.sample for row in batch if row.split == split and row.sample is not None]
            result: Evaluation = self.search.attempt(candidate, split, samples or None)
            known[Row(split, None)] = SampleScore(split, result.score, result.feedback)
            known |= {Row(split, sample.id): sample for sample in result.samples}
        scores = [known[row] for row in batch]
        return EvaluationBatch(scores, [score.score for score in scores], scores if capture_traces else None)

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: EvaluationBatch[SampleScore, SampleScore], components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        seen = dict.fromkeys(eval_batch.trajectories or [])
        records = [{"Inputs": {"sample": one.id}, "score": one.score, "Feedback": one.feedback} for one in seen]
        return {name: records for name in components_to_update}
