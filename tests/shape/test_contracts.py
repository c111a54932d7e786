"""Every import contract of pyproject.toml fails when an import breaks it.

A contract may hold because nothing breaks it, or because it looks at nothing. So each has an example below: a module,
and an import that the contract forbids there. The example is added to a copy of the package.
"""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.shape.sources import ROOT

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
NAMES = [contract["name"] for contract in CONTRACTS]


class Break(NamedTuple):
    module: str
    line: str


#: by the name of the contract
BREAKS = {
    "Imports go one way": [
        Break("supervisor/boot.py", "from supervisor.cli import main"),
        Break("supervisor/daemon/__init__.py", "import supervisor.adapters"),
        Break("supervisor/flow/__init__.py", "def late():\n    import supervisor.ports"),
        Break("supervisor/errors.py", "from supervisor import model"),
    ],
    "The core does no I/O and reads no clock": [
        Break("supervisor/flow/__init__.py", "from time import monotonic"),
        Break("supervisor/model/__init__.py", "import os.path"),
    ],
    "The test framework stands alone": [
        Break("supervisor/e2e/keys.py", "from supervisor.flow import plan"),
        Break("supervisor/e2e/tutorial/shell.py", "def late():\n    import supervisor.errors"),
    ],
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and its contracts, as they are."""
    place = tmp_path_factory.mktemp("contracts")
    shutil.copytree(ROOT / "supervisor", place / "supervisor", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", place)
    return place


def linted(place: Path) -> tuple[int, str]:
    """What `lint-imports` says in that folder, whose package it finds before the one that is installed."""
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([program], cwd=place, capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_copy_keeps_every_contract(copy: Path) -> None:
    code, said = linted(copy)
    assert [f"{name} KEPT" in said for name in NAMES] == [True] * len(NAMES), said
    assert code == 0


def test_there_is_an_example_for_each_contract_and_no_other() -> None:
    assert sorted(BREAKS) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_forbidden_import_breaks_the_contract(name: str, copy: Path) -> None:
    examples = BREAKS.get(name, [])
    assert examples, "BREAKS needs an import that breaks this contract"
    for example in examples:
        module = copy / example.module
        text = module.read_text()
        module.write_text(f"{text}\n{example.line}\n")
        try:
            code, said = linted(copy)
        finally:
            module.write_text(text)
        assert f"{name} BROKEN" in said, f"{example.line} in {example.module} broke nothing:\n{said}"
        assert code == 1
