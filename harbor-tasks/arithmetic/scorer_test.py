"""python3 -m unittest scorer_test, in this folder: the inner verifiers without their containers."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

INNER = Path(__file__).resolve().parent / "inner-tasks"
RIGHT = {
    "add-train": 42,
    "mul-train": 42,
    "add-validation": 342,
    "mul-validation": 156,
    "add-test": 846,
    "mul-test": 714,
}


class Verifier(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "app").mkdir()
        (self.root / "logs/verifier").mkdir(parents=True)
        self.answer = self.root / "app/answer.txt"

    def run_script(self, path):
        """Run a script of an inner task with its folders moved below the temporary one."""
        script = path.read_text(encoding="utf-8")
        for folder in ("/app/", "/logs/"):
            script = script.replace(folder, f"{self.root}{folder}")
        subprocess.run(["sh", "-c", script], check=True, timeout=10)

    def reward(self, task):
        self.run_script(INNER / task / "tests/test.sh")
        text = (self.root / "logs/verifier/reward.json").read_text(encoding="utf-8")
        return json.loads(text)

    def test_the_tasks_are_these(self):
        self.assertEqual({p.name for p in INNER.iterdir()}, set(RIGHT))

    def test_right_wrong_and_missing(self):
        for task, number in RIGHT.items():
            self.answer.unlink(missing_ok=True)
            self.assertEqual(self.reward(task), {"reward": 0})
            for text in (str(number), f"{number}\n", f"{number}\r\n"):
                self.answer.write_text(text, encoding="utf-8", newline="")
                self.assertEqual(self.reward(task), {"reward": 1}, (task, text))
            self.answer.write_text(f"{number + 1}\n", encoding="utf-8")
            self.assertEqual(self.reward(task), {"reward": 0})

    def test_hostile_answers(self):
        hostile = [
            b"", b"\n", b"42 42", b"42\n43", b"4 2", b"0x2a", b"042", b"+42", b"42.0", b"$((6*7))",
            b"42" + b"0" * 10_000_000, b"\xff\xfe42", b'" = "" ] || true; [ "', b"\x1b[2J42",
        ]  # fmt: skip
        for answer in hostile:
            self.answer.write_bytes(answer)
            self.assertEqual(self.reward("mul-train"), {"reward": 0}, answer[:40])

    def test_an_answer_that_is_no_file(self):
        self.answer.mkdir()
        self.assertEqual(self.reward("mul-train"), {"reward": 0})
        self.answer.rmdir()
        os.mkfifo(self.answer)
        self.assertEqual(self.reward("mul-train"), {"reward": 0})
        self.answer.unlink()
        self.answer.symlink_to("/dev/zero")
        self.assertEqual(self.reward("mul-train"), {"reward": 0})

    def test_solutions(self):
        for task in RIGHT:
            self.run_script(INNER / task / "solution/solve.sh")
            self.assertEqual(self.reward(task), {"reward": 1})


if __name__ == "__main__":
    unittest.main()
