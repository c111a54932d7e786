"""`supervisorctl top`, driven by keys in a real tmux, from 80x24 to 200x60."""

from pathlib import Path

import pytest

from supervisor.cli.top import sights
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey
from supervisor.model.job import JobState
from tests.cli.running import ctl
from tests.cli.screens import top
from tests.control.served import Served, served
from tests.control.test_logs import writes
from tests.waiting import until

TESTS = ("tests/test_it.py::test_one", "tests/test_it.py::test_two[a b]", "tests/test_it.py::test_two[c]")
SIZES = [(80, 24), (200, 60)]


async def at_work(api: Served, slots: int = 2) -> str:
    batch = await api.submit(*TESTS, batch="k3f9x")
    await until("agents work", lambda: api.loop.state.batches[batch].count(JobState.RUNNING) == slots)
    return batch


@pytest.mark.parametrize(("columns", "lines"), SIZES)
async def test_it_shows_slots_batches_and_jobs(tmp_path: Path, columns: int, lines: int) -> None:
    async with served(tmp_path, slots=2) as api:
        await at_work(api)
        async with top(tmp_path, api.socket, columns=columns, lines=lines) as screen:
            text = await screen.shows("slots local 2/2", "k3f9x.1", "k3f9x.2", "running", "0/3", "w why", "q quit")
            assert "k3f9x.3" not in text, "it waits, so nobody is at work on it"
            assert all(len(line) <= columns for line in text.splitlines())


async def test_it_says_why(tmp_path: Path) -> None:
    async with served(tmp_path, slots=2) as api:
        await at_work(api)
        async with top(tmp_path, api.socket) as screen:
            await screen.shows("k3f9x.1")
            await screen.press("w")
            await screen.shows("k3f9x.1 is at work.", "Its agent sv-k3f9x-1-1 works in the pool local")
            await screen.press("Escape")
            await screen.hides("is at work.")


async def test_it_steers(tmp_path: Path) -> None:
    async with served(tmp_path, slots=2) as api:
        batch = await at_work(api)
        async with top(tmp_path, api.socket) as screen:
            await screen.shows("k3f9x.1")
            await screen.press("p")
            await screen.shows("k3f9x is paused")
            assert api.loop.state.batches[batch].paused
            await screen.press("p")
            await screen.shows("k3f9x is resumed")
            await screen.press("s")
            await screen.shows("pool and its number of slots")
            await screen.press("BSpace")
            await screen.shows("▊ local ▎")
            await screen.press("3")
            await screen.shows("local 3")
            await screen.press("Enter")
            await screen.shows("local has 3 slots", "k3f9x.3")
            assert api.loop.state.pools["local"].slots == 3
            await screen.press("c")
            await screen.shows("cancel k3f9x.1?")
            await screen.press("n", "Enter")
            await screen.hides("cancel k3f9x.1?")
            assert api.loop.state.batches[batch].job(1).state is JobState.RUNNING
            await screen.press("c")
            await screen.shows("cancel k3f9x.1?")
            await screen.press("y", "Enter")
            await screen.shows("k3f9x.1 is cancelled")
            await until("it is cancelled", lambda: api.loop.state.batches[batch].job(1).state is JobState.CANCELLED)
            await screen.press("e")
            await screen.shows("the jobs that ended last", "k3f9x.1 cancelled")
            await screen.press("r")
            await screen.shows("retrying k3f9x.1")
            await until("it is tried again", lambda: api.loop.state.batches[batch].job(1).attempts == 2)
            await screen.press("q")
            await until("it has ended", screen.has_ended)


async def test_without_a_batch_it_pauses_the_queue(tmp_path: Path) -> None:
    async with served(tmp_path) as api, top(tmp_path, api.socket) as screen:
        await screen.shows("slots local 0/4")
        await screen.press("p")
        await screen.shows("PAUSED", "the queue is paused: agents at work go on")
        await screen.press("p")
        await screen.shows("the queue is resumed")
        assert not api.loop.state.paused


async def test_it_filters_and_follows_a_log(tmp_path: Path) -> None:
    async with served(tmp_path, slots=3) as api:
        await at_work(api, 3)
        async with top(tmp_path, api.socket) as screen:
            await screen.shows("k3f9x.3")
            await screen.press("/")
            await screen.shows("show only rows with these words")
            await screen.press("t", "e", "s", "t", "_", "o", "n", "e", "Enter")
            await screen.hides("k3f9x.3")
            await screen.press("l")
            await screen.shows("─k3f9x.1─")
            writes(
                api, tmp_path, api.loop.state.attempts[AttemptKey("k3f9x", 1, 1)], "hello \x1b[2J[red]from the agent"
            )
            await screen.shows("[red]from the agent")
            await screen.press("Escape")
            await screen.hides("─k3f9x.1─")
            await screen.press("/")
            await screen.shows("show only rows with these words")
            await screen.press("C-u", "Enter")
            await screen.shows("k3f9x.3")


async def test_an_agent_that_asks_is_seen(tmp_path: Path) -> None:
    async with served(tmp_path, slots=2) as api:
        batch = await at_work(api)
        api.loop.inbox.tell(ev.JobParked(api.desk.clock(), batch, 1, 1, question="[red]May I\x1b[2J?"))
        async with top(tmp_path, api.socket) as screen:
            await screen.shows("parked", "asks", "! 1 for your attention")
            await screen.press("w")
            await screen.shows("asks for permission: [red]May I [2J?")


async def test_without_a_terminal_it_says_what_to_use(tmp_path: Path) -> None:
    (await ctl(tmp_path, "top")).refused(4, "top needs a terminal")


def test_rows_have_words_for_everything() -> None:
    row = {"id": "b.1", "state": "running", "outcome": None, "health": "quiet 5 min", "attempts": 2, "pool": "local"}
    row |= {"since": "2025-01-15T12:00:00Z", "tokens": 123_456, "test": "tests/t.py::test\x1b[31m"}
    found = sights.jobs([row], "2025-01-15T12:05:00Z", "QUIET local")
    assert found == {
        "b.1": ("b.1", "running (2)", "quiet 5 min", "5 min 00 s", "123 k", "local", "tests/t.py::test�[31m")
    }
    assert sights.jobs([row], "2025-01-15T12:05:00Z", "modal") == {}
    assert [sights.tokens(each) for each in (0, 9_999, 12_345, 3_400_000)] == ["0", "9999", "12 k", "3.4 M"]
