"""Our side: takes the score and the metrics from the report of the scoring program."""

import json
import math
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def judge(said, request):
    """The score, the metrics and the feedback of one sample."""
    failed = said["failure"], {said["metric"]: said["failure"]}
    if request.get("error") is not None:
        return *failed, f"no report: {request['error']}"
    report = request.get("output")
    if not isinstance(report, dict):
        return *failed, "the report is not an object"
    reported = report.get("metrics")
    reported = reported if isinstance(reported, dict) else {}
    metrics = {name: value for name, value in reported.items() if is_number(value)}
    feedback = "; ".join(messages(report)) or "no message"
    if report.get("status") != "success" or said["metric"] not in metrics:
        return failed[0], {**metrics, **failed[1]}, feedback
    return metrics[said["metric"]], metrics, feedback


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def messages(report):
    diagnostics = report.get("diagnostics")
    for diagnostic in diagnostics if isinstance(diagnostics, list) else []:
        if isinstance(diagnostic, dict):
            yield str(diagnostic.get("message", ""))


def main():
    said = json.loads((HERE / "command.json").read_text(encoding="utf-8"))
    for line in sys.stdin:
        if line.strip():
            request = json.loads(line)
            score, metrics, feedback = judge(said, request)
            answer = {"id": request["id"], "score": score, "metrics": metrics, "feedback": feedback}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
