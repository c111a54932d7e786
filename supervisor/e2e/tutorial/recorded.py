"""What a running test cites, read from its source exactly as the check of the tutorial does.

So the page of a run agrees with the check, even for a test that was skipped or failed before it cited anything.
"""

from functools import lru_cache
from pathlib import Path

from supervisor.e2e.tutorial.citations import Test, read_tests

LARGEST = 2 * 2**20

type Cites = list[dict[str, object]]


def cites(path: Path, name: str) -> Cites | None:
    """The citations of a test by its name (with its class) in a file; None if the source does not tell."""
    test = _tests_of(path).get(name)
    if test is None:
        return None
    return [{"form": each.form, "readings": list(each.readings)} for each in test.citations]


@lru_cache(maxsize=32)
def _tests_of(path: Path) -> dict[str, Test]:
    try:
        if path.stat().st_size > LARGEST:
            return {}
        return {test.name: test for test in read_tests(path.read_text(encoding="utf-8-sig"), path.as_posix())}
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}
