"""How a run is told, and what it must have come to when its proposer was scripted."""

from __future__ import annotations

import json
from typing import Any

from proposals import BETTER

from taskwright_optimizers import Search


def tell(optimizer: str, search: Search, files: dict[str, str], score: float, is_scripted: bool, splits: list[str]) -> None:
    """Scores the best once on what was held out, prints one line of JSON, and checks it."""
    said: dict[str, Any] = {"optimizer": optimizer, "best": score}
    said["left"] = {split: search.left(split) for split in splits}
    said["held_out"] = search.final(files)
    print(json.dumps(said), flush=True)
    if is_scripted:
        (text,) = files.values()
        assert text.strip() == BETTER.strip(), "the better program did not win"
        assert score > 2.62, said
        assert said["held_out"]["reward"] == score, said
