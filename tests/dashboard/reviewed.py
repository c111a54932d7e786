"""A night that is over, with a branch on real git to be reviewed on its page, and the device that revises it."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.daemon.revising import Revising
from supervisor.integration.revising import BranchReviser
from supervisor.model import event as ev
from supervisor.model.batch import Batch
from supervisor.model.effect import Collect, Integrate, Launch, Release, Revise, Verify
from supervisor.model.ledger import Fate, LedgerRow
from supervisor.model.profile import Profile
from supervisor.model.review import Review
from supervisor.model.state import State
from supervisor.observe.snapshot import seal
from tests.agent_clone import commit, git
from tests.control.served import a_repo
from tests.dashboard.generated import DOUBT, EVIDENCE
from tests.dashboard.seen import Seen, seen
from tests.flow.world import World

TESTS = tuple(f"tests/test_shop.py::test_{name}" for name in ("<img src=x onerror=window.pwned=1>", "two", "three"))
HOSTILE = "[FIX_IMPL] <script>window.pwned = 1</script> \u202eesrever"
TEXT = "one\n\n\ntwo </details><script>window.pwned = 2</script>\n"


@dataclass
class Night:
    there: Seen
    repo: Path
    #: in the order of the branch: the tests of two jobs, a fix, and one that stands on it and is doubted
    tests: str
    fix: str
    other: str

    @property
    def review(self) -> Review:
        return self.there.state.reviews["b"]

    def tip(self) -> str:
        return git(self.repo, "rev-parse", "supervisor/b")

    async def revise(self) -> None:
        """What the daemon does when it is asked to."""
        store = self.there.desk.store
        assert isinstance(store, GitStore)
        effect = next(each for each in self.there.asked if isinstance(each, Revise))
        self.there.asked.remove(effect)
        revising = Revising(BranchReviser(store, None), self.there.desk.clock)
        self.there.happens(await revising.revise(self.review, effect.number))


@asynccontextmanager
async def a_reviewable_night(home: Path) -> AsyncIterator[Night]:
    repo = a_repo(home)
    base = git(repo, "rev-parse", "HEAD")
    store = GitStore(home / "state")
    git(repo, "switch", "-qc", "supervisor/b")
    tests = commit(repo, "[TEST/DOC] 2 changes from 2 jobs", **{"tests/test_more.py": "def test(): pass\n"})
    fix = commit(repo, HOSTILE, app__py=TEXT)
    other = commit(repo, "[FIX_IMPL] Other", app__py=TEXT.upper())
    git(repo, "switch", "-q", "main")
    await store.keep(repo, other, "refs/supervisor/b/integrated/1")
    world = World(local=3)
    world.now = time.time() - 3600
    merged = {1: (tests,), 2: (fix, tests), 3: (other,)}
    sealed = _worked(world, str(repo), base)
    ledger = {job: LedgerRow(Fate.MERGED, commits=commits) for job, commits in merged.items()}
    for effect in world.pending(Integrate):
        ended = ev.IntegrationEnded(world.now, "b", effect.number, ledger, "supervisor/b", head=other)
        world.answer(effect, ended)
    [batch] = sealed
    async with seen(home, world, sealed=[seal(batch)]) as there:
        yield Night(there, repo, tests, fix, other)


def _worked(world: World, repo: str, base: str) -> list[Batch]:
    """Three jobs are over; the batch is told when it is sealed."""
    sealed = list[Batch]()

    def watch(before: State, event: ev.Event) -> None:
        if isinstance(event, ev.BatchSealed):
            sealed.append(before.batches[event.batch])

    world.watchers.append(watch)
    profile = Profile(retries=0, keep_agents="none", integrator=False, verify_group=1)
    world.happens(ev.BatchSubmitted(world.now, "b", repo, base, TESTS, profile, author="ann")).do(Launch)
    for job in (1, 2, 3):
        world.publish(job).do(Collect)
        for effect in world.pending(Verify):
            doubts = (DOUBT,) if effect.keys[0].job == 3 else ()
            verified = ev.WorkVerified(
                world.now,
                *effect.keys[0],
                outcome="fixed",
                verification="verified",
                runs=2,
                passed=2,
                failed_before=True,
                doubts=doubts,
                evidence=EVIDENCE,
            )
            world.answer(effect, verified)
        world.do(Release)
    return sealed
