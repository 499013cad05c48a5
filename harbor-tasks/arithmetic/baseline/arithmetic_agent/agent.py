"""An agent without a model: it reads the question, works it out and writes the answer."""

import re

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext


def answer(instruction: str) -> int | None:
    """The answer to the question in an instruction, or None for one it cannot work out."""
    question = re.search(r"What is (\d+) plus (\d+)\?", instruction)
    if question is None:
        return None
    left, right = map(int, question.groups())
    return left + right


class ArithmeticAgent(BaseAgent):
    @staticmethod
    def name() -> str:
        return "arithmetic"

    def version(self) -> str:
        return "0.1.0"

    async def setup(self, environment: BaseEnvironment) -> None:
        pass

    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        number = answer(instruction)
        if number is None:
            self.logger.info("cannot work this out: %r", instruction)
            return
        result = await environment.exec(f"echo {number} >/app/answer.txt")
        if result.return_code != 0:
            raise RuntimeError(f"cannot write the answer: {result.stderr}")
