"""GEPA on circle-packing: with scripted proposals, or with a model that OPENAI_BASE_URL leads to.

python3 run_gepa.py STATE [--model NAME] [--iterations N] [--runs N]
"""

from __future__ import annotations

import argparse
import json
import os
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import gepa
from proposals import FILE, ROOT, TASK, proposals
from shown import expected, tell

from taskwright_optimizers import Search
from taskwright_optimizers.gepa import Adapter

PROMPT = """Improve this Python file:
```
<curr_param>
```
What came of it:
<side_info>
Answer with the whole new file within ``` blocks."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("state", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--runs", type=int)
    given = parser.parse_args()
    search = Search(TASK, given.state.resolve() / "search", root=ROOT, runs=given.runs)
    adapter = Adapter(search)
    initial = search.baseline(FILE)
    script = proposals(initial)
    best = None if given.model else expected(initial, script, given.runs)
    prompts: list[str] = []
    ask = asker(given.model) if given.model else teller(iter(script))

    def reflect(prompt: str) -> str:
        prompts.append(prompt)
        return ask(prompt)

    result = gepa.optimize(
        seed_candidate={FILE: initial},
        trainset=adapter.rows("train"),
        valset=adapter.rows("validation"),
        adapter=adapter,
        reflection_lm=reflect,
        reflection_prompt_template=PROMPT,
        reflection_minibatch_size=1,
        # A score of more than 1 is not perfect here.
        skip_perfect_score=False,
        stop_callbacks=[adapter.is_over, lambda _state: len(prompts) >= given.iterations],
        raise_on_exception=False,
    )
    score = result.val_aggregate_scores[result.best_idx]
    tell("gepa", search, result.best_candidate, score, ["train", "validation"], best)
    if not given.model:
        assert any("the radii of 26 circles add up to" in prompt for prompt in prompts), "no feedback reached a prompt"
        assert best == script[-1] or len(prompts) < given.iterations, "it went on when the budget was spent"


def teller(texts: Iterator[str]) -> Callable[[str], str]:
    last = ""

    def tell_next(_prompt: str) -> str:
        nonlocal last
        last = next(texts, last)
        return f"```python\n{last}\n```"

    return tell_next


def asker(model: str) -> Callable[[str], str]:
    def ask(prompt: str) -> str:
        body = {"model": model, "max_tokens": 512, "messages": [{"role": "user", "content": prompt}]}
        headers = {"content-type": "application/json", "authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
        address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]

    return ask


if __name__ == "__main__":
    main()
