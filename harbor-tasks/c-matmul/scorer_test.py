"""python3 -m unittest scorer_test, in this folder. Needs gcc, and prlimit from util-linux.

A two-line script stands in for `taskwright sandbox`: what the sandbox itself keeps away is not
tested here.
"""

import importlib.util
import io
import json
import shutil
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent

spec = importlib.util.spec_from_file_location("score", HERE / "scorer" / "score.py")
score = importlib.util.module_from_spec(spec)
spec.loader.exec_module(score)
score.ROUNDS, score.WORK, score.RUN_SECONDS = 3, 20e6, 1

build, built = score.Bench.build, tempfile.TemporaryDirectory()


def build_ours_once(bench, name, source):
    """Our own programs are the same in all tests: compile them for the first only."""
    kept = Path(built.name, name)
    if name == "candidate" or not kept.exists():
        build(bench, name, source)
        if name != "candidate":
            shutil.copy(Path(bench.folder, name), kept)
    else:
        shutil.copy(kept, bench.folder)


LOOPS = (HERE / "baseline" / "matmul.c").read_text(encoding="utf-8")


@unittest.skipUnless(shutil.which("gcc") and shutil.which("prlimit"), "needs gcc and prlimit")
class Score(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.taskwright = self.folder / "taskwright"
        self.taskwright.write_text('#!/bin/sh\nshift 2\nexec "$@"\n', encoding="utf-8")
        self.taskwright.chmod(0o755)

    def candidate(self, source):
        (self.folder / "matmul.c").write_text(source, encoding="utf-8")
        return self.folder

    def score(self, candidate, n=96, taskwright=None, error=None, lines=1):
        request = {"id": "x", "sample": {"n": n, "seed": 1}, "output": None, "error": error}
        text = io.StringIO((json.dumps(request) + "\n") * lines)
        printed = io.StringIO()
        once = mock.patch.object(score.Bench, "build", build if taskwright else build_ours_once)
        with mock.patch("sys.stdin", text), redirect_stdout(printed), once:
            score.main(str(taskwright or self.taskwright), str(HERE / "scorer"), str(candidate))
        answers = [json.loads(line) for line in printed.getvalue().splitlines()]
        self.assertEqual([a["id"] for a in answers], ["x"] * lines)
        return answers[0]

    def rejected(self, source, reason):
        answer = self.score(self.candidate(source))
        self.assertEqual((answer["score"], answer["metrics"]), (0.0, {"correct": 0}), answer)
        self.assertIn(reason, answer["feedback"])
        self.assertLess(len(answer["feedback"]), 2500)

    def test_baseline_and_solution(self):
        # Times on a busy machine: only gross errors are looked for.
        baseline = self.score(HERE / "baseline", lines=2)
        self.assertTrue(0.3 < baseline["score"] < 3, baseline)
        solution = self.score(HERE / "solution")
        self.assertGreater(solution["score"], 1.3, solution)
        self.assertEqual(solution["metrics"]["correct"], 1)

    def test_wrong_products(self):
        self.rejected(LOOPS.replace("k < n", "k + 1 < n"), "should be")
        self.rejected(LOOPS.replace("double sum", "float sum"), "should be")
        self.rejected(LOOPS.replace("= sum;", "= 0.0 / 0.0;"), "should be")
        self.rejected(LOOPS.replace("= sum;", "= 1.0 / 0.0;"), "should be")
        self.rejected(LOOPS.replace("j < n", "j < n / 4 * 4"), "should be")
        # Right for every size but the timed one.
        self.rejected(LOOPS.replace("k < n", "k < n - (n == 96)"), "n = 96: c[0][0]")

    def test_a_result_kept_from_the_repetition_before(self):
        once = LOOPS.replace("{\n    for", "{\n    static int done;\n    if (done++) return;\n    for", 1)
        self.rejected(once, "n = 1: c[0][0]")

    def test_output_of_another_length(self):
        head = "#include <stdlib.h>\n#include <unistd.h>\n"
        self.rejected(head + LOOPS.replace("{\n", "{\n    _exit(0);\n", 1), "wrote 0 bytes")
        self.rejected(head + LOOPS.replace("{\n", "{\n    write(1, a, 8);\n", 1), "bytes instead of")

    def test_crash_and_endless_loop(self):
        self.rejected("int matmul;", "ended with status")
        self.rejected(LOOPS.replace("{\n", "{\n    __builtin_trap();\n", 1), "ended with status")
        self.rejected(LOOPS.replace("{\n", "{\n    for (;;) ;\n", 1), "not finished after 1 s")

    def test_sources_that_do_not_compile(self):
        self.rejected("", "undefined reference")
        self.rejected("int matmul", "does not compile")
        self.rejected('#include "/nowhere/label"\n', "No such file")
        self.rejected(LOOPS + "int main(void) { return 0; }\n", "multiple definition")
        self.rejected('#error "' + "x" * 100_000 + '"\n', "does not compile")
        (self.folder / "matmul.c").unlink()
        answer = self.score(self.folder)
        self.assertEqual(answer["score"], 0.0)

    def test_our_own_failure_is_no_score(self):
        for broken in ("/bin/false", "/nowhere/taskwright"):
            answer = self.score(HERE / "baseline", taskwright=broken)
            self.assertIsNone(answer["score"], answer)

    def test_error_of_the_runner(self):
        self.assertEqual(self.score(HERE / "baseline", error="crash")["score"], 0.0)

    def test_compare(self):
        score.compare(2, [1.0] * 4, [1.0 + 1e-12] * 4)
        for bad in (1.0 + 1e-9, float("nan"), float("inf"), -1.0):
            with self.assertRaises(score.Rejected):
                score.compare(2, [1.0, 1.0, 1.0, bad], [1.0] * 4)


if __name__ == "__main__":
    unittest.main()
