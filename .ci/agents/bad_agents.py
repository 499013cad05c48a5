"""Agents that come to a bad end. Each first does one honest thing, so that there is something to lose."""

import asyncio

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities

# A column less than the baseline wastes: five rows of five and one circle in the corner of four.
BETTER = """
cat > packing.py <<'X'
def pack(n):
    r = 0.1 * (1 - 1e-12)
    grid = [((i % 5 + 0.5) / 5, (i // 5 + 0.5) / 5, r) for i in range(25)]
    return (grid + [(0.2, 0.2, 0.1 * (2 ** 0.5 - 1) * (1 - 1e-9))])[:n]
X
git commit --quiet --all --message 'Five rows of five, and one in a gap'
"""


class Agent(BaseAgent):
    capabilities = AgentCapabilities(skills=True)

    @classmethod
    def name(cls):
        return cls.__name__.lower()

    def version(self):
        return "1"

    async def setup(self, environment):
        pass

    async def shell(self, environment, script):
        result = await environment.exec(script, cwd="/workspace")
        print(result.stdout, result.stderr)
        return result


class Late(Agent):
    """Submits, and never comes to an end; what it left running goes on evaluating."""

    async def run(self, instruction, environment, context):
        result = await self.shell(environment, BETTER + "taskwright submit && nohup sh -c 'while true; do taskwright eval --split train; sleep 1; done' > /dev/null 2>&1 &")
        assert result.return_code == 0
        await asyncio.sleep(3600)


class Crash(Agent):
    """Evaluates, submits nothing, and raises what nobody expects."""

    async def run(self, instruction, environment, context):
        result = await self.shell(environment, BETTER + "taskwright eval --split validation")
        assert result.return_code == 0
        raise RuntimeError("the agent fell over")


class Full(Agent):
    """Submits, then fills every disk there is: its own, and the sidecar's through uploads."""

    async def run(self, instruction, environment, context):
        result = await self.shell(environment, BETTER + "taskwright eval --split validation && taskwright submit")
        assert result.return_code == 0
        await self.shell(environment, "cat /dev/zero > /dev/shm/full; cat /dev/zero > /tmp/full; true")
        refused = 0
        for number in range(6):
            upload = "git checkout --quiet -B noise main; head -c 16000000 /dev/urandom > noise; git add --all; git commit --quiet --message noise; taskwright eval --split train"
            result = await self.shell(environment, upload)
            refused += result.return_code == 3
        assert refused > 1, f"the sidecar took it all: {refused} refused"
