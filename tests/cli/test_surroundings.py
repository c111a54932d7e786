"""What submit finds out about the Python that tests run in, where an agent's would be another."""

import sys
import venv
from pathlib import Path

import pytest

from supervisor.cli.collecting import collect
from supervisor.cli.surroundings import Surroundings
from supervisor.errors import Refused

PACKAGES = Path(pytest.__file__).parent.parent
TEST = "def test_it():\n    pass\n"
FINDER = """\
import importlib.machinery, importlib.util, sys
MAPPING = {mapping!r}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        place = MAPPING.get(name)
        return importlib.util.spec_from_file_location(name, place + "/__init__.py") if place else None
sys.meta_path.append(Finder)
"""


def repository(folder: Path, files: dict[str, str]) -> Path:
    root = folder / "repo"
    for name, text in {"tests/test_it.py": TEST, **files}.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return root


def python(folder: Path, *lines: str, finder: dict[str, str] | None = None) -> str:
    """A Python of the user's own, with pytest and whatever is installed for editing."""
    venv.create(folder, with_pip=False, symlinks=True)
    [site] = (folder / "lib").glob("python3*/site-packages")
    if finder:
        (site / "__editable___app_finder.py").write_text(FINDER.format(mapping=finder))
        lines = (*lines, "import __editable___app_finder")
    (site / "all.pth").write_text("\n".join([str(PACKAGES), *lines]))
    return str(folder / "bin" / "python")


def looked(root: Path, command: str = sys.executable, *args: str) -> Surroundings:
    around = Surroundings(root)
    argv = ["env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", command, "-m", "pytest", "-p", "no:cacheprovider"]
    found = collect(root, argv, args, "function", timeout=60, around=around)
    assert found.tests == ["tests/test_it.py::test_it"]
    return around


def test_what_is_not_installed_is_not_looked_for_elsewhere(tmp_path: Path) -> None:
    around = looked(repository(tmp_path, {"app.py": "", "src/lib/__init__.py": ""}))

    assert (around.python_path, around.unmapped, around.notes(around.python_path)) == ((), (), [])


@pytest.mark.proof
def test_an_editable_install_is_found_by_its_folder(tmp_path: Path) -> None:
    """Whatever its layout, and also where no test imports it: a tool is run as a process."""
    root = repository(tmp_path, {"src/app/__init__.py": "", "flat.py": ""})

    assert looked(root, python(tmp_path / "one", str(root / "src"))).python_path == ("src",)
    assert looked(root, python(tmp_path / "two", str(root))).python_path == (".",)
    finder = looked(root, python(tmp_path / "three", finder={"app": str(root / "src/app")}))
    assert finder.python_path == ("src",)
    assert finder.notes(("src",)) == [
        "packages are installed from this checkout: agents import them from src of their own checkouts"
    ]


def test_a_package_of_another_name_than_its_folder_is_told(tmp_path: Path) -> None:
    """No path would give it: a setup must."""
    root = repository(tmp_path, {"code/__init__.py": "", "conftest.py": "import app\n"})
    around = looked(root, python(tmp_path / "users", finder={"app": str(root / "code")}))

    assert around.python_path == ()
    [said] = around.notes(())
    assert said.startswith("warning: Python imports app from code of this checkout")
    assert "`setup = " in said


def test_an_environment_of_the_checkouts_own_needs_a_setup(tmp_path: Path) -> None:
    root = repository(tmp_path, {})
    python(root / ".venv")
    around = looked(root, ".venv/bin/python")

    assert around.is_inside
    around.check([".venv/bin/python"], has_setup=True)
    with pytest.raises(Refused, match="agents would not have it"):
        around.check([".venv/bin/python"], has_setup=False)


def test_a_share_of_coverage_is_not_asked_of_one_test(tmp_path: Path) -> None:
    """As pytest-cov has its options."""
    options = (
        "def pytest_addoption(parser):\n"
        "    parser.addoption('--cov', dest='cov_source', action='append')\n"
        "    parser.addoption('--cov-fail-under', dest='cov_fail_under', type=float)\n"
    )
    files = {"conftest.py": options, "pytest.ini": "[pytest]\naddopts = --cov app --cov-fail-under 90\n"}
    around = looked(repository(tmp_path, files))

    assert around.notes(()) == ["one test alone can't cover 90 %: --cov-fail-under=0 is added to its runs"]
