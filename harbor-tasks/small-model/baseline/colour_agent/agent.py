"""An agent that passes the question on to a language model and writes down what that says."""

import asyncio
import shlex

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

from colour_agent.model import ask


def messages(instruction: str) -> list[dict[str, str]]:
    """What the model is asked."""
    return [{"role": "user", "content": instruction}]


def answer(text: str) -> str:
    """What is written down of the model's answer."""
    return text.strip()


class ColourAgent(BaseAgent):
    @staticmethod
    def name() -> str:
        return "colour"

    def version(self) -> str:
        return "0.1.0"

    async def setup(self, environment: BaseEnvironment) -> None:
        pass

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        reply = await asyncio.to_thread(ask, self.model_name or "", messages(instruction))
        context.n_input_tokens = reply.input_tokens
        context.n_output_tokens = reply.output_tokens
        self.logger.info("the model says %r", reply.text)
        word = shlex.quote(answer(reply.text))
        result = await environment.exec(f"printf '%s\\n' {word} >/app/answer.txt")
        if result.return_code != 0:
            raise RuntimeError(f"cannot write the answer: {result.stderr}")
