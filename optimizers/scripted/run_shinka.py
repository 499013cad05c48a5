"""ShinkaEvolve on circle-packing: with scripted proposals.

python3 run_shinka.py STATE [--iterations N] [--runs N]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from proposals import FILE, ROOT, TASK, proposals
from server import scripted
from shinka.core import EvolutionConfig, ShinkaEvolveRunner
from shinka.database import DatabaseConfig
from shinka.launch import LocalJobConfig
from shown import expected, tell

from taskwright_optimizers import Search

EVALUATE = """from taskwright_optimizers.shinka import main

main({task!r}, file={file!r}, split="train", state={state!r}, root={root!r}, runs={runs!r})
"""
# ShinkaEvolve changes only what stands between these.
START, END = "# EVOLVE-BLOCK-START\n", "# EVOLVE-BLOCK-END\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("state", type=Path)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--runs", type=int)
    given = parser.parse_args()
    state = given.state.resolve()
    search = Search(TASK, state / "search", root=ROOT, runs=given.runs)
    initial = search.baseline(FILE)
    script = proposals(initial)
    best = expected(initial, script, given.runs)
    of_search = {"task": TASK, "file": FILE, "state": str(state / "search"), "root": str(ROOT), "runs": given.runs}
    (state / "initial.py").write_text(f"{START}{initial}{END}", encoding="utf-8")
    (state / "evaluate.py").write_text(EVALUATE.format(**of_search), encoding="utf-8")
    with scripted(script, wrap) as (address, prompts):
        runner = ShinkaEvolveRunner(
            evo_config=EvolutionConfig(
                # One kind of patch, one model, nothing else that asks a model, and the script's order is the run's.
                patch_types=["full"],
                patch_type_probs=[1.0],
                # The initial program is one of them.
                num_generations=given.iterations + 1,
                max_patch_resamples=1,
                llm_models=[f"local/scripted@{address}"],
                llm_dynamic_selection=None,
                llm_dynamic_selection_kwargs={},
                meta_rec_interval=None,
                embedding_model=None,
                use_text_feedback=True,
                init_program_path=str(state / "initial.py"),
                results_dir=str(state / "output"),
            ),
            job_config=LocalJobConfig(eval_program_path=str(state / "evaluate.py")),
            db_config=DatabaseConfig(db_path="programs.sqlite", num_islands=1),
            max_evaluation_jobs=1,
            max_proposal_jobs=1,
            verbose=False,
        )
        runner.run()
        found = runner.db.get_best_program()
    text = found.code.replace(START, "").replace(END, "")
    tell("shinka", search, {FILE: text}, found.combined_score, ["train"], best)
    assert any("the radii of 26 circles add up to" in prompt for prompt in prompts), "no feedback reached a prompt"


def wrap(text: str) -> str:
    code = f"```python\n{START}{text}{END}```"
    return f"<NAME>\nscripted\n</NAME>\n<DESCRIPTION>\nscripted\n</DESCRIPTION>\n<CODE>\n{code}\n</CODE>"


if __name__ == "__main__":
    main()
