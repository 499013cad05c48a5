"""OpenEvolve on circle-packing: with scripted proposals, or with a model that OPENAI_BASE_URL leads to.

python3 run_openevolve.py STATE [--model NAME] [--iterations N] [--runs N]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from openevolve import run_evolution
from openevolve.config import Config, LLMModelConfig
from proposals import FILE, ROOT, TASK, proposals
from server import scripted
from shown import expected, tell

from taskwright_optimizers import Search

EVALUATOR = """from taskwright_optimizers.openevolve import evaluator

evaluate = evaluator({task!r}, file={file!r}, split="train", state={state!r}, root={root!r}, runs={runs!r})
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("state", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--runs", type=int)
    given = parser.parse_args()
    state = given.state.resolve()
    search = Search(TASK, state / "search", root=ROOT, runs=given.runs)
    initial = search.baseline(FILE)
    script = proposals(initial)
    best = None if given.model else expected(initial, script, given.runs)
    of_search = {"task": TASK, "file": FILE, "state": str(state / "search"), "root": str(ROOT), "runs": given.runs}
    (state / "initial.py").write_text(initial, encoding="utf-8")
    (state / "evaluator.py").write_text(EVALUATOR.format(**of_search), encoding="utf-8")
    with scripted(script, lambda text: f"```python\n{text}\n```") as (address, prompts):
        url = os.environ["OPENAI_BASE_URL"] if given.model else address
        key = os.environ["OPENAI_API_KEY"] if given.model else "none"
        result = run_evolution(
            str(state / "initial.py"),
            str(state / "evaluator.py"),
            config=config(url, key, given.model or "scripted"),
            iterations=given.iterations,
            output_dir=str(state / "output"),
            cleanup=False,
        )
    tell("openevolve", search, {FILE: result.best_code}, result.best_score, ["train"], best)
    if not given.model:
        assert any("the radii of 26 circles add up to" in prompt for prompt in prompts), "no feedback reached a prompt"
        assert best == script[-1] or len(prompts) < given.iterations, "it went on when the budget was spent"


def config(url: str, key: str, model: str) -> Config:
    said = Config()
    # One worker, one island, and the script's order is the run's.
    said.llm.models = [LLMModelConfig(name=model, api_base=url, api_key=key, max_tokens=512, timeout=120, retries=0)]
    said.llm.evaluator_models = said.llm.models
    said.diff_based_evolution = False
    said.random_seed = 0
    said.database.num_islands = 1
    said.evaluator.parallel_evaluations = 1
    said.evaluator.cascade_evaluation = False
    said.checkpoint_interval = 1000
    return said


if __name__ == "__main__":
    main()
