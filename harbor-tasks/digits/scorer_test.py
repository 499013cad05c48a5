"""python3 -m unittest scorer_test, in this folder."""

import json
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROWS = HERE.parent.parent / "datasets" / "digits" / "digits.jsonl"


def rows():
    with ROWS.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def score_lines(text):
    command = [sys.executable, HERE / "scorer" / "score.py"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def score(*outputs, error=None):
    """Score raw JSON outputs against the label 3."""
    line = '{{"id":"x","sample":{{"id":"x","label":3}},"output":{},"error":{}}}\n'
    return score_lines("".join(line.format(o, json.dumps(error)) for o in outputs))


class Score(unittest.TestCase):
    def test_right_and_wrong(self):
        self.assertEqual([a["score"] for a in score("3", "3.0", "4", "-3")], [1, 1, 0, 0])

    def test_hostile_outputs_are_wrong_and_nothing_worse(self):
        hostile = [
            "null", "true", "false", '"3"', '"NaN"', "NaN", "Infinity", "-Infinity", "1e999",
            "[3]", '{"output": 3}', '{"score": 1, "id": "y"}', "9" * 5000, "-" + "9" * 100_000,
            '"' + "x" * 1_000_000 + '"', '"\\ud800"', "[" * 100_000 + "]" * 100_000,
            '{"id": "y", "a": "]}"}', "[" * 50_000 + '"}\\"]"' + "]" * 50_000,
        ]  # fmt: skip
        answers = score(*hostile)
        self.assertEqual(len(answers), len(hostile))
        for answer, output in zip(answers, hostile):
            self.assertEqual((answer["id"], answer["score"]), ("x", 0), output[:40])
            self.assertLess(len(answer["feedback"]), 200)

    def test_errors(self):
        for error in ("timeout", "crash", "no_output", "invalid_output", "other"):
            self.assertEqual(score("null", error=error)[0]["score"], 0)


class Run(unittest.TestCase):
    def run_candidate(self, folder, count=20):
        self.asked = [r for r in rows() if r["split"] == "validation"][:count]
        text = "".join(
            json.dumps({"id": r["id"], "input": {"pixels": r["pixels"]}}) + "\n"
            for r in self.asked
        )
        command = [sys.executable, "-B", HERE / "scorer" / "run.py"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=folder)
        return done, [json.loads(line) for line in done.stdout.splitlines()]

    def accuracy(self, folder):
        done, answers = self.run_candidate(folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        label = {r["id"]: r["label"] for r in self.asked}
        return sum(label[a["id"]] == a["output"] for a in answers) / len(label)

    def candidate(self, source):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name)
        (path / "train.jsonl").write_bytes((HERE / "baseline" / "train.jsonl").read_bytes())
        (path / "classifier.py").write_text(source, encoding="utf-8")
        return path

    def test_baseline_and_solution(self):
        solution = (HERE / "solution" / "classifier.py").read_text(encoding="utf-8")
        self.assertGreater(self.accuracy(HERE / "baseline"), 0.6)
        self.assertGreater(self.accuracy(self.candidate(solution)), 0.9)

    def test_prints_do_not_disturb(self):
        source = (
            "print('hello')\n"
            "class Classifier:\n"
            "    def fit(self, images, labels): print('fit')\n"
            "    def predict(self, image): print('predict'); return 1\n"
        )
        done, answers = self.run_candidate(self.candidate(source))
        self.assertEqual((done.returncode, len(answers)), (0, 20))

    def test_one_failing_sample_leaves_the_others(self):
        source = (
            "class Classifier:\n"
            "    count = 0\n"
            "    def fit(self, images, labels): pass\n"
            "    def predict(self, image):\n"
            "        self.count += 1\n"
            "        return object() if self.count == 3 else 1 // (self.count - 2)\n"
        )
        done, answers = self.run_candidate(self.candidate(source))
        self.assertEqual((done.returncode, len(answers)), (1, 18))
        self.assertIn("ZeroDivisionError", done.stderr)


class Data(unittest.TestCase):
    def test_rows(self):
        ids = [r["id"] for r in rows()]
        self.assertEqual(ids, [f"digit-{i:04}" for i in range(1, 1798)])
        self.assertEqual(len({tuple(r["pixels"]) for r in rows()}), 1797)
        sizes = Counter(r["split"] for r in rows())
        self.assertEqual(sizes, {"train": 1078, "validation": 360, "test": 359})

    def test_baseline_carries_the_train_split_and_nothing_else(self):
        with (HERE / "baseline" / "train.jsonl").open(encoding="utf-8") as lines:
            carried = [json.loads(line) for line in lines]
        train = [r for r in rows() if r["split"] == "train"]
        self.assertEqual(carried, [{k: r[k] for k in ("pixels", "label")} for r in train])


if __name__ == "__main__":
    unittest.main()
