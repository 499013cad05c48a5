"""An agent that shows a language model three examples, asks in their form, and takes the first word of the answer."""

import asyncio
import re
import shlex

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

from colour_agent.model import ask


EXAMPLES = [
    ("The grey wolf ran across the field.", "grey"),
    ("He drank from an orange cup.", "orange"),
    ("My sister wore a purple dress.", "purple"),
]


def messages(instruction: str) -> list[dict[str, str]]:
    """What the model is asked."""
    sentence = instruction.strip().splitlines()[0]
    asked = []
    for example, colour in EXAMPLES:
        asked.append({"role": "user", "content": f"Sentence: {example}\nColour:"})
        asked.append({"role": "assistant", "content": colour})
    asked.append({"role": "user", "content": f"Sentence: {sentence}\nColour:"})
    return asked


def answer(text: str) -> str:
    """What is written down of the model's answer."""
    words = re.findall(r"[a-z]+", text.lower())
    return words[0] if words else ""


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
