"""Every import contract of pyproject.toml fails when an import breaks it.

A contract may hold because nothing breaks it, or because it looks at nothing. So each has examples below: a module,
and an import that the contract forbids there. They are added to a copy of the package.
"""

import re
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
    """An import that a contract forbids."""

    module: str
    imports: str


#: by the name of the contract
BREAKS = {
    "Imports go one way": [
        Break("supervisor.boot", "supervisor.cli.main"),
        Break("supervisor.control", "supervisor.boot"),
        Break("supervisor.daemon", "supervisor.control"),
        Break("supervisor.control", "supervisor.integration"),
        Break("supervisor.verification", "supervisor.daemon"),
        Break("supervisor.launch", "supervisor.publication"),
        Break("supervisor.publication", "supervisor.verification"),
        Break("supervisor.adapters", "supervisor.launch"),
        Break("supervisor.observe", "supervisor.adapters"),
        Break("supervisor.settings", "supervisor.observe"),
        Break("supervisor.ports", "supervisor.settings"),
        Break("supervisor.flow", "supervisor.ports"),
        Break("supervisor.model", "supervisor.flow"),
        Break("supervisor.errors", "supervisor.model"),
        Break("supervisor.adapters", "supervisor.rehearsal"),
        Break("supervisor.paths", "supervisor.settings"),
        Break("supervisor.ports", "supervisor.transcripts"),
        Break("supervisor.foresight", "supervisor.ports"),
        Break("supervisor.flow", "supervisor.foresight"),
        Break("supervisor.transcripts", "supervisor.kinds"),
        Break("supervisor.kinds", "supervisor.observe"),
        Break("supervisor.gate", "supervisor.model"),
        Break("supervisor.model", "supervisor.gate"),
    ],
    "The core and the rules of each stage do no I/O and read no clock": [
        Break("supervisor.model", "os"),
        Break("supervisor.flow", "time"),
        Break("supervisor.foresight", "random"),
        Break("supervisor.publication.rules", "pygit2"),
        Break("supervisor.verification.rules", "asyncio"),
        Break("supervisor.integration.rules", "sqlite3"),
    ],
    "Rules import no device": [
        Break("supervisor.publication.rules", "supervisor.publication.archive"),
        Break("supervisor.verification.rules", "supervisor.verification.trials"),
        Break("supervisor.integration.rules", "supervisor.integration.branches"),
        Break("supervisor.integration.rules.work", "supervisor.verification.judge"),
        Break("supervisor.integration.rules", "supervisor.adapters"),
    ],
    "The gate imports little": [
        Break("supervisor.gate", "pydantic"),
        Break("supervisor.gate.app", "fastapi"),
        Break("supervisor.gate.keys", "supervisor.paths"),
    ],
    "The test framework stands alone": [
        Break("supervisor.e2e", "supervisor.errors"),
        Break("supervisor.e2e.tutorial.shell", "supervisor.flow"),
        Break("supervisor.e2e.view.page", "supervisor.cli.main"),
    ],
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and its contracts, as they are."""
    place = tmp_path_factory.mktemp("contracts")
    shutil.copytree(ROOT / "supervisor", place / "supervisor", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", place)
    return place


def source(place: Path, module: str) -> Path:
    path = place.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def linted(place: Path) -> tuple[int, str]:
    """What `lint-imports` says in that folder, whose package it finds before the one that is installed."""
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([program], cwd=place, capture_output=True, text=True, timeout=100, check=False)
    return done.returncode, done.stdout + done.stderr


def told_of(name: str, said: str) -> str:
    """What is written under the name of a broken contract."""
    headings = re.compile(rf"^({'|'.join(map(re.escape, NAMES))})\n-+$", re.M)
    _, *parts = headings.split(said)
    return dict(zip(parts[::2], parts[1::2], strict=True)).get(name, "")


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
    texts = {file: file.read_text() for file in (source(copy, example.module) for example in examples)}
    try:
        for example in examples:
            with source(copy, example.module).open("a") as module:
                module.write(f"\ndef late() -> None:\n    import {example.imports}\n")
        code, said = linted(copy)
    finally:
        for file, text in texts.items():
            file.write_text(text)
    assert code == 1, said
    told = told_of(name, said)
    assert [each for each in examples if f" {each.module} -> {each.imports} (l." not in told] == [], told
