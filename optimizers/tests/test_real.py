"""The program itself on circle-packing, by `TASKWRIGHT` or by its name."""

from __future__ import annotations

import os
import shutil
import tempfile
import unittest
from pathlib import Path

from taskwright_optimizers import CandidateFailed, Search

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = shutil.which(os.environ.get("TASKWRIGHT", "taskwright"))
FILE = "packing.py"


@unittest.skipIf(PROGRAM is None, "no `taskwright` is installed, and TASKWRIGHT names none")
class Real(unittest.TestCase):
    def setUp(self) -> None:
        room = tempfile.TemporaryDirectory()
        self.addCleanup(room.cleanup)
        self.room = Path(room.name)
        self.search = self.of("circle-packing")

    def of(self, task: str) -> Search:
        return Search(task, self.room / task, root=ROOT, program=PROGRAM)

    def test_the_baseline_is_the_empty_candidate(self) -> None:
        result = self.search.evaluate({}, "train")
        self.assertAlmostEqual(result.score, 26 / 12, places=9)
        self.assertEqual(result.metrics, {"valid": 1.0})
        self.assertEqual(result.feedback, "train-26: valid: the radii of 26 circles add up to 2.166666667")

    def test_the_budget_of_the_spec_is_read(self) -> None:
        self.assertEqual(self.search.left("validation"), (30, None))
        result = self.search.evaluate({}, "validation")
        self.assertEqual((result.samples, result.feedback), ((), ""))
        self.assertEqual(self.search.left("validation"), (29, None))

    def test_a_candidate_that_crashes_is_told_why(self) -> None:
        for text, words in (("def pack(n):\n    return 1 / 0\n", "ZeroDivisionError"), ("\ud800", "SyntaxError")):
            with self.assertRaises(CandidateFailed) as caught:
                self.search.evaluate({FILE: text}, "train", ["train-26"])
            self.assertIn(words, caught.exception.evaluation.feedback)
            self.assertEqual(caught.exception.evaluation.score, 0.0)

    def test_a_candidate_that_is_refused_is_its_own_failure(self) -> None:
        search = self.of("digits")
        before = search.left("train")
        with self.assertRaisesRegex(CandidateFailed, "train.jsonl"):
            search.evaluate({"train.jsonl": "x"}, "train")
        self.assertEqual(search.left("train"), before)

    def test_final_is_the_held_out_score(self) -> None:
        self.assertEqual(self.search.final({}), {"reward": 2.1666666666645})
