"""A workspace whose `taskwright` answers what a test wants: for faults that the real program cannot be made to have."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from taskwright_optimizers import Search

# It logs its calls, and obeys `answer.json` beside it: an exit status, what it prints, what it does to the task.
PROGRAM = """#!/usr/bin/env python3
import json, pathlib, sys
here = pathlib.Path(__file__).parent
with (here / "calls.jsonl").open("a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
if "--dry-run" in sys.argv:
    sys.exit(json.loads((here / "dry.json").read_text()))
said, *more = json.loads((here / "answer.json").read_text())
if more:
    (here / "answer.json").write_text(json.dumps(more))
if said.get("rebuild"):
    serve = here / "target/harbor-tasks/toy/environment/sidecar/serve.json"
    serve.write_text(serve.read_text() + " ")
print(said["prints"])
print("error: " + said["says"], file=sys.stderr)
sys.exit(said["status"])
"""


def split(access: str, samples: list[str], runs: Any = "unlimited", budget: Any = "unlimited") -> dict[str, Any]:
    return {"access": access, "samples": samples, "budget": {"runs": runs, "samples": budget}, "min_samples": 1}


def scored(**values: float) -> dict[str, Any]:
    """A split of an answer in which every sample was scored."""
    samples = [
        {"id": name, "outcome": "scored", "value": value, "feedback": f"{name} is {value}", "transcript": f"log of {name}\n"}
        for name, value in values.items()
    ]
    numbers = {"planned": len(samples), "candidate_errors": 0, "infrastructure_errors": 0}
    mean = sum(values.values()) / len(values)
    return {"samples": samples, "aggregate": {**numbers, "mean": mean, "metrics": {}, "constraints": []}}


class Workspace(unittest.TestCase):
    """A task `toy` with a viewable, a non-viewable and a held-out split."""

    def setUp(self) -> None:
        room = tempfile.TemporaryDirectory()
        self.addCleanup(room.cleanup)
        self.root = Path(room.name)
        self.program = self.root / "taskwright"
        self.program.write_text(PROGRAM, encoding="utf-8")
        self.program.chmod(0o755)
        (self.root / "taskwright.toml").write_text("", encoding="utf-8")
        self.serve: dict[str, Any] = {
            "objective": {"metric": "score", "direction": "maximize", "failure_value": 0.0},
            "splits": {
                "train": split("viewable", ["a", "7", "c"]),
                "validation": split("non_viewable", ["v"]),
                "test": split("no_access", ["t"]),
            },
            "targets": [
                {
                    "split": "test",
                    "reward_key": "reward",
                    "samples": ["t"],
                    "attempts": 1,
                    "aggregate": "mean",
                    "failure_value": -1.0,
                }
            ],
            "feedback": {"transcripts": True},
            "scorer": {"deterministic": True},
        }
        baseline = self.root / "target/harbor-tasks/toy/environment/baseline"
        baseline.mkdir(parents=True)
        (baseline / "main.py").write_text("pass\n", encoding="utf-8")
        (self.root / "dry.json").write_text("0", encoding="utf-8")

    def search(self, state: str = "state", **more: Any) -> Search:
        sidecar = self.root / "target/harbor-tasks/toy/environment/sidecar"
        sidecar.mkdir(exist_ok=True)
        (sidecar / "serve.json").write_text(json.dumps(self.serve), encoding="utf-8")
        return Search("toy", self.root / state, root=self.root, program=str(self.program), **more)

    def answer(self, *splits: dict[str, Any], status: int = 0, says: str = "", prints: str | None = None, **more: Any) -> None:
        """What each call is answered: one split after the other, and the last of them from then on."""
        wholes = [json.dumps({"splits": [split], "isolation_gaps": []}) for split in splits] if prints is None else [prints]
        said = [{"status": status, "says": says, "prints": whole, **more} for whole in wholes]
        (self.root / "answer.json").write_text(json.dumps(said), encoding="utf-8")

    def calls(self) -> list[list[str]]:
        """The evaluations that were called for, without the looks at the task."""
        lines = (self.root / "calls.jsonl").read_text(encoding="utf-8").splitlines()
        return [call for call in map(json.loads, lines) if "--dry-run" not in call]
