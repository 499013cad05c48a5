"""How a run is told, and what it must have come to when its proposer was scripted."""

from __future__ import annotations

import json
from typing import Any

from taskwright_optimizers import Search


def tell(optimizer: str, search: Search, files: dict[str, str], score: float, splits: list[str], best: str | None) -> None:
    """Scores what a search found once on what was held out, and prints one line of JSON. `best` is what it had to find."""
    said: dict[str, Any] = {"optimizer": optimizer, "best": score}
    said["left"] = {split: search.left(split) for split in splits}
    said["held_out"] = search.final(files)
    print(json.dumps(said), flush=True)
    if best is not None:
        (text,) = files.values()
        assert text.strip() == best.strip(), "another program won"
        assert said["held_out"] == {"reward": score}, said


def expected(initial: str, proposals: list[str], runs: int | None) -> str:
    """The last proposal, unless the budget does not reach it: the first evaluation is the initial program's."""
    return proposals[-1] if runs is None or runs > len(proposals) else initial
