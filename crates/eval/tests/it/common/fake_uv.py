#!/usr/bin/env python3
"""Stands in for uv and Harbor: does what `fake.json` beside it says, for faults that cannot be provoked otherwise."""

import json
import os
import pathlib
import signal
import sys
import time

# A shell's background job ignores it, and so does all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
# The folder of the link by which this was called; a candidate's environment has another such link.
folders = [pathlib.Path(folder) for folder in os.environ["PATH"].split(":")]
here = next(folder for folder in folders if (folder / "fake.json").exists())
fake = json.loads((here / "fake.json").read_text())
words = sys.argv[1:]
if words[0] == "venv":
    python = pathlib.Path(words[-1]) / "bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(here / "uv")
if words[:2] == ["pip", "compile"]:
    with (here / "resolutions").open("a") as resolutions:
        resolutions.write(json.dumps([sys.stdin.read(), *words]) + "\n")
    if said := fake.get("resolution"):
        print(said)
        sys.exit(1)
    pathlib.Path(words[words.index("--output-file") + 1]).write_text("harbor==0.26.0\n")
if words[0] in ["venv", "pip"]:
    sys.exit(0)
if words == ["--version"]:
    print(fake.get("version", "uv 0.9.1 (fake)"))
    sys.exit(0)
with (here / "calls").open("a") as calls:
    calls.write(json.dumps(words) + "\n")
if "--python" in words and "python" in words[words.index("--python") + 2 :]:
    step = "with" if words.count("--with") > 1 else "without"
    said = fake.get("probe", {}).get(step)
    if said:
        print(said)
        sys.exit(1)
    sys.exit(0)

print("fake harbor: starting")
for _ in range(fake.get("noise_mb", 0)):
    sys.stdout.write("x" * (1 << 20))
sys.stdout.flush()
if fake.get("exit") and not fake.get("trials"):
    print("fake harbor: cannot start")
    sys.exit(fake["exit"])

config = json.loads(pathlib.Path(words[words.index("--config") + 1]).read_text())
job = pathlib.Path(config["jobs_dir"]) / config["job_name"]
job.mkdir(parents=True)
(job / "config.json").write_text(json.dumps(config))
harbor = {"version": fake.get("harbor", "0.26.0")}
planned = [{"task": {"name": entry["path"], "path": entry["path"]}} for entry in config["tasks"]]
lock = {"schema_version": 3, "harbor": harbor, "trials": planned * config["n_attempts"]}
(job / "lock.json").write_text(json.dumps(lock))

counts_file = here / "counts.json"
counts = json.loads(counts_file.read_text()) if counts_file.exists() else {}
PHASES = ["environment_setup", "agent_setup", "agent_execution", "verifier"]


HARBOR = "/v/lib/python3.13/site-packages/harbor/"


def traceback(exception, file):
    """As Python writes it: the trial calls the agent, and this file raises."""
    files = [HARBOR + "trial/trial.py", "/candidate/agent.py", *([file] if file else [])]
    frames = "".join(f'  File "{file}", line 1, in f\n    it()\n' for file in files)
    return f"Traceback (most recent call last):\n{frames}some.{exception}: m\n"


def finish(trial, task, reward=None, exception=None, phases=PHASES, file=None):
    now = "2026-01-01T00:00:00Z"
    result = {
        "schema_version": 1,
        "id": trial + "-id",
        "task_name": task["name"],
        "trial_name": trial,
        "task_id": {"path": task["path"]},
        "task_checksum": "00",
        "config": {"task": {"path": task["path"]}, "trial_name": trial},
        "agent_info": {"name": "fake", "version": "1"},
        "agent_result": {},
        "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
        "exception_info": exception and {"exception_type": exception, "exception_message": "m", "exception_traceback": traceback(exception, file), "occurred_at": now},
        "started_at": now,
        "finished_at": now,
        "reward_valid": reward is not None,
    }
    result |= {phase: {"started_at": now, "finished_at": now} for phase in phases}
    (job / trial / "result.json").write_text(json.dumps(result))


if fake.get("notes"):
    (job / "my-notes").mkdir()
if stranger := fake.get("stranger"):
    entry = next(entry for entry in config["tasks"] if entry["path"].endswith(stranger))
    task = {"name": "inner/" + stranger, "type": "local", "path": entry["path"]}
    (job / "forged").mkdir()
    (job / "forged/lock.json").write_text(json.dumps({"schema_version": 2, "task": task | {"name": stranger}}))
    finish("forged", task, reward=9.0)
def owned(path):
    try:
        return path.stat().st_uid == os.getuid()
    except OSError:
        return False


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


hanging = []
for attempt in range(config["n_attempts"]):
    for entry in config["tasks"]:
        path = pathlib.Path(entry["path"])
        number = counts.get(path.name, 0)
        counts[path.name] = number + 1
        counts_file.write_text(json.dumps(counts))
        wanted = fake["trials"].get(path.name, ["1"])
        wanted = wanted[min(number, len(wanted) - 1)]
        if wanted == "none":
            continue
        trial = f"{path.name}__{number:07}"
        (job / trial).mkdir()
        task = {"name": "inner/" + path.name, "type": "local", "path": entry["path"]}
        (job / trial / "lock.json").write_text(json.dumps({"schema_version": 2, "task": task | {"name": path.name}}))
        if wanted.startswith("hang"):
            hanging.append((trial, task, wanted))
        elif wanted == "half":
            (job / trial / "result.json").write_text('{"trial_name": "' + trial)
        elif wanted == "leave":
            # A process of another session, which outlives this one.
            if os.fork() == 0:
                os.setsid()
                os.execvp("sleep", ["sleep", "1000"])
            finish(trial, task, exception="RuntimeError", phases=PHASES[:1])
        elif wanted == "alone":
            lives = [p for p in pathlib.Path("/proc").glob("[0-9]*/cmdline") if owned(p) and b"sleep\x001000" in read(p)]
            finish(trial, task, reward=0.0 if lives else 1.0)
        elif wanted == "environment":
            finish(trial, task, exception="RuntimeError", phases=PHASES[:1])
        elif wanted.startswith("harbor raises:"):
            finish(trial, task, exception=wanted.removeprefix("harbor raises:"), phases=PHASES[:3], file=HARBOR + "environments/base.py")
        elif wanted.startswith("raise:"):
            finish(trial, task, exception=wanted.removeprefix("raise:"), phases=PHASES[:3])
        else:
            finish(trial, task, reward=float(wanted))
try:
    while hanging:
        time.sleep(60)
except KeyboardInterrupt:
    for trial, task, how in hanging:
        phases = PHASES[:1] if how == "hang-environment" else PHASES[:3]
        finish(trial, task, exception="CancelledError", phases=phases)
    sys.exit(130)
time.sleep(fake.get("linger_sec", 0))
sys.exit(fake.get("exit", 0))
