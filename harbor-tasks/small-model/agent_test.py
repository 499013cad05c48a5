"""python3 -m unittest agent_test, in this folder: what the agents ask and take, and the inner verifiers, without containers."""

import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
INNER = HERE / "inner-tasks"


def load(folder):
    """An agent's module beside stand-ins for Harbor's, which need not be installed."""
    for name in ("harbor", "harbor.agents", "harbor.agents.base", "harbor.environments",
                 "harbor.environments.base", "harbor.models", "harbor.models.agent",
                 "harbor.models.agent.context"):  # fmt: skip
        module = sys.modules.setdefault(name, types.ModuleType(name))
        for value in ("BaseAgent", "BaseEnvironment", "AgentContext"):
            setattr(module, value, type(value, (), {}))
    # The solution's folder replaces one file of the baseline.
    sys.path.insert(0, str(HERE / "baseline"))
    spec = importlib.util.spec_from_file_location("agent", HERE / folder / "colour_agent/agent.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.pop(0)
    return module


def instruction(task):
    return (INNER / task / "instruction.md").read_text(encoding="utf-8")


class Agents(unittest.TestCase):
    def test_the_baseline_passes_on_what_it_is_told(self):
        agent = load("baseline")
        asked = agent.messages(instruction("boat-test"))
        self.assertEqual([message["content"] for message in asked], [instruction("boat-test")])
        self.assertEqual(agent.answer(" The boat is blue.\n"), "The boat is blue.")

    def test_the_solution_shows_examples_and_takes_one_word(self):
        agent = load("solution")
        asked = agent.messages(instruction("boat-test"))
        self.assertEqual([message["role"] for message in asked], ["user", "assistant"] * 3 + ["user"])
        self.assertEqual(asked[-1]["content"], "Sentence: A blue boat lay upside down on the sand.\nColour:")
        self.assertEqual(agent.answer(" Blue.\nSentence: red"), "blue")
        self.assertEqual(agent.answer("17"), "")

    def test_no_example_gives_an_answer_away(self):
        shown = {colour for _, colour in load("solution").EXAMPLES}
        self.assertEqual(shown & {colour for _, colour in answers()}, set())


def answers():
    """Each inner task, with its answer as its own solution has it."""
    for task in sorted(path.name for path in INNER.iterdir()):
        text = (INNER / task / "solution/solve.sh").read_text(encoding="utf-8")
        yield task, re.search(r"echo (\w+)", text)[1]


class Verifiers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "app").mkdir()
        (self.root / "logs/verifier").mkdir(parents=True)

    def reward(self, task, answer):
        (self.root / "app/answer.txt").write_bytes(answer)
        script = (INNER / task / "tests/test.sh").read_text(encoding="utf-8")
        for folder in ("/app/", "/logs/"):
            script = script.replace(folder, f"{self.root}{folder}")
        subprocess.run(["sh", "-c", script], check=True, timeout=10)
        return json.loads((self.root / "logs/verifier/reward.json").read_text(encoding="utf-8"))["reward"]

    def test_the_word_that_the_sentence_names_is_right_and_nothing_else(self):
        for task, colour in answers():
            self.assertIn(colour, instruction(task).splitlines()[0].split())
            self.assertEqual(self.reward(task, f"{colour}\r\n".encode()), 1, task)
            for wrong in ("", "pink", colour.upper(), f"{colour} {colour}", f"The {colour} one."):
                self.assertEqual(self.reward(task, wrong.encode()), 0, (task, wrong))


if __name__ == "__main__":
    unittest.main()
