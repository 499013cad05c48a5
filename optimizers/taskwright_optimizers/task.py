"""What a built task declares: its splits, their budgets, its targets, its baseline."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import InfrastructureFailed, NotAllowed


@dataclass(frozen=True)
class Split:
    """A group of samples, and what a search may have of it. A limit of None is none."""

    name: str
    access: str
    samples: tuple[str, ...]
    run_limit: int | None
    sample_limit: int | None

    @property
    def is_viewable(self) -> bool:
        return self.access == "viewable"


@dataclass(frozen=True)
class Target:
    """A split that is scored once, in the end."""

    split: str
    key: str
    samples: tuple[str, ...]
    attempts: int
    aggregate: str
    failure_value: float


class Task:
    """A task as it was built."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.serve_path = folder / "environment/sidecar/serve.json"
        serve = self._read()
        self.digest = self.digest_now()
        self.splits: Mapping[str, Split] = {split: _split(split, said) for split, said in serve["splits"].items()}
        self.targets = tuple(_target(said) for said in serve["targets"])
        self.maximize: bool = serve["objective"]["direction"] == "maximize"
        self.failure_value = float(serve["objective"]["failure_value"])
        # Only a scorer of ours can promise it: a nested run rolls dice.
        self.is_deterministic = bool((serve.get("scorer") or {}).get("deterministic", False))
        self.shows_transcripts = bool(serve["feedback"]["transcripts"])

    def _read(self) -> dict[str, Any]:
        try:
            serve: dict[str, Any] = json.loads(self.serve_path.read_bytes())
        except (OSError, ValueError) as error:
            raise InfrastructureFailed(f"the built task `{self.folder}` cannot be read: {error}") from error
        return serve

    def digest_now(self) -> str:
        """Of all that decides what a score means."""
        try:
            return hashlib.sha256(self.serve_path.read_bytes()).hexdigest()
        except OSError as error:
            raise InfrastructureFailed(f"the built task `{self.folder}` cannot be read: {error}") from error

    def baseline(self, path: str) -> str:
        """The text of a file of the baseline."""
        try:
            return (self.baseline_folder / path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise NotAllowed(f"the baseline of `{self.name}` has no text file `{path}`: {error}") from error

    @property
    def baseline_folder(self) -> Path:
        return self.folder / "environment/baseline"

    def split(self, name: str) -> Split:
        """A split that a search may have; a held-out one is refused."""
        if name not in self.splits:
            raise NotAllowed(f"the task `{self.name}` has no split `{name}`: it has {', '.join(sorted(self.splits))}")
        split = self.splits[name]
        if split.access == "no_access":
            raise NotAllowed(f"the split `{name}` of `{self.name}` is held out: only `final` scores it, once")
        return split

    def signed(self, value: float) -> float:
        """A value as optimizers want it: more is better."""
        return value if self.maximize else -value


def find_root(start: Path) -> Path:
    """The workspace of a folder: the nearest one upwards with a `taskwright.toml`."""
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / "taskwright.toml").is_file():
            return folder
    raise NotAllowed(f"no `taskwright.toml` in `{start.resolve()}` or above it: name the workspace with `root`")


def output_folder(root: Path) -> Path:
    """Where a workspace's tasks are built."""
    try:
        said = tomllib.loads((root / "taskwright.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NotAllowed(f"reading `{root / 'taskwright.toml'}`: {error}") from error
    return root / str(said.get("output", "target/harbor-tasks"))


def _split(name: str, said: dict[str, Any]) -> Split:
    budget = said["budget"]
    limits = {key: None if budget[key] == "unlimited" else int(budget[key]) for key in ("runs", "samples")}
    return Split(name, said["access"], tuple(said["samples"]), limits["runs"], limits["samples"])


def _target(said: dict[str, Any]) -> Target:
    return Target(
        split=said["split"],
        key=said["reward_key"],
        samples=tuple(said["samples"]),
        attempts=int(said["attempts"]),
        aggregate=said["aggregate"],
        failure_value=float(said["failure_value"]),
    )
