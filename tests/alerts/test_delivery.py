"""Each receiver is told of each alert and of its end, in their order, whatever fails and whoever restarts."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio.lowlevel import checkpoint

from supervisor.adapters.alerts import delivery as delivering
from supervisor.adapters.alerts.delivery import STALE_SECONDS, Delivery, Receiver, Undelivered
from supervisor.adapters.alerts.webhook import Webhook
from supervisor.adapters.memory_journal import MemoryJournal
from supervisor.model.event import AlertRaised, AlertResolved, Event, JobReady
from supervisor.model.state import State
from supervisor.observe.stream import Stream
from supervisor.tasks import beside
from tests.alerts.listening import Listener, listening
from tests.waiting import until


class Wire:
    """A journal that is followed, and what is written to it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.journal = folder, MemoryJournal()
        self.stream = Stream(self.journal, checkpoint)

    async def writes(self, *events: Event) -> None:
        await self.journal.append(events)
        self.stream.notify(State(installation="x"), events)

    def delivery(self, receiver: Receiver) -> Delivery:
        return Delivery(receiver, self.journal, self.stream, self.folder, time.time)

    @asynccontextmanager
    async def running(self, receiver: Receiver) -> AsyncIterator[Delivery]:
        delivery = self.delivery(receiver)
        async with beside() as tasks:
            tasks.start_soon(delivery.run)
            await until("it follows", lambda: (self.folder / f"{receiver.name}.json").exists())
            yield delivery


def raised(alert: str = "paused", *, at: float = 0, kind: str = "paused") -> AlertRaised:
    return AlertRaised(at or time.time(), alert, kind, "", f"{alert} holds")


def resolved(alert: str = "paused") -> AlertResolved:
    return AlertResolved(time.time(), alert, "paused", "", f"{alert} holds", why="it is not so any more")


def hook(listener: Listener, **more: object) -> Webhook:
    return Webhook("team", lambda: listener.url, **more)  # type: ignore[arg-type]


@pytest.fixture
def wire(tmp_path: Path) -> Wire:
    return Wire(tmp_path / "alerts")


async def heard(listener: Listener, count: int) -> None:
    await until(f"{count} requests came", lambda: len(listener.heard) >= count)


async def test_an_alert_and_its_end_are_told_in_their_order(wire: Wire) -> None:
    with listening() as listener:
        async with wire.running(hook(listener)) as delivery:
            await wire.writes(raised(), JobReady(0, "b", 1), resolved())
            await heard(listener, 2)
            await until("both are counted", lambda: delivery.told.delivered == 2)
    assert listener.texts == ["paused holds", "Over: paused holds (it is not so any more)"]
    assert [each.json["type"] for each in listener.heard] == ["alert.raised", "alert.resolved"]
    assert listener.heard[0].json["alert"]["id"] == listener.heard[1].json["alert"]["id"] == "paused"


async def test_a_restart_repeats_nothing_and_forgets_nothing(wire: Wire) -> None:
    with listening() as listener:
        async with wire.running(hook(listener)) as delivery:
            await wire.writes(raised("one"))
            await heard(listener, 1)
            await until("it is noted", lambda: '{"seq": 1}' in (wire.folder / "team.json").read_text())
            assert delivery.told.delivered == 1
        await wire.writes(raised("two"))
        async with wire.running(hook(listener)):
            await heard(listener, 2)
    assert listener.texts == ["one holds", "two holds"]


async def test_a_new_receiver_is_told_of_what_happens_from_now_on(wire: Wire) -> None:
    await wire.writes(raised("old"))
    with listening() as listener:
        async with wire.running(hook(listener)):
            await wire.writes(raised("new"))
            await heard(listener, 1)
    assert listener.texts == ["new holds"]


async def test_what_fails_is_tried_again_with_the_same_id(wire: Wire) -> None:
    with listening() as listener:
        listener.answer(500, 429)
        async with wire.running(hook(listener)) as delivery:
            await wire.writes(raised())
            await until("it is told what is wrong", lambda: delivery.told.problem)
            await heard(listener, 3)
            await until("nothing is wrong any more", lambda: not delivery.told.problem)
    assert len({each.headers["webhook-id"] for each in listener.heard}) == 1


async def test_what_is_never_taken_is_given_up_and_the_next_one_has_its_turn(wire: Wire) -> None:
    with listening() as listener:
        listener.answer(400)
        async with wire.running(hook(listener)) as delivery:
            await wire.writes(raised("one"), raised("two"))
            await heard(listener, 2)
            await until("it is counted", lambda: delivery.told.delivered)
    assert (delivery.told.given_up, delivery.told.problem) == (1, "")
    assert listener.texts == ["one holds", "two holds"]


async def test_a_receiver_that_is_dead_holds_up_no_other(wire: Wire) -> None:
    with listening() as dead, listening() as listener:
        dead.answer(0)
        slow = Webhook("slow", lambda: dead.url)
        async with wire.running(slow), wire.running(hook(listener)):
            await wire.writes(raised())
            await heard(dead, 1)
            await heard(listener, 1)


async def test_only_the_kinds_that_it_wants(wire: Wire) -> None:
    with listening() as listener:
        async with wire.running(hook(listener, only=("budget",))):
            await wire.writes(raised("one"), raised("two", kind="budget"))
            await heard(listener, 1)
    assert listener.texts == ["two holds"]


async def test_what_is_stale_wakes_nobody(wire: Wire) -> None:
    with listening() as listener:
        async with wire.running(hook(listener)):
            await wire.writes(raised("old", at=time.time() - STALE_SECONDS - 1), raised("new"))
            await heard(listener, 1)
    assert listener.texts == ["new holds"]


async def test_secrets_are_masked(wire: Wire) -> None:
    with listening() as listener:
        delivery = wire.delivery(hook(listener))
        delivery.masked = lambda text: text.replace("hunter2", "***")
        async with beside() as tasks:
            tasks.start_soon(delivery.run)
            await until("it follows", lambda: (wire.folder / "team.json").exists())
            await wire.writes(AlertRaised(time.time(), "x", "stopped", "b", "the login hunter2 is refused"))
            await heard(listener, 1)
    assert b"hunter2" not in listener.heard[0].body
    assert listener.texts == ["the login *** is refused"]


async def test_one_that_fails_for_hours_is_given_up(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    class Down:
        name, tries = "down", 0
        only: tuple[str, ...] = ()

        async def deliver(self, notice_id: str, content: dict[str, object]) -> None:
            self.tries += 1
            raise Undelivered("it is down")

    monkeypatch.setattr(delivering, "GIVE_UP_SECONDS", 0.0)
    monkeypatch.setattr(delivering, "FIRST_RETRY_SECONDS", 0.001)
    down = Down()
    async with wire.running(down) as delivery:
        await wire.writes(raised("one"), raised("two"))
        await until("both are given up", lambda: delivery.told.given_up == 2)
    assert down.tries >= 2
