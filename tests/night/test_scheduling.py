"""A schedule submits a batch at its time, as a person would, and says why when it does not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, time
from pathlib import Path

import pytest

from supervisor.adapters.submitting import submit
from supervisor.daemon.scheduling import Scheduling
from supervisor.errors import DeviceFailed
from supervisor.flow.schedules import LONGEST_WAIT_SECONDS
from supervisor.model.event import ScheduleStarted
from supervisor.model.schedule import Run, Schedule
from supervisor.tasks import beside
from tests.cli.running import ctl
from tests.control.served import Served, served
from tests.waiting import until

DAY, EACH_DAY = 86_400.0, frozenset(range(7))


class Night:
    """A clock that is set by hand, and one schedule: each day at noon UTC."""

    def __init__(self, api: Served) -> None:
        self.api = api
        self.now = datetime(2026, 1, 5, tzinfo=UTC).timestamp()
        self.schedule = Schedule("night", str(api.repo), "default", ("tests",), (time(12),), EACH_DAY, "UTC")
        #: the pull request that is open; "": none
        self.open = ""
        self.fails = False
        self.submitted = 0

    async def submit(self, schedule: Schedule) -> str:
        self.submitted += 1
        if self.fails:
            raise DeviceFailed("the checkout has uncommitted work", hint="")
        return await submit(schedule, self.api.socket)

    async def pull_request(self, schedule: Schedule) -> str:
        return self.open

    async def left_behind(self, schedule: Schedule, since: float) -> str:
        return next((batch.id for batch in self.api.loop.state.batches.values()), "")

    def scheduling(self) -> Scheduling:
        return Scheduling(
            state=lambda: self.api.loop.state,
            tell=self.api.loop.inbox.tell,
            clock=lambda: self.now,
            schedules=lambda: (self.schedule,),
            submit=self.submit,
            submitted=self.left_behind,
            pull_request=self.pull_request,
        )

    @property
    def run(self) -> Run:
        return self.api.loop.state.schedules["night"]


@asynccontextmanager
async def night(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Night]:
    monkeypatch.setattr("supervisor.daemon.scheduling.LOOK_SECONDS", 0.02)
    monkeypatch.setattr("supervisor.daemon.scheduling.AGAIN_SECONDS", 0.0)
    async with served(home) as api:
        found = Night(api)
        object.__setattr__(api.desk, "schedules", lambda: (found.schedule,))
        async with beside() as tasks:
            tasks.start_soon(found.scheduling().run)
            await until("it is known", lambda: "night" in api.loop.state.schedules)
            yield found


async def test_its_batch_is_submitted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with night(tmp_path, monkeypatch) as found:
        found.now += DAY / 2
        await until("it is submitted", lambda: found.run.batch, timeout=60)
        [batch] = found.api.loop.state.batches.values()
        assert (batch.id, len(batch.tests)) == (found.run.batch, 2)
        shown = (await ctl(tmp_path, "schedules")).out
        assert "night" in shown
        assert batch.id in shown
        found.now += 60
        assert found.submitted == 1


async def test_it_waits_for_the_batch_before_it_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with night(tmp_path, monkeypatch) as found:
        batch = await found.api.submit("tests/test_it.py::test_one")
        found.now += DAY / 2
        await until("it waits", lambda: found.run.held)
        assert f"waits: batch {batch} of profile default is not over" in (await ctl(tmp_path, "schedules")).out
        await found.api.finish(batch)
        await until("it is submitted", lambda: found.run.batch, timeout=60)
        assert found.run.held == ""


async def test_it_waits_for_a_review_but_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with night(tmp_path, monkeypatch) as found:
        found.open = "https://github.example/ann/shop/pull/7"
        found.now += DAY / 2
        await until("it waits", lambda: "pull/7 of profile default is open" in found.run.held)
        found.now += LONGEST_WAIT_SECONDS + 1
        await until("it is left out", lambda: found.run.problem)
        assert found.submitted == 0
        assert "not submitted: the pull request" in (await ctl(tmp_path, "schedules")).out
        found.open = ""
        found.now += DAY
        await until("the next one is submitted", lambda: found.run.batch, timeout=60)


async def test_a_submission_that_fails_says_why_and_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with night(tmp_path, monkeypatch) as found:
        found.fails = True
        found.now += DAY / 2
        await until("it has failed", lambda: found.run.problem == "the checkout has uncommitted work")
        found.now += 3600
        assert found.submitted == 1


async def test_a_batch_that_the_last_daemon_submitted_is_not_submitted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with night(tmp_path, monkeypatch) as found:
        batch = await found.api.submit("tests/test_it.py::test_one")
        noon = found.now + DAY / 2
        found.api.loop.inbox.tell(ScheduleStarted(noon, "night", noon))
        await until("it is found", lambda: found.run.batch == batch)
        assert found.submitted == 0


async def test_what_the_command_says_is_the_reason(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        (api.repo / "tests" / "test_it.py").write_text("changed\n")
        schedule = Schedule("night", str(api.repo), "default", ("tests",), (), frozenset(), "UTC")
        with pytest.raises(DeviceFailed, match="has uncommitted work"):
            await submit(schedule, api.socket)
        gone = Schedule("night", str(tmp_path / "gone"), "default", (), (), frozenset(), "UTC")
        with pytest.raises(DeviceFailed, match="No such file"):
            await submit(gone, api.socket)


async def test_a_module_of_the_repository_is_not_taken_for_ours(tmp_path: Path) -> None:
    async with served(tmp_path) as api:
        (api.repo / "supervisor.py").write_text("raise SystemExit('taken over')\n")
        (api.repo / "typer.py").write_text("raise SystemExit('taken over')\n")
        with pytest.raises(DeviceFailed, match="has uncommitted work"):
            await submit(Schedule("n", str(api.repo), "default", (), (), frozenset(), "UTC"), api.socket)


async def test_what_the_last_batch_had_no_agent_for_comes_first(tmp_path: Path) -> None:
    async with served(tmp_path, slots=1) as api:
        tests = [f"tests/test_it.py::test_{n}" for n in "abcde"]
        first = await api.submit(*tests)
        await until("one works", lambda: api.loop.state.batches[first].busy == 1)
        await ctl(tmp_path, "cancel", first)
        await until("it is sealed", lambda: first not in api.loop.state.batches)
        second = await api.submit(*tests, carry_over=True)
        assert [test[-1] for test in api.loop.state.batches[second].tests] == list("bcdea")
        await ctl(tmp_path, "cancel", second)
        await until("it is sealed", lambda: second not in api.loop.state.batches)
        third = await api.submit(*tests, cases=[1, 2, 3, 4, 5], carry_over=True)
        batch = api.loop.state.batches[third]
        assert [test[-1] for test in batch.tests] == list("cdeab"), "the oldest first"
        assert batch.cases == (3, 4, 5, 1, 2)
