"""What a search has spent: a file that several processes append to, each line bound to the one before it.

    charge ──▶ done       the samples are paid for; asking for them again costs nothing
       └─────▶ refund     an infrastructure error, or a candidate that was refused: nothing was learned
    final ───▶ told       the search is sealed, and the held-out scores are known
       └─────▶ refund     an infrastructure error: still sealed, and the same candidate may be scored again

A process that dies in between leaves a charge, never a refund.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import NoBudgetLeft, NotAllowed, StateDamaged
from .task import Split, Task


class Journal:
    """The journal of one search, in a folder of its own."""

    def __init__(self, folder: Path, task: Task, runs: int | None, samples: int | None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "journal.jsonl"
        self._limits = (runs, samples)
        self._deterministic = task.is_deterministic
        with self._open() as book:
            if not book.entries:
                book.append(event="opened", task=task.name, digest=task.digest)
            opened = book.entries[0]
            if (opened.get("task"), opened.get("digest")) != (task.name, task.digest):
                raise NotAllowed(
                    f"`{self._path}` is of a search on `{opened.get('task')}` as it was built before: "
                    "scores would not compare; begin another search in another folder"
                )

    def charge(self, candidate: str, split: Split, samples: Iterable[str]) -> int | None:
        """Takes what an evaluation costs, before it runs; none if all of it was paid for before."""
        with self._open() as book:
            if book.sealed():
                raise NotAllowed("the search is over: its final score was asked for")
            paid = book.paid(candidate, split.name) if self._deterministic else set()
            fresh = [sample for sample in samples if sample not in paid]
            if not fresh:
                return None
            self._afford(book, split, len(fresh))
            return book.append(event="charge", candidate=candidate, split=split.name, samples=fresh)

    def left(self, split: Split) -> tuple[int | None, int | None]:
        """How many evaluations and how many samples may still be had; none where there is no limit."""
        with self._open() as book:
            return self._left(book, split)

    def settle(self, number: int, event: str) -> None:
        """Says how a charge or a final ended."""
        with self._open() as book:
            book.append(event=event, of=number)

    def final(self, candidate: str) -> tuple[int, dict[str, float] | None]:
        """Seals the search for this candidate. If its scores are known, they are returned."""
        with self._open() as book:
            for entry in book.entries:
                if entry["event"] == "final" and entry["candidate"] != candidate:
                    raise NotAllowed("another candidate was chosen before: held-out samples are scored for one only")
                if entry["event"] == "told":
                    return entry["of"], entry["rewards"]
            return book.append(event="final", candidate=candidate), None

    def tell(self, number: int, rewards: dict[str, float]) -> None:
        """Keeps the held-out scores."""
        with self._open() as book:
            book.append(event="told", of=number, rewards=rewards)

    def _left(self, book: _Book, split: Split) -> tuple[int | None, int | None]:
        own, all_of_them = book.spent(split.name), book.spent(None)
        pairs = zip((split.run_limit, split.sample_limit), self._limits, own, all_of_them, strict=True)
        lefts = []
        for declared, given, spent, spent_in_all in pairs:
            both = [limit - used for limit, used in ((declared, spent), (given, spent_in_all)) if limit is not None]
            lefts.append(max(min(both), 0) if both else None)
        return lefts[0], lefts[1]

    def _afford(self, book: _Book, split: Split, samples: int) -> None:
        runs_left, samples_left = self._left(book, split)
        if runs_left is not None and runs_left < 1:
            raise NoBudgetLeft(f"no evaluation of the split `{split.name}` is left")
        if samples_left is not None and samples_left < samples:
            raise NoBudgetLeft(f"{samples_left} samples of the split `{split.name}` are left, and this takes {samples}")

    @contextmanager
    def _open(self) -> Iterator[_Book]:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield _Book(self._path, descriptor)
        finally:
            os.close(descriptor)


class _Book:
    """The journal while it is locked."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._descriptor = descriptor
        self._last = ""
        self.entries: list[dict[str, Any]] = []
        text = path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            # A line that was torn: whoever wrote it died before it acted on it.
            os.ftruncate(descriptor, len(whole))
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                entry = json.loads(line)
                check = entry.pop("check")
            except (ValueError, KeyError, AttributeError, TypeError):
                check = None
            if check is None or check != self._check(entry):
                raise StateDamaged(f"`{path}` is damaged at line {number}: begin another search in another folder")
            self._last = check
            self.entries.append(entry)

    def append(self, **entry: Any) -> int:
        """Writes a line, and gives its number."""
        self._last = self._check(entry)
        line = json.dumps({**entry, "check": self._last}) + "\n"
        os.write(self._descriptor, line.encode())
        os.fsync(self._descriptor)
        self.entries.append(entry)
        return len(self.entries) - 1

    def sealed(self) -> bool:
        return any(entry["event"] == "final" for entry in self.entries)

    def paid(self, candidate: str, split: str) -> set[str]:
        """The samples of which the candidate's scores are known."""
        charges = (self.entries[entry["of"]] for entry in self.entries if entry["event"] == "done")
        of_it = [charge for charge in charges if (charge["candidate"], charge["split"]) == (candidate, split)]
        return {sample for charge in of_it for sample in charge["samples"]}

    def spent(self, split: str | None) -> tuple[int, int]:
        """How many evaluations and samples were charged and not given back; of all splits if none is named."""
        back = {entry["of"] for entry in self.entries if entry["event"] == "refund"}
        sizes = [
            len(entry["samples"])
            for number, entry in enumerate(self.entries)
            if entry["event"] == "charge" and number not in back and split in (None, entry["split"])
        ]
        return len(sizes), sum(sizes)

    def _check(self, entry: dict[str, Any]) -> str:
        text = self._last + json.dumps(entry, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
