"""`digest` and the feed, as a person and a reader get them."""

from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer

from supervisor.cli.digesting import began
from supervisor.control.client import Client
from supervisor.model import event as ev
from supervisor.model.job import JobState
from tests.cli.running import ctl
from tests.control.served import Served, served
from tests.observe.atom import ATOM, checked
from tests.waiting import until

TESTS = ("tests/test_it.py::test_one", "tests/test_it.py::test_two[c]")


async def over(api: Served, batch: str) -> None:
    await api.submit(*TESTS, batch=batch)
    await until("it is sealed", lambda: batch not in api.loop.state.batches)


def feed(client: Client) -> ElementTree.Element:
    return checked(client.text("/feed.atom").encode())


async def test_it_tells_what_a_time_brought(tmp_path: Path) -> None:
    async with served(tmp_path, otherwise="fixed") as api:
        await over(api, "k3f9x")
        at = api.desk.clock()
        api.loop.inbox.tell(ev.AlertRaised(at, "a1", "paused", "", "The queue\x1b[31m waits."))
        await api.call(lambda client: client.post("/v1/pause", {}))
        await api.call(lambda client: client.post("/v1/resume"))
        ran = await ctl(tmp_path, "digest")
        assert "k3f9x  finished" in ran.out
        assert "2 fixed" in ran.out
        assert "branch      supervisor/k3f9x" in ran.out
        assert "Review the branch supervisor/k3f9x" in ran.out
        assert "The queue�[31m waits.; it still holds" in ran.out
        told = (await ctl(tmp_path, "digest", "--json", "--since", "2h")).json
        assert [each["id"] for each in told["finished"]] == ["k3f9x"]
        assert [each["reason"] for each in told["lost"]] == ["paused by a person"]


async def test_what_was_before_the_time_is_left_out(tmp_path: Path) -> None:
    async with served(tmp_path, otherwise="fixed") as api:
        await over(api, "k3f9x")
        later = api.desk.clock() + 1
        told = await api.call(lambda client: client.get("/v1/digest", since=later))
        assert (told["finished"], told["lost"]) == ([], [])


async def test_an_agent_that_waits_for_a_person_is_named(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        await api.submit(*TESTS, batch="k3f9x")
        await until("both are at work", lambda: api.loop.state.batches["k3f9x"].count(JobState.RUNNING) == 2)
        key = next(iter(api.loop.state.attempts))
        api.loop.inbox.tell(ev.JobParked(api.desk.clock(), *key, question="May I <b>delete</b> it?"))
        await until("it is parked", lambda: api.loop.state.batches["k3f9x"].count(JobState.PARKED))
        ran = await ctl(tmp_path, "digest")
        assert "May I <b>delete</b> it?" in ran.out
        assert "k3f9x  running, 0 of 2 jobs over" in ran.out
        [entry] = (await api.call(feed)).findall(f"{ATOM}entry")
        assert entry.findtext(f"{ATOM}title") == f"An agent waits for you: job {key.batch}.{key.job}"
        assert "<b>delete</b>" in str(entry.findtext(f"{ATOM}content"))


async def test_the_feed_has_an_entry_for_each_batch_and_alert_with_ids_that_stay(tmp_path: Path) -> None:
    async with served(tmp_path, otherwise="fixed") as api:
        await over(api, "k3f9x")
        api.loop.inbox.tell(ev.AlertRaised(api.desk.clock(), "a1", "paused", "", "The queue waits."))
        await until("it holds", lambda: api.loop.state.alerts.open)
        first = await api.call(feed)
        titles = {entry.findtext(f"{ATOM}title") for entry in first.iter(f"{ATOM}entry")}
        assert titles == {"Batch k3f9x finished: 2 fixed", "The queue waits."}
        await over(api, "m4g2z")
        known = {each.text for each in first.iter(f"{ATOM}id")}
        assert known < {each.text for each in (await api.call(feed)).iter(f"{ATOM}id")}


def test_a_time_is_a_length_or_a_date() -> None:
    now = 1_000_000_000.0
    assert began("24h", now) == now - 86_400
    assert began("7d", now) == now - 7 * 86_400
    assert began("2001-09-01", now) == datetime(2001, 9, 1).astimezone().timestamp()
    assert began("2001-09-01T22:00+00:00", now) == 999_381_600.0
    for wrong in ("", "yesterday", "24", "2026-13-01"):
        with pytest.raises(typer.BadParameter):
            began(wrong, now)
