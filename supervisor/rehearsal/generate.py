"""Generates repositories for benchmarks, with any number of trivial passing tests."""

from pathlib import Path

from supervisor.rehearsal import commit_all

TESTS_PER_FILE = 25

HEADER = '"""Trivial tests, for batches that measure the supervisor."""\n'
TEST = '\n\ndef test_{number:05}():\n    """The sum is what it always was."""\n    assert {number} + 1 == {next}\n'


def generate(path: Path, tests: int) -> None:
    """Write a git repository with that many passing tests to `path`."""
    folder = path / "tests"
    folder.mkdir(parents=True)
    (path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\naddopts = -p no:cacheprovider\n")
    (path / ".gitignore").write_text("__pycache__/\n")
    for first in range(0, tests, TESTS_PER_FILE):
        numbers = range(first, min(first + TESTS_PER_FILE, tests))
        body = "".join(TEST.format(number=number, next=number + 1) for number in numbers)
        (folder / f"test_from_{first:05}.py").write_text(HEADER + body)
    commit_all(path, f"{tests} trivial tests")
