"""What becomes one job of what pytest collects."""

import sys
from pathlib import Path

from supervisor.cli.collecting import collect, grouped
from supervisor.cli.surroundings import Surroundings

#: without the plugins that happen to be installed here
PYTEST = ["env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", sys.executable, "-m", "pytest"]
TESTS = '''
import unittest, pytest

@pytest.mark.parametrize("a", ["x::test_a[1]", "b]c[", ""])
def test_a(a): pass

@pytest.mark.parametrize("z", [1, 2])
class TestOuter:
    def test_p(self, z): pass
    class TestInner:
        @pytest.mark.parametrize("q", ["::TestOuter::test_q["])
        def test_q(self, z, q): pass

class Old(unittest.TestCase):
    def test_u(self): pass
    def test_v(self): pass

def documented():
    """
    >>> 1
    1
    """
'''
#: items of no Python function, whose names look like those of cases
CONFTEST = """
import pytest

def pytest_collect_file(parent, file_path):
    return Sheet.from_parent(parent, path=file_path) if file_path.suffix == ".yaml" else None

class Sheet(pytest.File):
    def collect(self):
        yield from (Row.from_parent(self, name=name) for name in ("a[1]", "a[2]", "b::c"))

class Row(pytest.Item):
    def runtest(self): pass
"""
FUNCTIONS = {
    "test_x.py::test_x.documented": 1,
    "test_x.py::test_a": 3,
    "test_x.py::TestOuter::test_p": 2,
    "test_x.py::TestOuter::TestInner::test_q": 2,
    "test_x.py::Old::test_u": 1,
    "test_x.py::Old::test_v": 1,
    "w.yaml::a[1]": 1,
    "w.yaml::a[2]": 1,
    "w.yaml::b::c": 1,
}
CLASSES = {
    "test_x.py::test_x.documented": 1,
    "test_x.py::test_a": 3,
    "test_x.py::TestOuter": 4,
    "test_x.py::Old": 2,
    "w.yaml::a[1]": 1,
    "w.yaml::a[2]": 1,
    "w.yaml::b::c": 1,
}


def test_functions_and_classes_are_told_by_the_items_and_not_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "w.yaml").touch()
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --doctest-modules\n")
    for per, expected in (("function", FUNCTIONS), ("class", CLASSES)):
        around = Surroundings(tmp_path)
        found = collect(tmp_path, PYTEST, [], per, timeout=100, around=around)
        assert dict(zip(found.tests, found.cases, strict=True)) == expected


def item(case: str) -> dict[str, str]:
    return {"case": case, "function": case.partition("[")[0], "class": case.partition("[")[0], "file": "t.py"}


def test_a_case_that_is_named_is_a_job_unless_its_function_is_one() -> None:
    """Else two agents would edit the same lines."""
    one, two, other = item("t.py::f[1]"), item("t.py::f[2]"), item("t.py::g")
    assert grouped([one, other], "function", ["t.py::f[1]"]).tests == ["t.py::f[1]", "t.py::g"]
    assert grouped([one, two], "function", ["t.py::f[1]"]).tests == ["t.py::f"]
    assert grouped([one, two, other], "file", []).cases == [3]
    assert grouped([one, two, other], "case", []).cases == [1, 1, 1]
