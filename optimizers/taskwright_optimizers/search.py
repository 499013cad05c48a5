"""A search for a better candidate of one task: what an optimizer may ask, and what that costs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

from . import candidate, evaluation
from .candidate import Files
from .errors import CandidateFailed, InfrastructureFailed, NotAllowed, Refused
from .evaluation import Evaluation
from .journal import Journal
from .program import Program
from .task import Split, Target, Task, find_root, output_folder


class Search:
    """One search. Several processes may have the same one open, by the same folder."""

    def __init__(
        self,
        task: str,
        state: str | Path,
        *,
        root: str | Path | None = None,
        program: str | None = None,
        runs: int | None = None,
        samples: int | None = None,
    ) -> None:
        """`state` is the folder that keeps what was spent. `runs` and `samples` bound evaluations and samples over all
        splits, beside what the task's own splits declare."""
        workspace = Path(root) if root is not None else find_root(Path.cwd())
        folder = Path(state)
        folder.mkdir(parents=True, exist_ok=True)
        self._program = Program(
            program or os.environ.get("TASKWRIGHT", "taskwright"), workspace, task, folder / "taskwright.log"
        )
        self._program.build()
        self.task = Task(task, output_folder(workspace) / task)
        self._journal = Journal(folder, self.task, runs, samples)
        self.over = ""
        """Why an evaluation could not be had, and the next one could not either. Empty while all is well."""

    def baseline(self, path: str) -> str:
        """The text that a search starts from."""
        return self.task.baseline(path)

    def left(self, split: str) -> tuple[int | None, int | None]:
        """How many evaluations and how many samples of a split are left; None where there is no limit."""
        return self._journal.left(self.task.split(split))

    def evaluate(self, files: Files, split: str, samples: Sequence[str] | None = None) -> Evaluation:
        """Scores a candidate. Raises CandidateFailed, InfrastructureFailed, NoBudgetLeft or NotAllowed."""
        try:
            allowed = self.task.split(split)
            result = self._charged(files, allowed, _chosen(allowed, samples))
        except Exception as error:
            self.over = str(error) or repr(error)
            raise
        if result.failure:
            raise CandidateFailed(result)
        return result

    def attempt(self, files: Files, split: str, samples: Sequence[str] | None = None) -> Evaluation:
        """The same, but a candidate's own failure is a result like any other, with the failure value."""
        try:
            return self.evaluate(files, split, samples)
        except CandidateFailed as failed:
            return failed.evaluation

    def final(self, files: Files) -> dict[str, float]:
        """Seals the search and scores the candidate on the task's targets, as the task has it, by reward key. It is
        scored once: asked again, the same candidate gets the same answer, and another one none."""
        try:
            own = candidate.own(self.task.baseline_folder, files)
        except Refused as refused:
            raise NotAllowed(f"nothing to score: {refused}") from refused
        number, known = self._journal.final(candidate.digest(own))
        if known is None:
            try:
                known = {target.key: self._target(own, target) for target in self.task.targets}
            except BaseException:
                self._journal.settle(number, "refund")
                raise
            self._journal.tell(number, known)
        return known

    def _charged(self, files: Files, split: Split, samples: tuple[str, ...]) -> Evaluation:
        try:
            own = candidate.own(self.task.baseline_folder, files)
            number = self._journal.charge(candidate.digest(own), split, samples)
            end = "refund"
            try:
                result = self._run(own, split, samples)
                end = "done"
            finally:
                if number is not None:
                    self._journal.settle(number, end)
        except Refused as refused:
            result = evaluation.refused(self.task, split, samples, str(refused))
        return result

    def _run(self, own: Files, split: Split, samples: tuple[str, ...]) -> Evaluation:
        named = None if samples == split.samples else list(samples)
        with candidate.folder(self.task.baseline_folder, own) as folder:
            # What may differ each time is run each time; all else is answered from the program's own record.
            answer = self._program.evaluate(folder, split.name, named, fresh=not self.task.is_deterministic)
        if self.task.digest_now() != self.task.digest:
            raise InfrastructureFailed("the task was built anew meanwhile: begin another search in another folder")
        return evaluation.read(self.task, split, answer["splits"][0], answer["isolation_gaps"])

    def _target(self, own: Files, target: Target) -> float:
        split = self.task.splits[target.split]
        named = None if target.samples == split.samples else list(target.samples)
        attempts: list[dict[str, float]] = []
        with candidate.folder(self.task.baseline_folder, own) as folder:
            for _ in range(target.attempts):
                try:
                    # Run anew: a candidate that rolls dice does not keep its lucky throw.
                    answer = self._program.evaluate(folder, target.split, named, fresh=True)
                except Refused:
                    return target.failure_value
                result = evaluation.read(self.task, split, answer["splits"][0], [])
                if result.failure:
                    return target.failure_value
                attempts.append({sample["id"]: sample["value"] for sample in answer["splits"][0]["samples"]})
        best = max if self.task.maximize else min
        rules: dict[str, Callable[[list[float]], float]] = {"mean": fmean, "best": best, "first": _first}
        add_up = rules[target.aggregate]
        return fmean(add_up([attempt[sample] for attempt in attempts]) for sample in target.samples)


def _first(values: list[float]) -> float:
    return values[0]


def _chosen(split: Split, samples: Sequence[str] | None) -> tuple[str, ...]:
    if samples is None:
        return split.samples
    if not split.is_viewable:
        raise NotAllowed(f"of the split `{split.name}` only the mean over all samples may be seen: leave `samples` out")
    unknown = [sample for sample in samples if sample not in split.samples]
    if unknown or not samples:
        raise NotAllowed(f"the split `{split.name}` has no such samples: {', '.join(unknown) or 'none were named'}")
    unsayable = [sample for sample in samples if "," in sample or sample != sample.strip()]
    if unsayable:
        raise NotAllowed(f"`taskwright eval` cannot be told this sample alone: `{unsayable[0]}`")
    # Each once, in the split's order: the same samples are the same evaluation.
    wanted = set(samples)
    return tuple(sample for sample in split.samples if sample in wanted)
