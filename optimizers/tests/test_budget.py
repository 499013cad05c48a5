"""What is charged, what is given back, and what a search may not have."""

from __future__ import annotations

import fcntl
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fake import Workspace, scored, split

from taskwright_optimizers import InfrastructureFailed, NoBudgetLeft, NotAllowed, StateDamaged

ONE, OTHER = {"main.py": "one\n"}, {"main.py": "other\n"}


class Budget(Workspace):
    def test_the_splits_own_budget_bounds_evaluations_and_samples(self) -> None:
        self.serve["splits"]["train"] = split("viewable", ["a", "7", "c"], runs=2, budget=4)
        search = self.search()
        self.answer(scored(a=1, c=1))
        search.evaluate(ONE, "train", ["a", "c"])
        self.assertEqual(search.left("train"), (1, 2))
        with self.assertRaisesRegex(NoBudgetLeft, "2 samples of the split `train` are left, and this takes 3"):
            search.evaluate(OTHER, "train")
        search.evaluate(OTHER, "train", ["a", "c"])
        self.assertEqual(search.left("train"), (0, 0))
        with self.assertRaisesRegex(NoBudgetLeft, "no evaluation"):
            search.evaluate({"main.py": "third\n"}, "train", ["a"])
        self.assertTrue(search.over)
        self.assertEqual(len(self.calls()), 2)

    def test_a_search_may_bound_itself_further_over_all_splits(self) -> None:
        search = self.search(runs=2, samples=10)
        self.answer(scored(a=1))
        search.evaluate(ONE, "train", ["a"])
        self.answer(scored(v=1))
        search.evaluate(ONE, "validation")
        self.assertEqual(search.left("train"), (0, 8))
        with self.assertRaises(NoBudgetLeft):
            search.evaluate(OTHER, "validation")

    def test_a_split_is_not_charged_for_another(self) -> None:
        self.serve["splits"]["train"]["budget"]["runs"] = 5
        search = self.search()
        self.answer(scored(v=1))
        search.evaluate(ONE, "validation")
        self.assertEqual(search.left("train"), (5, None))

    def test_what_was_paid_for_costs_nothing_again(self) -> None:
        self.serve["splits"]["train"] = split("viewable", ["a", "7", "c"], runs=5)
        search = self.search()
        self.answer(scored(a=1, c=1))
        # What the baseline has as well is no part of a candidate: the last two are the same one.
        for files in (ONE, ONE, {"main.py": "pass\n"}, {}):
            search.evaluate(files, "train", ["a", "c"])
        self.assertEqual(search.left("train"), (3, None))
        # Of three samples two are known: the third is what is charged.
        bounded = self.search("bounded", samples=3)
        bounded.evaluate(ONE, "train", ["a", "c"])
        self.answer(scored(**{"a": 1, "7": 1, "c": 1}))
        bounded.evaluate(ONE, "train")
        self.assertEqual(bounded.left("train"), (3, 0))

    def test_a_scorer_that_rolls_dice_is_run_and_charged_each_time(self) -> None:
        self.serve["scorer"]["deterministic"] = False
        search = self.search(runs=2)
        self.answer(scored(a=1))
        for _ in range(2):
            search.evaluate(ONE, "train", ["a"])
        self.assertEqual(search.left("train"), (0, None))
        self.assertEqual(["--fresh" in call for call in self.calls()], [True, True])

    def test_an_infrastructure_error_gives_the_budget_back(self) -> None:
        search = self.search(runs=1)
        broken = scored(a=1, c=1)
        broken["aggregate"]["infrastructure_errors"] = 1
        answers: list[tuple[dict[str, Any], dict[str, Any], str]] = [
            (broken, {"status": 3, "says": "no room"}, "1 of the samples have no value"),
            (broken, {"status": 1}, "exit status 1"),
            ({}, {"status": 130, "prints": ""}, "exit status 130"),
            ({}, {"status": 0, "prints": "not JSON"}, "exit status 0"),
            ({}, {"status": 2, "prints": "", "says": "unexpected argument"}, "unexpected argument"),
            (scored(a=1), {"rebuild": True}, "built anew"),
        ]
        for answer, how, words in answers:
            self.answer(answer, **how)
            with self.assertRaisesRegex(InfrastructureFailed, words):
                search.evaluate(ONE, "train", ["a"])
            self.assertEqual(search.left("train"), (1, None), words)

    def test_a_program_that_is_not_there_is_named(self) -> None:
        self.program = self.root / "nothing"
        with self.assertRaisesRegex(InfrastructureFailed, "nothing.*TASKWRIGHT"):
            self.search()

    def test_processes_share_one_budget(self) -> None:
        searches = [self.search(runs=5) for _ in range(4)]
        self.answer(scored(a=1))

        def spend(number: int) -> bool:
            try:
                searches[number % 4].evaluate({"main.py": f"{number}\n"}, "train", ["a"])
            except NoBudgetLeft:
                return False
            return True

        with ThreadPoolExecutor(4) as pool:
            self.assertEqual(sum(pool.map(spend, range(12))), 5)
        self.assertEqual(len(self.calls()), 5)

    def test_a_charge_waits_for_one_that_is_being_written(self) -> None:
        self.answer(scored(a=1))
        search = self.search(runs=1)
        path = self.root / "state/journal.jsonl"
        asks = threading.Event()

        def spend() -> str:
            asks.set()
            try:
                search.evaluate(OTHER, "train", ["a"])
            except NoBudgetLeft:
                return "nothing left"
            return "charged"

        with path.open("r+b") as file, ThreadPoolExecutor(1) as pool:
            fcntl.flock(file, fcntl.LOCK_EX)
            asked = pool.submit(spend)
            asks.wait()
            # Long enough for who does not wait to be wrong; who waits is right however short it is.
            time.sleep(0.2)
            elsewhere = self.search("elsewhere", runs=1)
            elsewhere.evaluate(ONE, "train", ["a"])
            file.write((self.root / "elsewhere/journal.jsonl").read_bytes())
            file.flush()
            fcntl.flock(file, fcntl.LOCK_UN)
            self.assertEqual(asked.result(), "nothing left")

    def test_a_journal_that_was_changed_is_refused_and_a_torn_line_is_not(self) -> None:
        search = self.search(runs=1)
        self.answer(scored(a=1))
        search.evaluate(ONE, "train", ["a"])
        path = self.root / "state/journal.jsonl"
        text = path.read_text(encoding="utf-8")
        path.write_text(text + '{"event": "refu', encoding="utf-8")
        torn = self.search(runs=2)
        torn.evaluate(OTHER, "train", ["a"])
        self.assertEqual(self.search(runs=3).left("train"), (1, None))
        lines = text.splitlines(keepends=True)
        for damaged in (text.replace('"samples": ["a"]', '"samples": []'), lines[0] + lines[2], text + "[]\n", "{}\n"):
            self.assertNotEqual(damaged, text)
            path.write_text(damaged, encoding="utf-8")
            with self.assertRaisesRegex(StateDamaged, "journal.jsonl` is damaged at line"):
                self.search(runs=1)

    def test_a_search_belongs_to_the_task_as_it_was_built(self) -> None:
        self.search()
        self.serve["objective"]["failure_value"] = -5.0
        with self.assertRaisesRegex(NotAllowed, "built before"):
            self.search()


