"""A provider that makes hosts, such as Modal: the core and the performer on the device in memory."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from supervisor.adapters.memory import MemoryAgents
from supervisor.adapters.mngr.dialects import DIALECTS
from supervisor.adapters.mngr.order import create_argv
from supervisor.daemon.perform import Performer
from supervisor.model import event as ev
from supervisor.model.attempt import Attempt, Stage
from supervisor.model.batch import Batch
from supervisor.model.effect import Launch, Release
from supervisor.model.event import PoolSpec
from supervisor.model.profile import Profile
from supervisor.ports import AgentAddress, AgentOrder, Orders, Place
from tests.flow.world import World
from tests.waiting import until

CLOUD = PoolSpec("cloud", "modal", 4, agents_per_host=2)


class SlowAgents(MemoryAgents):
    """Each create is noted, and waits until the gate is open."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, providers=["modal"])
        self.asked: list[Place] = []
        self.gate = asyncio.Event()

    async def create(self, order: AgentOrder) -> AgentAddress:
        self.asked.append(order.place)
        await self.gate.wait()
        return await super().create(order)


class BareOrders:
    def order(self, batch: Batch, attempt: Attempt) -> AgentOrder:
        place = Place(attempt.provider, attempt.host, attempt.new_host)
        return AgentOrder(attempt.agent_id, attempt.agent_name, place, "command", ("true",), Path(), "base", "b")


class BrokenOrders(BareOrders):
    def order(self, batch: Batch, attempt: Attempt) -> AgentOrder:
        raise ZeroDivisionError


class Cloud:
    """What launches come to, when the core asks for them."""

    def __init__(self, folder: Path, jobs: int, orders: Orders | None = None) -> None:
        self.world = World(CLOUD).submit(tests=jobs, profile=Profile(pools=("cloud",), retries=0))
        self.agents = SlowAgents(folder)
        unused: Any = None
        self.performer = Performer(
            agents=self.agents,
            orders=orders or BareOrders(),
            collector=unused,
            judge=unused,
            integrator=unused,
            reviser=unused,
            logs=unused,
            clearing=unused,
            tell=unused,
            clock=lambda: self.world.now,
            state=lambda: self.world.state,
        )

    @property
    def remembered(self) -> set[str]:
        """Hosts that the performer still knows of."""
        return {host for _, host in self.performer._hosts}

    async def launch(self) -> None:
        effects = self.world.pending(Launch)
        doing = [self.performer.doing(self.world.state, effect) for effect in effects]
        answers = await asyncio.gather(*(each() for each in doing if each is not None))
        for effect, answer in zip(effects, answers, strict=True):
            assert answer is not None
            self.world.answer(effect, answer)

    def live(self) -> list[Attempt]:
        return [attempt for attempt in self.world.state.attempts.values() if attempt.stage is Stage.LIVE]


async def test_the_first_agent_makes_the_host_and_the_others_wait_for_it(tmp_path: Path) -> None:
    cloud = Cloud(tmp_path, jobs=4)
    launching = asyncio.create_task(cloud.launch())
    await until("both hosts are asked for", lambda: len(cloud.agents.asked) == 2)
    assert all(place.new_host for place in cloud.agents.asked)

    cloud.agents.gate.set()
    await launching

    assert len(cloud.live()) == 4
    assert Counter(attempt.host for attempt in cloud.live()) == {"sv-b-1-1-host": 2, "sv-b-3-1-host": 2}
    assert [place.new_host for place in cloud.agents.asked] == [True, True, False, False]
    assert not cloud.remembered


async def test_a_host_that_cannot_be_made_costs_nobody_a_retry(tmp_path: Path) -> None:
    """Who waited for it is not even asked of mngr; both go again, on a host with the name of the new attempt."""
    cloud = Cloud(tmp_path, jobs=2)
    cloud.agents.gate.set()
    cloud.agents.fail_next("create", "timeout")
    await cloud.launch()
    assert [(e.reason, e.job) for e in cloud.world.told(ev.LaunchFailed)] == [("timeout", 1), ("provider", 2)]
    assert len(cloud.agents.asked) == 1

    assert cloud.remembered == {"sv-b-1-1-host"}
    cloud.world.do(Release).wait(60)
    await cloud.launch()

    assert not cloud.remembered

    assert not [event for event in cloud.world.told(ev.JobRequeued) if event.counts]
    assert {(attempt.key.attempt, attempt.host) for attempt in cloud.live()} == {(2, "sv-b-2-2-host")}
    assert len(cloud.live()) == 2


async def test_a_host_that_is_refused_for_its_rate_slows_the_next_ones_once(tmp_path: Path) -> None:
    """Who waited for it hears the same. The pool does not rest: its provider is asked less often."""
    cloud = Cloud(tmp_path, jobs=2)
    cloud.agents.gate.set()
    cloud.agents.fail_next("create", "rate")
    await cloud.launch()
    assert [(e.reason, e.job) for e in cloud.world.told(ev.LaunchFailed)] == [("rate", 1), ("rate", 2)]
    assert [event.rate for event in cloud.world.told(ev.LaunchRateChanged)] == [2.0]
    assert not cloud.world.pool("cloud").resting

    cloud.world.do(Release).wait(1)
    await cloud.launch()
    assert len(cloud.live()) == 2
    assert not [event for event in cloud.world.told(ev.JobRequeued) if event.counts]


async def test_a_new_host_is_made_as_its_pool_says(tmp_path: Path) -> None:
    spec = PoolSpec("cloud", "modal", 4, agents_per_host=2, build_args=("--timeout=7200", "--cpu=2"))
    cloud = Cloud(tmp_path, jobs=1)
    cloud.world.happens(ev.PoolsConfigured(cloud.world.now, (spec,)))
    cloud.agents.gate.set()
    await cloud.launch()
    [order] = cloud.agents.orders.values()
    assert order.build_args == spec.build_args
    with create_argv(order, DIALECTS[-1], tmp_path) as argv:
        made = argv[argv.index("--new-host") :]
    assert made[:7] == [
        *("--new-host", "--idle-timeout", "86400"),
        *("--build-arg", "--timeout=7200", "--build-arg", "--cpu=2"),
    ]


async def test_a_host_whose_making_ends_in_a_bug_is_waited_for_by_nobody(tmp_path: Path) -> None:
    cloud = Cloud(tmp_path, jobs=2, orders=BrokenOrders())
    effects = cloud.world.pending(Launch)
    first, second = [cloud.performer.doing(cloud.world.state, effect) for effect in effects]
    assert first is not None
    assert second is not None
    with pytest.raises(ZeroDivisionError):
        await first()
    told = await second()
    assert isinstance(told, ev.LaunchFailed)
    assert told.reason == "provider"


async def test_an_agent_joins_a_host_that_was_made_before(tmp_path: Path) -> None:
    cloud = Cloud(tmp_path, jobs=1)
    cloud.agents.gate.set()
    await cloud.launch()
    cloud.world.submit("c", 1, profile=Profile(pools=("cloud",)))
    await cloud.launch()

    assert {attempt.host for attempt in cloud.live()} == {"sv-b-1-1-host"}
    assert [place.new_host for place in cloud.agents.asked] == [True, False]
