"""A submission that is said again while its batch comes to an end does not begin it anew."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.adapters.git.checkouts import RepoFacts
from supervisor.adapters.git.store import GitStore
from supervisor.control import intake
from supervisor.control.messages import Submission
from supervisor.errors import Refused
from supervisor.model import event as ev
from tests.agent_clone import git
from tests.control.served import Served, served
from tests.control.test_api import TESTS
from tests.waiting import until


class Distracted(GitStore):
    """Something else happens while a repository is looked at."""

    def __init__(self, folder: Path, meanwhile: Callable[[], Awaitable[None]]) -> None:
        super().__init__(folder)
        self._meanwhile = meanwhile

    async def inspect(self, repo: Path) -> RepoFacts:
        facts = await super().inspect(repo)
        await self._meanwhile()
        return facts


async def sealed(api: Served, batch: str) -> None:
    await api.finish(batch)
    await until("it is sealed", lambda: batch not in api.loop.state.batches)


async def test_a_batch_that_is_sealed_meanwhile_is_not_begun_anew(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        batch = await api.submit(TESTS[0], batch="k3f9x")
        store = Distracted(tmp_path / "state", lambda: sealed(api, batch))
        again = Submission(repo=str(api.repo), base=git(api.repo, "rev-parse", "HEAD"), tests=[TESTS[0]], batch=batch)
        with pytest.raises(Refused, match="a batch k3f9x already existed"):
            await intake.submit(replace(api.desk, store=store), again, "ann")
        told = [record.event for record in await api.journal.read()]
        assert len([event for event in told if isinstance(event, ev.BatchSubmitted)]) == 1
