"""Runs the collected tests once, in the checkout of the user who submits, to see which of them fail.

As with collecting, a small plugin writes down what happens: pytest's screen output depends on the target's options.
"""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from supervisor.cli import collecting
from supervisor.cli.collecting import Collected
from supervisor.errors import Refused
from supervisor.model.node import cases_of

PLUGIN = """\
import json, os

def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        with open(os.environ["SUPERVISOR_SURVEY_INTO"], "a") as file:
            file.write(json.dumps([report.nodeid, report.outcome]) + chr(10))
"""
MODULE = "supervisor_surveys"
#: tests failed, or nothing was selected
RAN = (0, 1, collecting.NOTHING_COLLECTED)


def passing(
    root: Path, pytest: Sequence[str], args: Sequence[str], found: Collected, *, seconds_each: float
) -> list[str]:
    """Those of the collected tests of which every case passes. One that was not run does not pass."""
    with tempfile.TemporaryDirectory(prefix="supervisor-survey-") as folder:
        (Path(folder) / f"{MODULE}.py").write_text(PLUGIN)
        into = Path(folder) / "results"
        environment = collecting.environment(Path(folder), root) | {"SUPERVISOR_SURVEY_INTO": str(into)}
        argv = [*pytest, "-p", MODULE, "-p", "no:cacheprovider", "-q", "--maxfail=0", *args]
        limit = seconds_each * max(1, sum(found.cases))
        returned, said = collecting.run(argv, root, environment, limit, "finish the tests")
        if returned not in RAN:
            hint = f"`{' '.join(pytest)}` ended with {returned}: {' '.join(said.splitlines()[-1:])[:200]}"
            raise Refused("the tests could not be run once", hint=hint)
        lines = into.read_text().splitlines() if into.exists() else []
    results: dict[str, bool] = {}
    for node, outcome in map(json.loads, lines):
        results[node] = results.get(node, True) and outcome == "passed"
    # pytest names files relative to its own root, which may be below the repository's.
    prefix = _prefix(found, results)
    named = {f"{prefix}{node}": good for node, good in results.items()}
    return [test for test in found.tests if (own := cases_of(named, test)) and all(own.values())]


def _prefix(found: Collected, results: dict[str, bool]) -> str:
    first = next(iter(results), "")
    whole = next((test for test in found.tests if first and test.endswith(first.partition("[")[0])), first)
    return whole[: len(whole) - len(first.partition("[")[0])] if whole != first else ""
