"""How agents of other hosts are judged: the watch and the collector on the device in memory."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from supervisor.adapters.layout import Layout
from supervisor.adapters.memory import MemoryAgents
from supervisor.adapters.mngr.answers import listing, not_created
from supervisor.adapters.mngr.calls import Answer
from supervisor.daemon.strays import Strays
from supervisor.daemon.watch import Rhythm, Watch
from supervisor.errors import DeviceFailed
from supervisor.model import event as ev
from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.effect import Collect, Launch, Release
from supervisor.model.event import Event, PoolSpec
from supervisor.model.profile import Profile
from supervisor.ports import (
    ATTEMPT,
    BATCH,
    INSTALLATION,
    JOB,
    AgentOrder,
    Collection,
    ExecResult,
    Listing,
    Place,
    SealedBatch,
    SeenAgent,
)
from supervisor.publication.collector import WorkCollector
from tests.flow.world import INSTALLATION as MADE_HERE
from tests.flow.world import World
from tests.waiting import until

POOL = PoolSpec("far", "pool", 4, hosts=("left", "right"))


async def nothing_sealed(batch: str) -> SealedBatch | None:
    return None


class HalfDead:
    """A collector to which one host never answers."""

    def __init__(self, dead: str) -> None:
        self._dead = dead

    async def published(self, attempts: Sequence[Attempt]) -> set[AttemptKey]:
        if attempts[0].host == self._dead:
            await asyncio.Event().wait()
        return {attempt.key for attempt in attempts}

    async def rescue(self, batch: Batch, attempt: Attempt) -> Collection:
        return Collection()


class Site:
    """Four agents that live, two on each host, and what is told of them."""

    def __init__(self, folder: Path) -> None:
        self.world = World(POOL).submit(tests=4, profile=Profile(pools=("far",))).do(Launch)
        self.agents = MemoryAgents(folder / "agents", providers=["pool"], shell=self._shell)
        self.folder, self.told, self.looks = folder, list[Event](), list[str]()
        self.published: set[str] = set()
        self.rhythm = Rhythm()
        #: agents whose work directory is gone, so that nothing can be run there
        self.bare: set[str] = set()

    @property
    def live(self) -> list[Attempt]:
        return sorted(self.world.state.attempts.values(), key=lambda attempt: attempt.key.job)

    async def launch(self) -> None:
        for attempt in self.live:
            place = Place("pool", attempt.host)
            key = attempt.key
            labels = {INSTALLATION: MADE_HERE, BATCH: key.batch, JOB: str(key.job), ATTEMPT: str(key.attempt)}
            order = AgentOrder(
                attempt.agent_id, attempt.agent_name, place, "x", (), Path(), "base", "b", labels=labels
            )
            await self.agents.create(order)

    def _shell(self, agent: SeenAgent, command: str) -> ExecResult:
        self.looks.append(agent.host_name)
        if agent.address.agent_id in self.bare:
            return ExecResult("", "no such directory", success=False)
        found = [agent_id for agent_id in sorted(self.published) if agent_id in command]
        return ExecResult("\n".join([*found, "looked"]), "", success=True)

    @property
    def collector(self) -> WorkCollector:
        unused: Any = None
        return WorkCollector(self.agents, unused, Layout(self.folder))

    def watch(self, collector: Any) -> Watch:
        unused: Any = None
        return Watch(
            state=lambda: self.world.state,
            tell=self.told.append,
            clock=lambda: self.world.now,
            agents=self.agents,
            collector=collector,
            signs=unused,
            strays=Strays(
                state=lambda: self.world.state,
                tell=self.told.append,
                clock=lambda: self.world.now,
                agents=self.agents,
                collector=collector,
                sealed=nothing_sealed,
            ),
            launching=set(),
            rhythm=self.rhythm,
        )

    def of(self, kind: type[ev.AttemptEvent]) -> list[int]:
        return sorted(event.job for event in self.told if isinstance(event, kind))


async def test_each_host_is_looked_at_once(tmp_path: Path) -> None:
    """However many agents it has; and what mngr still lists without a sign of its end lives."""
    site = Site(tmp_path)
    await site.launch()
    site.published = {site.live[1].agent_id, site.live[2].agent_id}

    await site.watch(site.collector).reconcile("pool")

    assert sorted(site.looks) == ["left", "right"]
    assert site.of(ev.WorkPublished) == [2, 3]
    assert not site.of(ev.AgentVanished)


async def test_who_is_not_listed_and_has_not_published_has_vanished(tmp_path: Path) -> None:
    """Its host is asked by another agent of the same host; also when its last agent is gone it is known."""
    site = Site(tmp_path)
    await site.launch()
    for attempt in (site.live[0], site.live[1], site.live[3]):
        site.agents.vanish(attempt.agent_id)

    await site.watch(site.collector).reconcile("pool")

    assert site.of(ev.AgentVanished) == [1, 2, 4]


class ReleasedMeanwhile(MemoryAgents):
    """An agent is put away after mngr has looked at it, and before mngr has said so."""

    world: World

    async def list(self, provider: str) -> Listing:
        listed = await super().list(provider)
        self.world.publish(1).do(Collect, Release)
        return listed


async def test_who_is_put_away_while_mngr_lists_is_no_stray(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.agents = ReleasedMeanwhile(tmp_path / "agents", providers=["pool"])
    site.agents.world = site.world
    await site.launch()

    await site.watch(HalfDead("nobody")).reconcile("pool")

    assert not [event for event in site.told if isinstance(event, ev.OrphanDestroyed)]
    assert "destroy" not in site.agents.calls


@pytest.mark.parametrize("wrong", ["destroy", "list"])
async def test_a_stray_is_put_away_in_the_end(tmp_path: Path, wrong: str) -> None:
    """Also when nothing is under way any more that would have mngr asked again."""
    site = Site(tmp_path)
    await site.launch()
    for _ in range(3):
        site.agents.fail_next(wrong, "timeout")
    site.world = World(replace(POOL, slots=0)).submit(tests=4, profile=Profile(pools=("far",)))
    site.rhythm = Rhythm(listing=0.02, listing_at_most=0.01)
    watch = site.watch(HalfDead("nobody"))
    looking = asyncio.create_task(watch.listings())

    await until("no agent is left", lambda: len([e for e in site.told if isinstance(e, ev.OrphanDestroyed)]) == 4)
    listed, rounds = site.agents.calls.count("list"), watch.rounds
    await until("the loop goes on", lambda: watch.rounds > rounds + 3)

    assert site.agents.calls.count("list") == listed
    assert not (await site.agents.list("pool")).agents
    looking.cancel()
    with suppress(asyncio.CancelledError):
        await looking


async def test_a_provider_that_does_not_answer_proves_nothing(tmp_path: Path) -> None:
    """Also when one host of it is down and the listing fails as a whole: the others' publications are still seen."""
    site = Site(tmp_path)
    await site.launch()
    site.agents.fail_next("list", "provider")
    site.agents.vanish(site.live[0].agent_id)
    site.published = {site.live[1].agent_id}

    await site.watch(site.collector).reconcile("pool")

    assert site.of(ev.WorkPublished) == [2]
    assert not site.of(ev.AgentVanished)


