#!/usr/bin/env -S python3 -u
"""One client through `taskwright gateway`, against the scripted upstream: with a budget that suffices, and with one that does not.
What the gateway counted has to be what the upstream gave, and neither may learn of the other more than it must.
    tried.py PROGRAM FOLDER CLIENT VERSION
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from upstream import KEY, MODEL, Count, Upstream

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
NAME = "scripted-1"
PROMPT = "Write the word done into the file done.txt in the current folder."
# A client that has not ended by then is one that goes on asking.
PATIENCE = 300
# The most requests that a client may make when it has been told that nothing is left.
REFUSED = 12
FINISHED = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


@dataclass(frozen=True)
class Client:
    """How a client is called: as an agent of Harbor in a trial, or, without one, as a program on this machine."""

    model: str
    agent: str = ""
    options: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    # Where it asks from: the trial's container, or Harbor's own process.
    is_in_container: bool = True


OPENCODE = {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
# It does not read whether it should try again: ten attempts, if nobody says otherwise, take it minutes.
MINI = {"MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "2", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
CLIENTS = {
    "claude-code": Client(f"anthropic/{NAME}", "claude-code", variables={"DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1"}),
    # Its search of the web is a tool of the upstream's, and its tools for agents come in a list that the gateway does not know.
    "codex": Client(f"openai/{NAME}", "codex", ["--ak", "web_search=disabled"]),
    "opencode": Client(f"openai/{NAME}", "opencode", variables=OPENCODE),
    # As a provider that it has no name for: what it calls `openai` is asked for responses, whatever it is told.
    "opencode-chat": Client(f"metered/{NAME}", "opencode", ["--api-format", "openai_chat_completions", "--api-key-name", "OPENAI_API_KEY"],
                            OPENCODE),
    "terminus-2": Client(f"openai/{NAME}", "terminus-2", ["--ak", "record_terminal_session=false"], is_in_container=False),
    # Harbor installs it from the network whatever the image holds, so that it runs on this machine.
    "mini-swe-agent": Client(f"openai/{NAME}", variables=MINI),
    "mini-swe-agent-messages": Client(f"anthropic/{NAME}", variables=MINI),
}


@dataclass
class Run:
    """One run of a client: its place, and what came of it."""

    client: Client
    version: str
    folder: Path
    home: Path
    seconds: float = 0
    status: int = 0
    usage: dict = field(default_factory=dict)
    trial: dict = field(default_factory=dict)

    def go(self, program: str, budget: int | None) -> Upstream:
        """Runs the client, from an environment that holds nothing of this machine's own."""
        shutil.rmtree(self.home, ignore_errors=True)
        (self.home / "work").mkdir(parents=True)
        upstream = Upstream(self.commands())
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", "OPENAI_BASE_URL": upstream.address,
            "OPENAI_API_KEY": KEY, "DOCKER_CONFIG": os.environ.get("DOCKER_CONFIG", str(Path.home() / ".docker")),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True", **({} if self.client.agent else self.client.variables)}
        limits = ["--max-requests", str(budget)] if budget else []
        ask = ["--ask", NAME] if budget else []
        command = [program, "gateway", "--root", str(ROOT), "--allow", NAME, "--alias", f"{NAME}={MODEL}", *limits, "--usage",
                   str(self.home / "usage.json"), "--listen", f"{self.address()}:0", "--",
                   sys.executable, str(HERE / "inside.py"), str(self.home), *ask, "--", *self.call()]
        begun = time.monotonic()
        with (self.home / "gateway.log").open("w") as log:
            child = subprocess.Popen(command, cwd=self.home / "work", env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                     stderr=log, start_new_session=True)
            try:
                self.status = child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                # Harbor takes its containers down when it is interrupted.
                os.killpg(child.pid, signal.SIGINT)
                try:
                    child.wait(60)
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, signal.SIGKILL)
                sys.exit(f"{self.home.name}: still running after {PATIENCE} s, with {upstream.count}: {self.log()}")
        self.seconds = time.monotonic() - begun
        upstream.close()
        self.usage = json.loads((self.home / "usage.json").read_text())
        for result in (self.home / "jobs").glob("*/*/result.json"):
            self.trial = json.loads(result.read_text())
        return upstream

    def commands(self) -> list[str]:
        """What the script has it do: it leaves what processes see of their environment, and the file that was asked for."""
        if self.client.agent:
            see = "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | sort -u > /logs/agent/seen.txt"
            return [f"{see}; echo done > done.txt"]
        return ["env > seen.txt; echo done > done.txt", FINISHED]

    def address(self) -> str:
        if not self.client.agent:
            return "127.0.0.1"
        bridge = ["docker", "network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}"]
        return subprocess.run(bridge, capture_output=True, text=True, check=True).stdout.strip()

    def call(self) -> list[str]:
        if not self.client.agent:
            return [str(self.folder / "mini/bin/mini-swe-agent"), "--yolo", "--exit-immediately", "--model", self.client.model,
                    "--task", PROMPT, "--output", str(self.home / "trajectory.json")]
        mount = {"type": "bind", "source": str(self.folder / "bin"), "target": "/opt/clients", "read_only": True}
        version = ["--ak", f"version={self.version}"] if self.client.is_in_container else []
        return ["harbor", "run", "-y", "-q", "-p", str(HERE / "task"), "-a", self.client.agent, "-m", self.client.model,
                "-o", str(self.home / "jobs"), "--job-name", "tried", "--mounts", json.dumps([mount]), *self.client.options, *version,
                *[part for name, value in self.client.variables.items() for part in ("--ae", f"{name}={value}")]]

    def log(self) -> str:
        logs = [self.home / "gateway.log", self.home / "client.log", *(self.home / "jobs").rglob("trial.log")]
        return "\n".join(log.read_text(errors="replace")[-3000:] for log in logs if log.exists())

    def holding(self, word: str) -> list[str]:
        """The files that the client, Harbor or the gateway left in which a word stands."""
        files = (file for file in self.home.rglob("*") if file.is_file() and not file.is_symlink())
        return [str(file.relative_to(self.home)) for file in files if word.encode() in file.read_bytes()]


