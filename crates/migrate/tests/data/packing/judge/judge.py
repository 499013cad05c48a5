"""Adds up what the candidate packs, as a scoring program of the public reference does."""

import json
import os
import sys
from pathlib import Path

workspace, request, report, artifacts = map(Path, sys.argv[1:])
assert json.loads(request.read_text())["schema_version"] == 1
assert artifacts.is_dir()
sys.path.insert(0, str(workspace))
print("a line that is no answer")
try:
    from packing import pack

    packed = sum(pack())
    found = {
        "status": "success",
        "metrics": {"packed": packed, "valid": 1.0 if packed <= int(os.environ["LIMIT"]) else 0.0},
    }
except Exception as error:
    found = {"status": "failed", "metrics": {}, "diagnostics": [{"message": str(error)}]}
report.write_text(json.dumps(found))
