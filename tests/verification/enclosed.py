"""A run of a test that an agent wrote to attack, inside of its walls."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from supervisor.verification.trials.running import walls_lack
from supervisor.verification.trials.runs import Run
from tests.verification.arena import Arena, arena

ATTACK = "test_attack.py::test_attack"


@asynccontextmanager
async def enclosed(folder: Path) -> AsyncIterator[Arena]:
    if lacks := await walls_lack():
        pytest.skip(f"no walls can be built here: {lacks}")
    async with arena(folder) as here:
        yield here


async def attacked(here: Arena, body: str, **profile: Any) -> Run:
    """By a test with this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    imports = "import os, pathlib, socket, subprocess, sys, tempfile, time\n\n\n"
    return await here.run({"test_attack.py": f"{imports}def test_attack():\n{lines}"}, ATTACK, **profile)