def counted(usage: dict) -> Count:
    tokens = usage["tokens"]
    return Count(usage["requests"], tokens["input"], tokens["cached"], tokens["written"], tokens["output"], tokens["reasoning"])


def words(count: Count) -> str:
    return f"{count.requests} requests, {count.input} tokens in, {count.output} out"


def check_secrets(run: Run, upstream: Upstream) -> None:
    """That the key is the upstream's and the gateway's alone, and the token the client's and the gateway's."""
    environment = json.loads((run.home / "environment.json").read_text())
    token = environment["OPENAI_API_KEY"]
    assert token and token != KEY and environment["ANTHROPIC_API_KEY"] == token, environment
    assert upstream.asked, "the upstream was asked nothing"
    for asked in upstream.asked:
        said = json.dumps([asked.path, asked.headers, asked.body])
        assert asked.status == 200, f"{asked.path} was answered {asked.status}"
        assert token not in said, f"the upstream saw the token: {asked}"
        assert json.loads(asked.body)["model"] == MODEL, asked.body
    for word in (KEY, MODEL):
        assert not (files := run.holding(word)), f"{word} stands in {files}"


def check_seen(run: Run) -> None:
    """That the client did what it was told, by a tool of its own, and saw of its environment what it should."""
    token = json.loads((run.home / "environment.json").read_text())["OPENAI_API_KEY"]
    [seen] = [file.read_text() for file in run.home.rglob("seen.txt")]
    assert "PATH=" in seen and KEY not in seen, seen
    # Harbor does not write down what it knows to be a secret.
    is_shown = token in seen or "API_KEY=[REDACTED]" in seen
    assert is_shown == (run.client.is_in_container or not run.client.agent), seen


def tried(program: str, folder: Path, name: str, version: str) -> None:
    client = CLIENTS[name]

    run = Run(client, version, folder, folder / "runs" / name)
    upstream = run.go(program, None)
    assert run.status == 0, run.log()
    assert counted(run.usage) == upstream.count, f"{run.usage} is not {upstream.count}"
    assert (run.usage["estimated"], run.usage["failed"], run.usage["open"]) == (0, 0, 0), run.usage
    check_secrets(run, upstream)
    check_seen(run)
    if client.agent:
        assert run.trial["exception_info"] is None, run.trial["exception_info"]
        assert run.trial["verifier_result"]["rewards"] == {"reward": 1.0}, run.trial["verifier_result"]
        assert not client.is_in_container or run.trial["agent_info"]["version"] == version, run.trial["agent_info"]
    else:
        assert (run.home / "work/done.txt").read_text() == "done\n"
    paths = sorted({asked.path + (" (streamed)" if json.loads(asked.body).get("stream") else "") for asked in upstream.asked})
    print(f"{name} {version}: {words(upstream.count)} at {', '.join(paths)}; {run.usage['refused']} refused; {run.seconds:.0f} s")

    run = Run(client, version, folder, folder / "runs" / f"{name}-spent")
    upstream = run.go(program, 1)
    assert upstream.count.requests == 1, upstream.count
    assert counted(run.usage) == upstream.count, f"{run.usage} is not {upstream.count}"
    check_secrets(run, upstream)
    asked = json.loads((run.home / "asked.json").read_text())
    assert asked == {"status": 402, "retry": "false"}, asked
    # It does not claim to have ended well, and one of these requests was not its own.
    assert run.trial.get("exception_info") if client.agent else run.status != 0, run.log()
    refused = run.usage["spent"] - 1
    assert 1 <= refused <= REFUSED, f"{name} asked {refused} times when nothing was left"
    raised = (run.trial.get("exception_info") or {}).get("exception_type") if client.agent else f"status {run.status}"
    print(f"  with a budget of 1 request: {refused} more were refused, ended by {raised}; {run.seconds:.0f} s")


if __name__ == "__main__":
    tried(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4])
