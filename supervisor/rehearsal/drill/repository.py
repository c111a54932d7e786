"""The repository of a drill: one test for each pool, and a pytest for hosts that have none.

Hosts of a new box have python3, but nothing of ours. So pytest, which is pure Python, comes along in the repository.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path

from supervisor.rehearsal import commit_all

TEST = "tests/test_drill.py::test_sums"
#: the folder with pytest, from the repository's root
TOOLS = "drill_tools"
PACKAGES = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
#: most of pygments is lexers, of which pytest uses these
LEXERS = {"__init__.py", "_mapping.py", "python.py", "diff.py", "special.py"}
TESTS = '''\
"""A test for a drill."""


def test_sums():
    """The sum is what it always was."""
    assert 1 + 1 == 2
'''


def lay_out(path: Path) -> None:
    tests = path / "tests"
    tests.mkdir(parents=True)
    (tests / "test_drill.py").write_text(TESTS)
    (path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\naddopts = -p no:cacheprovider\n")
    (path / ".gitignore").write_text("__pycache__/\n")
    (path / TOOLS).mkdir()
    for package in PACKAGES:
        _carry(package, path / TOOLS)
    commit_all(path, "A test, and what it takes to run it")


def _carry(package: str, tools: Path) -> None:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return
    if spec.submodule_search_locations is None:
        shutil.copy(spec.origin, tools)
    else:
        shutil.copytree(Path(spec.origin).parent, tools / package, ignore=_unneeded)


def _unneeded(folder: str, names: list[str]) -> set[str]:
    unused = set(names) - LEXERS if folder.endswith("pygments/lexers") else set()
    return unused | {name for name in names if name == "__pycache__" or name.endswith(".so")}
