"""Hosts that tell what is new there: on the device in memory, and the real mngr's ssh provider."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from supervisor.daemon.watch import Rhythm, Watch
from supervisor.errors import DeviceFailed
from supervisor.model import event as ev
from supervisor.model.attempt import Attempt
from supervisor.ports import Picture, Sign
from tests.daemon.sandbox import running
from tests.remote.test_looking import HalfDead, Site
from tests.remote.test_remote import PATIENCE_SECONDS, far, outcomes
from tests.waiting import until

NOTHING: frozenset[Sign] = frozenset()


class Telling(HalfDead):
    """A collector whose hosts say what the test sets, or don't answer."""

    def __init__(self, site: Site) -> None:
        super().__init__("nobody")
        self._site, self._changed = site, asyncio.Condition()
        self._numbers = {"left": 1, "right": 1}
        self.signs: dict[str, frozenset[Sign]] = {attempt.agent_id: NOTHING for attempt in site.live}
        self.silent: set[str] = set()

    async def published(self, attempts: Sequence[Attempt]) -> set[tuple[str, int, int]]:  # type: ignore[override]
        return set()

    async def say(self, signs: Mapping[str, frozenset[Sign]], *, silent: Sequence[str] = ()) -> None:
        async with self._changed:
            self.signs |= signs
            self.silent = set(silent)
            self._numbers = {host: number + 1 for host, number in self._numbers.items()}
            self._changed.notify_all()

    async def news(self, attempts: Sequence[Attempt], last: Picture) -> Picture:
        host = attempts[0].host
        async with self._changed:
            await self._changed.wait_for(lambda: host in self.silent or last.sum != self._sum(host))
        if host in self.silent:
            raise DeviceFailed("it does not answer")
        return Picture(self._sum(host), dict(self.signs))

    def _sum(self, host: str) -> str:
        return f"{self._numbers[host]} 0"


@asynccontextmanager
async def watched(site: Site, collector: Telling, *, listing: float = 600.0) -> AsyncIterator[Watch]:
    site.rhythm = Rhythm(listing=listing, listing_at_most=0.01)
    watch = site.watch(collector)
    tasks = [asyncio.create_task(each()) for each in (watch.listings, watch.hosts.run)]
    try:
        await until("all hosts answer", lambda: watch.hosts.answer_for("pool"))
        yield watch
    finally:
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_what_is_published_is_told_without_a_listing(tmp_path: Path) -> None:
    site = Site(tmp_path)
    await site.launch()
    collector = Telling(site)
    async with watched(site, collector):
        await until("the first listing", lambda: site.agents.calls.count("list") == 1)
        await collector.say({site.live[1].agent_id: frozenset({"published"})})
        await until("it is told", lambda: site.of(ev.WorkPublished) == [2])

        assert site.agents.calls.count("list") == 1
        assert not site.of(ev.AgentVanished)


@pytest.mark.parametrize("is_gone", [True, False])
async def test_who_is_said_to_be_gone_is_judged_by_a_listing(tmp_path: Path, is_gone: bool) -> None:
    """A host, and so any agent there, may say what it likes: mngr is asked, once, and only its word counts."""
    site = Site(tmp_path)
    await site.launch()
    collector, lost = Telling(site), site.live[0].agent_id
    async with watched(site, collector):
        await until("the first listing", lambda: site.agents.calls.count("list") == 1)
        if is_gone:
            site.agents.change(lost, "done")
        await collector.say({lost: frozenset({"gone"})})
        await until("mngr is asked", lambda: site.agents.calls.count("list") == 2)
        await collector.say({site.live[1].agent_id: frozenset({"published"})})
        await until("and goes on", lambda: site.of(ev.WorkPublished) == [2])

        assert site.agents.calls.count("list") == 2
        assert site.of(ev.AgentVanished) == ([1] if is_gone else [])


async def test_a_host_that_falls_silent_is_listed_as_often_as_ever(tmp_path: Path) -> None:
    site = Site(tmp_path)
    await site.launch()
    collector = Telling(site)
    async with watched(site, collector, listing=0.2) as watch:
        await collector.say({}, silent=["left"])
        await until("nobody answers for it", lambda: not watch.hosts.answer_for("pool"))
        listed = site.agents.calls.count("list")
        await until("it is listed again and again", lambda: site.agents.calls.count("list") > listed + 3)
        await collector.say({site.live[1].agent_id: frozenset({"published"})}, silent=["left"])

        await until("the other one is still heard", lambda: site.of(ev.WorkPublished) == [2])


@pytest.mark.real
@pytest.mark.timeout(400)
async def test_work_of_real_hosts_comes_home_between_two_listings(tmp_path: Path) -> None:
    """mngr would be asked for the list again only when this test is over."""
    mngr = {"list_seconds": 600, "observe": "never"}
    async with far(tmp_path, jobs=2, mngr=mngr, WORK_SECONDS="8") as (made, _), running(made) as here:
        await here.submit()
        await here.finished(timeout=PATIENCE_SECONDS)

        assert outcomes(here) == ["improved"] * 2
