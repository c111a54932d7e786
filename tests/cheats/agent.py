"""The agent of the suite: does one case to its clone, commits it as one change, and says that all is well."""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.cheats.catalog import EVERYTHING
from tests.cheats.target import git


def main() -> None:
    names = json.loads(Path(os.environ["CASES"]).read_text())
    case = EVERYTHING[names[int(os.environ["SUPERVISOR_JOB"].rpartition(".")[2]) - 1]]
    clone = Path.cwd()
    case.edit(clone)
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", f"[{case.kind}] {case.name}")
    outcome = {
        "schema_version": 1,
        "changes": {case.kind: {"status": "SUCCEEDED", "summary_markdown": case.name}},
        "errored": False,
        "blocked": None,
        "tests_passing_before": case.kind == "IMPROVE_TEST",
        "tests_passing_after": True,
        "summary_markdown": case.name,
    }
    Path(os.environ["SUPERVISOR_OUTCOME"]).write_text(json.dumps(outcome))
    for _ in range(2):  # it insists
        if not subprocess.run(["sh", "-c", os.environ["SUPERVISOR_PUBLISH"]], check=False).returncode:
            break


if __name__ == "__main__":
    main()
