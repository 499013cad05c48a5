"""What the scripted proposer proposes: known programs, each of a kind, on circle-packing."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TASK, FILE = "circle-packing", "packing.py"
BETTER = (ROOT / "harbor-tasks/circle-packing/solution/packing.py").read_text(encoding="utf-8")


def proposals(baseline: str) -> list[str]:
    """A worse program, one whose circles overlap, one that crashes, one that is no Python, and a better one."""
    smaller, larger = (baseline.replace("cell / 2", other) for other in ("cell / 4", "cell"))
    assert baseline not in (smaller, larger), "the baseline is another than these were made for"
    return [smaller, larger, "def pack(n):\n    raise RuntimeError('no idea')\n", "def pack(n) return\n", BETTER]
