"""What a test that runs is known to cite: just what the check of the tutorial reads in its source.

So the page of a run agrees with the check, also on a test that was skipped or failed before it came to cite anything.
"""

from functools import lru_cache
from pathlib import Path

from supervisor.e2e.tutorial.citations import Test, read_tests

LARGEST = 2 * 2**20

type Cites = list[dict[str, object]]


def cites(path: Path, name: str) -> Cites | None:
    """Of a test by its name in a file, with its class; None where the source does not tell."""
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
