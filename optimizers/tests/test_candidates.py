"""How a candidate is written, and what is said of it."""

from __future__ import annotations

from pathlib import Path

from fake import Workspace, scored

from taskwright_optimizers import CandidateFailed, InfrastructureFailed, NotAllowed

ONE = {"main.py": "one\n"}


class Candidates(Workspace):
    def test_paths_stay_inside(self) -> None:
        search = self.search()
        baseline = search.task.baseline_folder
        outside = self.root / "outside"
        outside.mkdir()
        (outside / "kept").write_text("kept", encoding="utf-8")
        (baseline / "link").symlink_to(outside / "kept")
        (baseline / "folder").symlink_to(outside)
        self.answer(scored(a=1))
        for path in (
            *("/etc/passwd", "../x", "a/../../x", "", ".", "x\0y", "folder/kept", "folder/new", "x" * 300, "main.py/x"),
            *(".git/config", "vendor/.GIT/config"),
        ):
            with self.assertRaises(CandidateFailed, msg=path):
                search.evaluate({path: "x"}, "train", ["a"])
        self.assertFalse((outside / "new").exists())
        self.assertFalse((self.root / "calls.jsonl").read_text(encoding="utf-8").count("--candidate"))
        search.evaluate({"link": "changed", "new/one.py": "x"}, "train", ["a"])
        self.assertEqual((outside / "kept").read_text(encoding="utf-8"), "kept")

    def test_a_file_in_the_place_of_a_link_is_a_change_though_it_says_the_same(self) -> None:
        search = self.search()
        (search.task.baseline_folder / "link").symlink_to("main.py")
        self.answer(scored(a=1))
        for files in ({"main.py": "new\n"}, {"main.py": "new\n", "link": "pass\n"}):
            search.evaluate(files, "train", ["a"])
        events = (self.root / "state/journal.jsonl").read_text(encoding="utf-8")
        self.assertEqual(events.count('"charge"'), 2)

    def test_nothing_is_left_of_a_candidate(self) -> None:
        search = self.search()
        self.answer(scored(a=1))
        search.evaluate({"main.py": "\ud800"}, "train", ["a"])
        (call,) = self.calls()
        self.assertFalse(Path(call[call.index("--candidate") + 1]).exists())

    def test_names_of_samples_reach_the_program_as_names(self) -> None:
        search = self.search()
        self.answer(scored(**{"7": 1}))
        search.evaluate(ONE, "train", ["7", "7"])
        (call,) = self.calls()
        self.assertEqual(call[call.index("--samples") + 1], "7,")
        for wrong in (["x"], []):
            with self.assertRaisesRegex(NotAllowed, "no such samples"):
                search.evaluate(ONE, "train", wrong)

    def test_less_is_better_where_the_task_says_so(self) -> None:
        self.serve["objective"]["direction"] = "minimize"
        self.answer(scored(a=3, c=1))
        result = self.search().evaluate(ONE, "train", ["a", "c"])
        self.assertEqual((result.score, result.value), (-2.0, 2.0))
        self.assertEqual([sample.score for sample in result.samples], [-3.0, -1.0])

    def test_feedback_is_what_the_task_shows(self) -> None:
        self.answer(scored(a=1))
        self.assertEqual(self.search().evaluate(ONE, "train", ["a"]).feedback, "a: a is 1\nlog of a")
        self.serve["feedback"]["transcripts"] = False
        self.assertEqual(self.search("other").evaluate(ONE, "train", ["a"]).feedback, "a: a is 1")


class Failures(Workspace):
    def test_a_candidate_that_fails_everywhere_is_told_apart_and_paid_for(self) -> None:
        failed = scored(a=0.0)
        failed["aggregate"]["candidate_errors"] = 1
        failed["samples"][0] |= {"outcome": "candidate_error", "kind": "crash", "detail": "exit status 1"}
        self.answer(failed)
        search = self.search(runs=5)
        with self.assertRaises(CandidateFailed) as caught:
            search.evaluate(ONE, "train", ["a"])
        self.assertEqual(caught.exception.evaluation.score, 0.0)
        self.assertIn("exit status 1", caught.exception.evaluation.feedback)
        self.assertEqual(search.left("train"), (4, None))
        self.assertFalse(search.over)

    def test_a_constraint_that_does_not_hold_is_a_failure(self) -> None:
        broken = scored(a=9.0)
        constraint = {"metric": "error", "operator": "<", "value": 1}
        broken["aggregate"]["constraints"] = [{"constraint": constraint, "value": 2, "holds": False}]
        self.answer(broken)
        result = self.search().attempt(ONE, "train", ["a"])
        self.assertEqual(result.failure, "the constraint error < 1 does not hold")
        self.assertEqual(result.score, 0.0)
        self.assertEqual([sample.score for sample in result.samples], [0.0])

    def test_a_candidate_that_is_refused_costs_nothing_and_gets_the_failure_value(self) -> None:
        self.serve["objective"]["failure_value"] = -3.0
        search = self.search(runs=1)
        self.answer(status=1, prints="", says="it changes a read-only path")
        result = search.attempt(ONE, "train")
        self.assertEqual((result.score, len(result.samples)), (-3.0, 3))
        self.assertIn("it changes a read-only path", result.failure)
        self.assertEqual(search.left("train"), (1, None))

    def test_a_task_that_broke_meanwhile_is_no_candidates_failure(self) -> None:
        search = self.search()
        self.answer(status=1, prints="", says="the spec is gone")
        (self.root / "dry.json").write_text("1", encoding="utf-8")
        with self.assertRaises(InfrastructureFailed):
            search.attempt(ONE, "train")
