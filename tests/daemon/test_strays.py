"""Promise: no agent of this installation is destroyed whose work is not in a ref of ours."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.memory import MemoryAgents
from supervisor.adapters.sqlite.journal import open_journal
from supervisor.daemon.strays import Strays
from supervisor.errors import DeviceFailed, Unreadable
from supervisor.model import event as ev
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.request import Cancel
from supervisor.ports import (
    ATTEMPT,
    BATCH,
    INSTALLATION,
    JOB,
    KEPT,
    AgentOrder,
    Collection,
    Picture,
    Place,
    SealedBatch,
)
from tests.daemon.box import agents_in_mngr
from tests.daemon.crash import STUB
from tests.daemon.sandbox import Running, Sandbox, box, running
from tests.flow.world import INSTALLATION as MADE_HERE
from tests.flow.world import World
from tests.waiting import until


@dataclass
class Rescuing:
    """The `Collector` port: rescues all, or as much as it is told to."""

    unsaved: str = ""
    fails: bool = False
    asked: list[tuple[str, str, AttemptKey]] = field(default_factory=list)

    async def published(self, attempts: Sequence[Attempt]) -> set[AttemptKey]:
        return set()

    async def news(self, attempts: Sequence[Attempt], last: Picture) -> Picture:
        raise AssertionError("nobody waits")

    async def collect(self, batch: Batch, attempt: Attempt) -> Collection:
        raise AssertionError("nothing was published")

    async def rescue(self, batch: Batch, attempt: Attempt) -> Collection:
        if self.fails:
            raise DeviceFailed("its host does not answer")
        self.asked.append((batch.repo, batch.base, attempt.key))
        return Collection("5e1f", 1, unsaved=self.unsaved)

    async def lay_out(self, batch: Batch, attempt: Attempt) -> None:
        raise AssertionError("no stray goes on")


class Yard:
    """One open batch, one that is sealed, and an agent that no attempt knows."""

    def __init__(self, folder: Path) -> None:
        self.world = World(local=0).submit("open")
        self.agents, self.collector = MemoryAgents(folder), Rescuing()
        self.told: list[ev.Event] = []
        self.strays = Strays(
            state=lambda: self.world.state,
            tell=self.told.append,
            clock=lambda: 1.0,
            agents=self.agents,
            collector=self.collector,
            sealed=self._sealed,
        )

    async def _sealed(self, batch: str) -> SealedBatch | None:
        status = json.dumps({"batch": {"repo": "/srv/shop", "base": "b" * 40}})
        return SealedBatch("over", 1.0, 2.0, status, "[]") if batch == "over" else None

    async def stray(self, batch: str, **labels: str) -> str:
        given = {INSTALLATION: MADE_HERE, BATCH: batch, JOB: "1", ATTEMPT: "7", **labels}
        order = AgentOrder(f"agent-{7:032x}", "n", Place("local"), "x", (), Path(), "base", "b", labels=given)
        return (await self.agents.create(order)).agent_id

    async def look(self) -> bool:
        listing = await self.agents.list("local")
        return await self.strays.put_away("local", listing.agents, complete=listing.complete)

    async def is_there(self) -> bool:
        return bool((await self.agents.list("local")).agents)


async def test_one_of_an_open_batch_is_rescued_then_destroyed(tmp_path: Path) -> None:
    yard = Yard(tmp_path)
    await yard.stray("open")
    assert await yard.look()
    assert yard.collector.asked == [("/repo", "base", AttemptKey("open", 1, 7))]
    assert not await yard.is_there()
    assert [event.kind for event in yard.told] == ["orphan-destroyed"]


async def test_one_of_a_sealed_batch_is_rescued_then_destroyed(tmp_path: Path) -> None:
    yard = Yard(tmp_path)
    await yard.stray("over")
    assert await yard.look()
    assert yard.collector.asked == [("/srv/shop", "b" * 40, AttemptKey("over", 1, 7))]
    assert not await yard.is_there()


async def test_one_of_an_unknown_batch_is_left_alone_and_told(tmp_path: Path) -> None:
    yard = Yard(tmp_path)
    agent_id = await yard.stray("never-heard-of")
    for _ in range(3):
        assert not await yard.look()
    assert await yard.is_there()
    assert "destroy" not in yard.agents.calls
    [message] = yard.strays.left_alone.values()
    assert "its batch never-heard-of is not known here" in message
    assert f"mngr destroy --force {agent_id}@" in message

    yard.agents.vanish(agent_id)
    assert await yard.look()
    assert not yard.strays.left_alone


async def test_one_whose_work_can_not_be_taken_is_left_alone_and_told(tmp_path: Path) -> None:
    yard = Yard(tmp_path)
    await yard.stray("open")
    yard.collector.fails = True
    assert not await yard.look()
    yard.collector.fails, yard.collector.unsaved = False, "30,000 commits"
    assert not await yard.look()
    assert await yard.is_there()
    [message] = yard.strays.left_alone.values()
    assert "30,000 commits" in message


async def test_with_an_older_state_all_are_left_alone_until_somebody_resumes(tmp_path: Path) -> None:
    yard = Yard(tmp_path)
    yard.world.happens(ev.OlderStateAccepted(1.0, last=3, acknowledged=9))
    assert yard.world.state.paused
    await yard.stray("open")
    assert not await yard.look()
    assert await yard.is_there()
    yard.world.happens(ev.QueueResumed(2.0, author="ann"))
    assert await yard.look()
    assert not await yard.is_there()


async def test_those_of_others_and_those_kept_are_not_even_told(tmp_path: Path) -> None:
    for labels in ({INSTALLATION: "another"}, {KEPT: "true"}):
        yard = Yard(tmp_path / str(len(labels)) / next(iter(labels)))
        await yard.stray("open", **labels)
        assert await yard.look()
        assert await yard.is_there()
        assert not yard.strays.left_alone


async def test_without_labels_that_make_sense_it_is_left_alone_and_told(tmp_path: Path) -> None:
    yard = Yard(tmp_path)
    await yard.stray("open", **{JOB: "the first"})
    assert not await yard.look()
    assert await yard.is_there()
    assert "its labels do not say" in next(iter(yard.strays.left_alone.values()))


# --- the whole daemon, on mngr's stand-in


def stage(folder: Path, **options: Any) -> Any:
    return box(folder, settings={"mngr": {"command": str(STUB), "warm": False, "list_seconds": 2}}, **options)


async def at_work(here: Running, made: Sandbox) -> None:
    await here.submit()
    await until("all agents have committed", lambda: len(heads(made)) == made.jobs)


def heads(made: Sandbox) -> list[Path]:
    return list((made.configuration.mngr_home / ".mngr" / "copies").glob("agent-*/note-*"))


async def test_a_journal_that_lost_a_batch_destroys_no_agent_of_it(tmp_path: Path) -> None:
    """Files of an older copy: refused. Gone on with nevertheless: no agent is harmed, and a person is told."""
    async with stage(tmp_path, jobs=2, profile={"env": {"WORK_SECONDS": "0"}, "command": [str(NEVER_DONE)]}) as made:
        path, before = made.configuration.state_dir / "journal.sqlite3", tmp_path / "before"
        async with running(made) as here:
            await here.daemon.settled()
            shutil.copytree(path.parent, before, ignore=shutil.ignore_patterns("home", "tmux", "lock"))
            await at_work(here, made)
        shutil.copy(before / path.name, path)
        shutil.copy(before / f"{path.name}-wal", path.parent)

        with pytest.raises(Unreadable) as refused:
            open_journal(path)
        assert "--accept-older-state" in refused.value.hint

        async with running(made, accept_older=True) as here:
            await until("both are told of", lambda: len(here.daemon.watch.strays.left_alone) == 2)
            assert here.state.paused
            assert not here.state.batches
        assert len(agents_in_mngr(made.configuration.state_dir)) == 2
        assert len(heads(made)) == 2


async def test_an_agent_that_outlived_its_batch_is_rescued_to_a_ref_first(tmp_path: Path) -> None:
    """It is found when all of its batch is over and sealed."""
    async with stage(tmp_path, jobs=1, profile={"command": [str(NEVER_DONE)]}) as made:
        async with running(made) as here:
            await at_work(here, made)
            [attempt] = here.state.attempts.values()
            other = replace(
                attempt, key=attempt.key._replace(attempt=9), agent_id=f"agent-{9:032x}", agent_name="nine"
            )
            order = here.devices.orders.order(here.state.batches["batch"], other)
            await here.daemon.loop.inbox.ask(Cancel("batch", author="ann"))
            await here.finished()
            await until("the first is destroyed", lambda: not heads(made))
            repo = made.folder / "repo"  # the batch's own source goes with it
            base = (await here.devices.store.inspect(repo)).head_sha
            await here.devices.agents.create(replace(order, source=repo, base=base))
            await until("the other has committed", lambda: heads(made))
        async with running(made) as here:
            await until("it is put away", lambda: here.of(ev.OrphanDestroyed))
        assert not heads(made)
        assert "refs/supervisor/batch/1/rescued/9" in refs(made)


def refs(made: Sandbox) -> list[str]:
    bare = GitStore(made.configuration.state_dir).bare(made.folder / "repo")
    done = subprocess.run(["git", "-C", bare, "for-each-ref", "--format=%(refname)"], check=True, capture_output=True)
    return done.stdout.decode().split()


NEVER_DONE = Path(__file__).with_name("never_done")
