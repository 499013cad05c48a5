"""An agent without a model: it finds the word in the instruction and writes it backwards."""

import re

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext


def answer(instruction: str) -> str:
    """The answer to an instruction."""
    word = re.search(r"`([a-z]+)`", instruction)
    return word[1][::-1] if word else ""


class Agent(BaseAgent):
    @staticmethod
    def name() -> str:
        return "{{project}}"

    def version(self) -> str:
        return "0.1.0"

    async def setup(self, environment: BaseEnvironment) -> None:
        pass

    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        result = await environment.exec(f"echo '{answer(instruction)}' >/app/answer.txt")
        if result.return_code != 0:
            raise RuntimeError(f"cannot write the answer: {result.stderr}")
