"""The target, laid out once for all tests of this folder."""

from pathlib import Path

import pytest

from supervisor.rehearsal import lay_out


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rehearsal") / "target"
    lay_out(path)
    return path
