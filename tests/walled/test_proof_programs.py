"""The real claude and the real opencode inside of walls, with a scripted model: the batches that they do without."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from supervisor.walled.orders import agent_walls_lack
from tests.opencode.program import PROGRAM as OPENCODE
from tests.scripted import batches
from tests.scripted.office import CLAUDE_PROGRAM, Office, Program, office
from tests.scripted.plays import Model

pytestmark = [pytest.mark.real, pytest.mark.proof, pytest.mark.timeout(1200)]


@asynccontextmanager
async def walled_office(folder: Path, *args: Any, **options: Any) -> AsyncIterator[tuple[Office, Model]]:
    async with office(folder, *args, agent_walls="require", **options) as here:
        yield here


@pytest.mark.parametrize("program", [CLAUDE_PROGRAM, OPENCODE], ids=lambda program: program.kind)
async def test_four_jobs_end_as_scripted_and_are_counted_to_the_token(tmp_path: Path, program: Program) -> None:
    """One of them is told to go on, which has to reach it through its terminal or its port."""
    if lacks := await agent_walls_lack():
        pytest.skip(f"no walls can be built here: {lacks}")
    await batches.four_end_as_scripted_and_are_counted_to_the_token(tmp_path, program, walled_office)
