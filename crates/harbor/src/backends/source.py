# What Harbor's own source says of its environment backends, without importing any: most need packages of a vendor's.
# An answer is "yes", "no", or "depends" where it hangs on options or on the machine.
import ast
import json
import sys
from pathlib import Path

ROOT = Path(sys.stdin.read())
FACTS = ["gpus", "tpus", "disable_internet", "network_allowlist", "windows"]
COMPOSE = ["self._compose_mode", "self._uses_compose"]


def classes(module):
    path = ROOT.joinpath(*module.split(".")[1:])
    files = [path.with_suffix(".py")] if path.with_suffix(".py").exists() else sorted(path.glob("*.py"))
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                yield node, file.read_text()


def registry():
    source = ast.parse((ROOT / "environments/factory.py").read_text())
    enum = ast.parse((ROOT / "models/environment_type.py").read_text())
    names = {
        node.targets[0].id: node.value.value
        for node in ast.walk(enum)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(source):
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "_ENVIRONMENT_REGISTRY":
            for key, value in zip(node.value.keys, node.value.values):
                yield names[key.attr], *(ast.literal_eval(one) for one in value.args[:2])


def calls(node):
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and getattr(inner.func, "id", "") == "EnvironmentCapabilities":
            yield {word.arg: ast.unparse(word.value) for word in inner.keywords}


def answer(text, compose, name, controls):
    for word in COMPOSE:
        text = text.replace(word, str(compose))
    text = text.replace("self.type() == EnvironmentType.DOCKER", str(name == "docker"))
    text = text.replace("self._is_windows_container", "False")
    # Without an option, services on a VM are what Modal gives a compose task that asks for no GPUs.
    text = text.replace("self._vm_runtime_enabled", "False")
    if not controls:
        text = text.replace("self._enable_egress_control", "False")
    try:
        return "yes" if eval(text, {"__builtins__": {}}) else "no"
    except Exception:
        return "depends"


def facts(said, compose, name, controls, texts):
    if "model_copy(update={\"windows\": False})" in texts:
        said = said | {"windows": "False"}
    return {fact: answer(said.get(fact, "False"), compose, name, controls) for fact in FACTS}


def backend(name, module, wanted):
    node, text = next((node, text) for node, text in classes(module) if node.name == wanted)
    said, own = list(calls(node)), ast.get_source_segment(text, node)
    if not said and "DockerEnvironment" in [ast.unparse(base) for base in node.bases]:
        base = next(node for node, _ in classes("harbor.environments.docker.docker") if node.name == "DockerEnvironment")
        said = list(calls(base))
    controls = "_requires_egress_control(**_" not in own
    composed = [one for one in said if one.get("docker_compose") == "True"]
    alone = [one for one in said if one.get("docker_compose") != "True"] or said or [{}]
    return {
        "alone": facts(alone[0], False, name, controls, own),
        "compose": facts(composed[0], True, name, controls, own) if composed else None,
        "host_network": "network_mode: host" in text or '_NETWORK_MODE = "host"' in text,
        "host_with_gpus": "self._compose_mode and gpus == 0" in own,
        "nameless": "service-name discovery" in text,
        "ignores_user": "does not support user switching" in text or "does not support exec user overrides" in text,
    }


json.dump({name: backend(name, module, wanted) for name, module, wanted in registry()}, sys.stdout)
