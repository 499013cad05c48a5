"""python3 -m unittest scorer_test, in this folder."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


def score(*outputs, error=None, circles=2):
    """Score raw JSON outputs."""
    line = '{{"id":"x","sample":{{"id":"x","circles":{}}},"output":{},"error":{}}}\n'
    text = "".join(line.format(circles, o, json.dumps(error)) for o in outputs)
    command = [sys.executable, HERE / "scorer" / "score.py"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(outputs)
    return answers


def run(folder, n=26):
    text = json.dumps({"id": "x", "input": {"split": "test", "circles": n}}) + "\n"
    command = [sys.executable, "-B", HERE / "scorer" / "run.py"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=folder)
    return done, [json.loads(line)["output"] for line in done.stdout.splitlines()]


class Score(unittest.TestCase):
    def one(self, output):
        answer = score(json.dumps(output))[0]
        return answer["score"], answer["metrics"]["valid"]

    def test_touching_is_valid_and_no_tolerance_is_given(self):
        # Exact in binary: the circles touch each other and the walls.
        self.assertEqual(self.one([[0.25, 0.25, 0.25], [0.75, 0.25, 0.25]]), (0.5, 1))
        more = 0.25000000000000006  # the next double
        self.assertEqual(self.one([[0.5, 0.5, 0.25], [0.5, 1.0, 0.0]]), (0.25, 1))
        self.assertEqual(self.one([[0.25, 0.25, more], [0.75, 0.25, 0.0]]), (0.0, 0))
        self.assertEqual(self.one([[0.3, 0.5, 0.25], [0.7, 0.5, 0.16]]), (0.0, 0))

    def test_rounding_is_not_hidden(self):
        # The doubles 0.9 and 0.1 are a little above 9/10 and 1/10: together more than 1.
        self.assertEqual(self.one([[0.9, 0.5, 0.1], [0.1, 0.5, 0.1]]), (0.0, 0))
        # The square of the least double would be 0 in doubles.
        self.assertEqual(self.one([[0.5, 0.5, 5e-324], [0.5, 0.5, 0]]), (0.0, 0))
        self.assertEqual(self.one([[0.5, 0.5, 0], [0.5, 0.5, 0]]), (0.0, 1))

    def test_walls(self):
        for x, y, r in ((0.05, 0.5, 0.1), (0.5, 0.05, 0.1), (0.95, 0.5, 0.1), (0.5, 0.95, 0.1),
                        (0.5, 0.5, -0.1), (0.5, 0.5, 0.6), (-1, 0.5, 0), (2, 0.5, 0)):  # fmt: skip
            self.assertEqual(self.one([[x, y, r], [0.5, 0.5, 0]]), (0.0, 0), (x, y, r))

    def test_hostile_outputs_are_invalid_and_nothing_worse(self):
        two = "[[0.25,0.25,0.25],[0.75,0.25,{}]]"
        hostile = [
            "null", "true", "2.635", '"NaN"', "NaN", "{}", "[]", '{"score": 9, "id": "y"}',
            "[[0.25,0.25,0.25]]", "[[0.5,0.5,0],[0,0,0],[1,1,0]]", "[[],[]]", "[1,2]",
            "[[0.5,0.5],[0.5,0.5]]", "[[0.1,0.1,0,0],[0.5,0.5,0,0]]", '["abc","def"]',
            two.format("NaN"), two.format("Infinity"), two.format("-Infinity"),
            two.format("1e999"), two.format("-1e999"), two.format('"0.25"'), two.format('"NaN"'),
            two.format("null"), two.format("true"), two.format("[0.25]"), two.format('{"r":1}'),
            two.format("1e308"), two.format("-1e308"), two.format("9" * 350),
            two.format("9" * 5000), two.format("-" + "9" * 100_000), two.format("0.25" + "0" * 9 + "1"),
            "[" + "[0.5,0.5,0]," * 100_000 + "[0.5,0.5,0]]",
            "[" * 100_000 + "]" * 100_000, "[" * 50_000 + '"}\\"]"' + "]" * 50_000,
            two.format("[" * 50_000 + "]" * 50_000), '"' + "x" * 1_000_000 + '"', '"\\ud800"',
        ]  # fmt: skip
        for answer, output in zip(score(*hostile), hostile):
            self.assertEqual(answer["id"], "x")
            self.assertEqual((answer["score"], answer["metrics"]), (0.0, {"valid": 0}), output[:60])
            self.assertLess(len(answer["feedback"]), 200)

    def test_errors(self):
        for error in ("timeout", "crash", "no_output", "invalid_output", "other"):
            self.assertEqual(score("null", error=error)[0]["score"], 0.0)


class Run(unittest.TestCase):
    def candidate(self, source):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        Path(folder.name, "packing.py").write_text(source, encoding="utf-8")
        return folder.name

    def test_baseline_and_solution(self):
        sums = {}
        for name in ("baseline", "solution"):
            done, (output,) = run(HERE / name)
            self.assertEqual(done.returncode, 0, done.stderr)
            answer = score(json.dumps(output), circles=26)[0]
            self.assertEqual(answer["metrics"], {"valid": 1}, answer["feedback"])
            sums[name] = answer["score"]
        self.assertAlmostEqual(sums["baseline"], 26 / 12, places=9)
        self.assertGreater(sums["solution"], 2.62)

    def test_other_counts_are_valid_too(self):
        for n in (1, 2, 7):
            for name in ("baseline", "solution"):
                _, (output,) = run(HERE / name, n)
                self.assertEqual(score(json.dumps(output), circles=n)[0]["metrics"], {"valid": 1})

    def test_prints_do_not_disturb(self):
        source = "print('x')\ndef pack(n):\n    print('y')\n    return [(0.5, 0.5, 0.5)]\n"
        done, outputs = run(self.candidate(source), 1)
        self.assertEqual((done.returncode, outputs), (0, [[[0.5, 0.5, 0.5]]]))

    def test_a_failing_candidate_is_a_crash(self):
        for source in ("def pack(n):\n    return 1 / 0\n", "import nothing_like_this\n", "", "pack = 3"):
            done, outputs = run(self.candidate(source))
            self.assertEqual((done.returncode, outputs), (1, []))
            self.assertIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
