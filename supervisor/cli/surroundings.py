"""Finds properties of the submitter's environment that would mislead agents, who run tests in their own checkouts.

A second plugin detects them in the run of pytest that collects. It asks the Python that runs pytest, in an empty
folder, where it imports the packages of this checkout from. Whatever it finds comes from an editable install or from
PYTHONPATH, so agents would import this checkout too, instead of their own.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from supervisor.errors import Refused

MODULE = "supervisor_surroundings"
_INTO = "SUPERVISOR_SURROUNDINGS_INTO"

PLUGIN = """\
import json, os, subprocess, sys, tempfile

PROBE = '''
import importlib.util, json, sys
found = {}
for name in json.load(sys.stdin):
    try:
        spec = importlib.util.find_spec(name)
        is_folder = spec.origin in (None, "namespace")
        found[name] = list(spec.submodule_search_locations)[0] if is_folder else spec.origin
    except Exception:
        pass
print(json.dumps(found))
'''

def names_in(folder):
    try:
        for each in os.scandir(folder):
            if each.name.endswith(".py") and each.name != "setup.py":
                yield each.name[:-3]
            elif os.path.isfile(os.path.join(each.path, "__init__.py")):
                yield each.name
    except OSError:
        pass

def imported(root):
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if "." not in name and isinstance(file, str) and os.path.realpath(file).startswith(root + os.sep):
            yield name

def pytest_collection_finish(session):
    root = os.path.realpath(os.environ["SUPERVISOR_COLLECT_ROOT"])
    folders = [root] + [os.path.join(root, each) for each in ("src", "lib", "python")]
    names = sorted(set(imported(root)).union(*map(names_in, folders)))
    own = os.path.realpath(os.path.dirname(__file__))
    path = [os.path.join(root, each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    path = os.pathsep.join(each for each in path if os.path.realpath(each) != own)
    with tempfile.TemporaryDirectory() as nowhere:
        asked = [sys.executable, "-c", PROBE]
        said = subprocess.run(asked, input=json.dumps(names), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              cwd=nowhere, env=dict(os.environ, PYTHONPATH=path), universal_newlines=True).stdout
    option = session.config.option
    covers = getattr(option, "cov_source", None) and not getattr(option, "no_cov", False)
    seen = {
        "found": json.loads(said or "{}"),
        "prefix": sys.prefix,
        "coverage": float(getattr(option, "cov_fail_under", None) or 0) if covers else 0,
    }
    with open(os.environ["SUPERVISOR_SURROUNDINGS_INTO"], "w") as file:
        json.dump(seen, file)
"""


@dataclass(slots=True)
class Surroundings:
    root: Path
    #: folders below the root that packages are imported from, whatever the working directory
    python_path: tuple[str, ...] = ()
    #: packages of the checkout that no folder on PYTHONPATH could provide, each with its location
    unmapped: tuple[tuple[str, str], ...] = ()
    #: the Python that runs pytest is inside the checkout
    is_inside: bool = False
    #: the required coverage, which one test alone can't reach
    coverage: float = 0

    def environment(self, folder: Path) -> Mapping[str, str]:
        """Environment variables of the collecting run; `folder` is on its Python path."""
        (folder / f"{MODULE}.py").write_text(PLUGIN)
        return {_INTO: str(folder / "surroundings.json")}

    def read(self, folder: Path) -> None:
        try:
            seen = json.loads((folder / "surroundings.json").read_text())
        except (OSError, ValueError):
            return
        root = Path(os.path.realpath(self.root))
        self.is_inside = Path(os.path.realpath(seen["prefix"])).is_relative_to(root)
        self.coverage = seen["coverage"]
        folders, unmapped = set[str](), list[tuple[str, str]]()
        for name, origin in seen["found"].items():
            place = Path(os.path.realpath(origin))
            if not place.is_relative_to(root) or _is_installed(place, root):
                continue
            package = place.parent if place.stem == "__init__" else place
            if package.name.partition(".")[0] == name:
                folders.add(str(package.parent.relative_to(root)))
            else:
                unmapped.append((name, str(package.relative_to(root))))
        self.python_path, self.unmapped = (
            tuple(sorted(folders, key=lambda each: (each == ".", each))),
            tuple(unmapped),
        )

    # --- conclusions

    def check(self, pytest: Sequence[str], *, has_setup: bool) -> None:
        """Raises Refused if agents could not run the tests."""
        if self.is_inside and not has_setup and os.sep in pytest[0] and not pytest[0].startswith(os.sep):
            raise Refused(
                f"{pytest[0]} is in this checkout but not in the repository: agents would not have it",
                hint='create it in the profile: setup = "python -m venv .venv && .venv/bin/pip install -e . pytest"',
            )

    def notes(self, python_path: Sequence[str]) -> list[str]:
        """Notes for the user; `python_path` is the batch's."""
        said = []
        if python_path and python_path == self.python_path:
            where = " and ".join("the root" if each == "." else each for each in python_path)
            said.append(
                f"packages are installed from this checkout: agents import them from {where} of their own checkouts"
            )
        for name, place in self.unmapped:
            said.append(
                f"warning: Python imports {name} from {place} of this checkout, so agents' changes have no effect; "
                'set `setup = "python -m venv .venv && .venv/bin/pip install -e . pytest"` and '
                '`pytest = [".venv/bin/python", "-m", "pytest"]` in the profile'
            )
        if self.coverage:
            said.append(f"one test alone can't cover {self.coverage:g} %: --cov-fail-under=0 is added to its runs")
        return said


def _is_installed(place: Path, root: Path) -> bool:
    if {"site-packages", "dist-packages"} & set(place.parts):
        return True
    return any((each / "pyvenv.cfg").exists() for each in place.parents if each.is_relative_to(root))
