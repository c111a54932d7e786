"""What the tests start from: this checkout's pantry on PATH, and a stock to work with."""

import os
import shlex
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.fixture(autouse=True)
def this_checkout(monkeypatch):
    """The pantry of this checkout comes first on PATH."""
    monkeypatch.setenv("PATH", str(HERE.parents[1] / "bin"), prepend=os.pathsep)


@pytest.fixture
def stocked(e2e):
    """A pantry with something in it."""
    e2e.run(f"cp {shlex.quote(str(HERE / 'stock.json'))} pantry.json", comment="a pantry with something in it")
