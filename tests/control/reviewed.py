"""A batch that is over and sealed, with a branch on real git, and the device that revises it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from supervisor.adapters.git.store import GitStore
from supervisor.daemon.revising import Revising
from supervisor.integration.revising import BranchReviser
from supervisor.model.effect import Effect, Revise
from supervisor.tasks import beside
from tests.agent_clone import commit, git
from tests.control.served import Served, served
from tests.waiting import until

TESTS = ["tests/test_it.py::test_one", "tests/test_it.py::test_two[a b]", "tests/test_it.py::test_two[c]"]
HOSTILE = "[FIX_IMPL] <script>window.pwned = 1</script> \u202eesrever"
TEXT = "one\n\n\ntwo\n"


@dataclass
class Reviewed:
    api: Served
    batch: str
    #: the tests of two jobs; a fix; and one that stands on it
    tests: str
    fix: str
    other: str

    @property
    def branch(self) -> str:
        return f"supervisor/{self.batch}"

    @property
    def path(self) -> str:
        return f"/v1/batches/{self.batch}/review"

    def tip(self) -> str:
        return git(self.api.repo, "rev-parse", self.branch)

    async def look(self) -> Any:
        return await self.api.call(lambda client: client.get(self.path))

    async def say(self, state: str, *commits: str, **more: object) -> Any:
        body = {"state": state, "commits": list(commits), **more}
        return await self.api.call(lambda client: client.post(f"/v1/batches/{self.batch}/decide", body))


@asynccontextmanager
async def reviewed(home: Path) -> AsyncIterator[Reviewed]:
    async with served(home, otherwise="fixed") as api, beside() as tasks:
        store = api.desk.store
        assert isinstance(store, GitStore)
        revising = Revising(BranchReviser(store, None), api.desk.clock)

        async def revise(effect: Revise) -> None:
            review = api.loop.state.reviews[effect.batch]
            api.loop.inbox.tell(await revising.revise(review, effect.number))

        def asked(effect: Effect) -> None:
            if isinstance(effect, Revise):
                tasks.start_soon(revise, effect)

        api.player.otherwise_asked = asked
        tests, fix, other = await _branch(api, store)
        api.player.branch_head = other
        api.player.merged = {1: (tests,), 2: (fix, tests), 3: (other,)}
        batch = await api.submit(*TESTS)
        await until("it is sealed", lambda: batch not in api.loop.state.batches)
        git(api.repo, "branch", f"supervisor/{batch}", other)
        yield Reviewed(api, batch, tests, fix, other)


async def _branch(api: Served, store: GitStore) -> tuple[str, str, str]:
    git(api.repo, "switch", "-qc", "made")
    made = (
        commit(api.repo, "[TEST/DOC] 2 changes from 2 jobs", **{"tests/test_more.py": "def test(): pass\n"}),
        commit(api.repo, HOSTILE, app__py=TEXT),
        commit(api.repo, "[FIX_IMPL] Other", app__py=TEXT.upper()),
    )
    git(api.repo, "switch", "-q", "main")
    await store.keep(api.repo, made[-1], "refs/supervisor/kept/integrated/1")
    git(api.repo, "branch", "-qD", "made")
    return made