class HeldOut(Workspace):
    def test_a_held_out_split_is_refused_to_the_search(self) -> None:
        search = self.search()
        for ask in (lambda: search.evaluate(ONE, "test"), lambda: search.left("test")):
            with self.assertRaisesRegex(NotAllowed, "held out"):
                ask()
        with self.assertRaisesRegex(NotAllowed, "no split `tset`"):
            search.evaluate(ONE, "tset")
        self.assertEqual((self.root / "calls.jsonl").read_text(encoding="utf-8").count("test"), 0)

    def test_of_a_split_that_is_not_viewable_only_the_whole_mean_is_told(self) -> None:
        search = self.search()
        self.answer(scored(v=0.5))
        result = search.evaluate(ONE, "validation")
        self.assertEqual((result.score, result.samples, result.feedback), (0.5, (), ""))
        with self.assertRaisesRegex(NotAllowed, "only the mean"):
            search.evaluate(ONE, "validation", ["v"])

    def test_final_scores_one_candidate_once_and_seals_the_search(self) -> None:
        search = self.search()
        self.answer(scored(t=0.25))
        self.assertEqual(search.final(ONE), {"reward": 0.25})
        self.answer(scored(t=0.75))
        self.assertEqual(self.search().final(ONE), {"reward": 0.25})
        with self.assertRaisesRegex(NotAllowed, "another candidate"):
            search.final(OTHER)
        with self.assertRaisesRegex(NotAllowed, "the search is over"):
            search.evaluate(OTHER, "train")
        self.assertEqual([call[call.index("--split") + 1 :] for call in self.calls()], [["test", "--fresh"]])

    def test_final_goes_on_after_an_infrastructure_error_with_the_same_candidate_only(self) -> None:
        search = self.search()
        self.answer(status=130, prints="")
        with self.assertRaises(InfrastructureFailed):
            search.final(ONE)
        self.answer(scored(t=0.25))
        with self.assertRaisesRegex(NotAllowed, "another candidate"):
            search.final(OTHER)
        self.assertEqual(search.final(ONE), {"reward": 0.25})

    def test_a_target_is_scored_as_it_says(self) -> None:
        self.serve["splits"]["test"]["samples"] = ["t", "u"]
        self.serve["targets"][0] |= {"attempts": 2, "aggregate": "best", "samples": ["t"]}
        self.answer(scored(t=0.25), scored(t=0.75))
        self.assertEqual(self.search().final(ONE), {"reward": 0.75})
        self.assertEqual([call[-3:] for call in self.calls()], [["--samples", "t,", "--fresh"]] * 2)
        failed = scored(t=0.0)
        failed["aggregate"]["candidate_errors"] = 1
        self.answer(failed)
        self.assertEqual(self.search("other").final(ONE), {"reward": -1.0})
        self.answer(status=1, prints="", says="it holds a link")
        self.assertEqual(self.search("third").final(ONE), {"reward": -1.0})

    def test_the_journal_holds_no_held_out_score_before_final(self) -> None:
        search = self.search()
        self.answer(scored(v=0.5))
        search.evaluate(ONE, "validation")
        events = [json.loads(line)["event"] for line in (self.root / "state/journal.jsonl").read_text().splitlines()]
        self.assertEqual(events, ["opened", "charge", "done"])
