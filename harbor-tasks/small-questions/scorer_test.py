"""python3 -m unittest scorer_test, in this folder: the scorer, what the two programs ask and take, and the data, without a model."""

import importlib.util
import json
import re
import subprocess
import sys
import types
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROWS = [
    json.loads(line)
    for line in (HERE / "../../datasets/small-questions/sentences.jsonl").read_text(encoding="utf-8").splitlines()
]


def program(folder):
    """A candidate's `answer.py`, beside a stand-in for what asks the model."""
    model = types.ModuleType("model")
    model.ask = lambda messages: ""
    sys.modules["model"] = model
    spec = importlib.util.spec_from_file_location("answer", HERE / folder / "answer.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Programs(unittest.TestCase):
    def test_the_baseline_passes_on_what_the_model_says(self):
        baseline = program("baseline")
        [asked] = baseline.messages("A blue boat.")
        self.assertTrue(asked["content"].startswith("A blue boat."))
        self.assertEqual(baseline.answer(" The boat is blue.\n"), "The boat is blue.")

    def test_the_solution_shows_examples_and_takes_one_word(self):
        solution = program("solution")
        asked = solution.messages("A blue boat.")
        self.assertEqual([message["role"] for message in asked], ["user", "assistant"] * 3 + ["user"])
        self.assertEqual(asked[-1]["content"], "Sentence: A blue boat.\nColour:")
        self.assertEqual(solution.answer(" Blue.\nSentence: red"), "blue")
        self.assertEqual(solution.answer("17"), "")

    def test_no_example_gives_an_answer_away(self):
        shown = {colour for _, colour in program("solution").EXAMPLES}
        self.assertEqual(shown & {row["colour"] for row in ROWS}, set())


class Data(unittest.TestCase):
    def test_each_sentence_stands_once_and_names_its_colour_alone(self):
        colours = {row["colour"] for row in ROWS}
        for row in ROWS:
            named = [word for word in re.findall(r"[a-z]+", row["sentence"].lower()) if word in colours]
            self.assertEqual(named, [row["colour"]], row["id"])
        self.assertEqual(len({row["sentence"] for row in ROWS}), len(ROWS))
        self.assertEqual(len({row["id"] for row in ROWS}), len(ROWS))


class Scorer(unittest.TestCase):
    def scores(self, *answers):
        sample = {"id": "x", "sample": {"colour": "blue"}, "error": None}
        lines = [json.dumps({**sample, "output": None, **answer}) for answer in answers]
        # A number that no float holds, as a candidate may print it.
        lines.append('{"id": "x", "sample": {"colour": "blue"}, "error": null, "output": %s}' % ("9" * 5000))
        run = subprocess.run(
            [sys.executable, HERE / "scorer/score.py"], input="\n".join(lines), capture_output=True, text=True,
            check=True, timeout=30,
        )
        return [json.loads(line)["score"] for line in run.stdout.splitlines()]

    def test_the_word_to_the_letter_is_right_and_nothing_else(self):
        wrong = ["Blue", "blue ", "blue blue", "the blue one", "", 1, True, None, ["blue"], {"score": 1}]
        answers = [{"output": "blue"}, *({"output": output} for output in wrong), {"error": "crash", "output": "blue"}]
        self.assertEqual(self.scores(*answers), [1] + [0] * (len(wrong) + 2))


if __name__ == "__main__":
    unittest.main()