async def test_a_dead_host_holds_up_no_other(tmp_path: Path) -> None:
    site = Site(tmp_path)
    await site.launch()
    looking = asyncio.create_task(site.watch(HalfDead("left")).reconcile("pool"))

    await until("the right host's are told", lambda: site.of(ev.WorkPublished) == [2, 4])

    looking.cancel()
    with suppress(asyncio.CancelledError):
        await looking


async def test_an_agent_without_its_work_directory_leaves_the_word_to_the_next(tmp_path: Path) -> None:
    site = Site(tmp_path)
    await site.launch()
    first, second = site.live[0], site.live[2]
    site.published, site.bare = {first.agent_id}, {first.agent_id}
    assert await site.collector.published([first, second]) == {first.key}

    site.bare.add(second.agent_id)
    with pytest.raises(DeviceFailed):
        await site.collector.published([first, second])


# --- what mngr says when a host is not there

STARTED = '{"event": "progress", "kind": "started", "step": "preparing"}\n'
TRANSFER = '{"event": "progress", "kind": "started", "step": "transferring_project"}\n'
GROUP = '{"event": "error", "error_class": "ConcurrencyExceptionGroup", "message": "Failed to push git repo"}\n'
LOCK = '{"event": "error", "error_class": "HostError", "message": "Remote host lock command exited"}\n'
DROPPED = '{"event": "error", "error_class": "HostConnectionError", "message": "Failed to connect to host"}\n'
HOST = '{"event": "progress", "kind": "started", "step": "creating_host"}\n'
PROVISION = '{"event": "progress", "kind": "started", "step": "provisioning"}\n'
#: as imbue-mngr-modal 0.3.0 passes on what Modal says
MODAL = (
    '{"event": "error", "error_class": "ModalProxyRateLimitError", '
    '"message": "Sandbox creation rate limit (5/s) exceeded"}\n'
)
AWS = (
    '{"event": "error", "error_class": "VpsProvisioningError", "message": "An error occurred (RequestLimitExceeded) '
    'when calling the RunInstances operation: Request limit exceeded."}\n'
)
#: a program of the profile's that another service refuses
SETUP = '{"event": "error", "error_class": "MngrError", "message": "uv sync: 429 Too Many Requests"}\n'


@pytest.mark.parametrize(
    ("said", "is_remote", "reason"),
    [
        (STARTED + TRANSFER + GROUP, True, "timeout"),
        (STARTED + TRANSFER + DROPPED, True, "timeout"),
        (STARTED + DROPPED, True, "provider"),
        (LOCK, True, "provider"),
        (LOCK, False, "refused"),
        (STARTED + GROUP, True, "refused"),
        (STARTED + TRANSFER + GROUP, False, "refused"),
        (STARTED + HOST + MODAL, True, "rate"),
        (STARTED + HOST + TRANSFER + MODAL, True, "rate"),
        (STARTED + HOST + AWS, True, "rate"),
        (STARTED + HOST + TRANSFER + PROVISION + SETUP, True, "timeout"),
        (STARTED + HOST + SETUP, False, "refused"),
    ],
)
def test_a_create_that_lost_its_host_half_way_may_have_made_an_agent(said: str, is_remote: bool, reason: str) -> None:
    """So its job waits until that is put away, and goes again; before, nothing was made."""
    assert not_created(Answer(1, said, ""), is_remote=is_remote).reason == reason


def test_a_host_that_is_down_is_called_so() -> None:
    """mngr's own words for it make no sense to a person."""
    said = '{"event": "error", "message": "Offline hosts not supported for this provider", "provider_name": "pool"}'
    assert listing(Answer(1, said, ""), "pool").problems == ("one of its hosts can't be reached",)
