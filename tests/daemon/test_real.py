"""The life of jobs on the real mngr, tmux and git."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from supervisor.errors import Locked
from supervisor.model import event as ev
from supervisor.model.request import Cancel
from tests.daemon.sandbox import box, running
from tests.lives import Life, lives
from tests.waiting import until

pytestmark = pytest.mark.real


async def test_a_batch_runs_to_its_end(tmp_path: Path) -> None:
    """Submitted, launched, published, collected, released, sealed; the work is under refs of the daemon's own."""
    async with box(tmp_path, jobs=3, slots=2) as made, running(made) as here:
        await here.submit()
        await here.finished()

        assert [event.outcome for event in here.of(ev.JobEnded)] == ["improved"] * 3
        assert len(here.of(ev.AgentReleased)) == 3
        assert len(here.of(ev.IntegrationStarted)) == 1
        assert all(event.commits == 1 and event.head for event in here.of(ev.WorkCollected))
        assert await here.devices.journal.sealed_batch("batch") is not None


async def test_a_killed_agent_is_missed_and_its_job_goes_again(tmp_path: Path) -> None:
    """Its uncommitted work is rescued, and the next attempt does the job."""
    async with box(tmp_path, jobs=1, profile={"env": {"DIES": "1"}}) as made, running(made) as here:
        await here.submit()
        await here.finished()

        [rescued] = here.of(ev.WorkRescued)
        assert (rescued.attempt, rescued.commits) == (1, 2)
        [ended] = here.of(ev.JobEnded)
        assert ended.outcome == "improved"
        [collected] = here.of(ev.WorkCollected)
        assert collected.attempt == 2


async def test_an_agent_that_exits_at_once_is_missed(tmp_path: Path) -> None:
    """A program that does not even start uses up the retries, and the job is lost."""
    profile = {"command": ["/bin/false"], "retries": 1}
    async with box(tmp_path, jobs=1, profile=profile) as made, running(made) as here:
        await here.submit()
        await here.finished()

        assert len(here.of(ev.AgentVanished)) == 2
        assert [event.outcome for event in here.of(ev.JobEnded)] == ["lost"]


async def test_a_restart_touches_no_agent(tmp_path: Path) -> None:
    """A daemon that stops detaches; the next one finds its agents alive and collects what they publish."""
    async with box(tmp_path, jobs=3, profile={"env": {"WORK_SECONDS": "6"}}) as made:
        async with running(made) as here:
            await here.submit()
            await until("all are live", lambda: len(here.live()) == 3)
            await until("all work", lambda: len(lives(made.lives)) == 3)
        before = lives(made.lives)
        assert all(map(Life.is_alive, before))

        async with running(made) as again:
            assert len(again.live()) == 3
            await again.finished()

            assert [event.outcome for event in again.of(ev.JobEnded)] == ["improved"] * 3
            assert lives(made.lives) == before


async def test_work_published_while_no_daemon_ran_is_collected(tmp_path: Path) -> None:
    async with box(tmp_path, jobs=1, profile={"env": {"WORK_SECONDS": "1"}}) as made:
        async with running(made) as here:
            await here.submit()
            await until("it is live", here.live)
            [attempt] = here.live()
            published = here.devices.agents.state_dir(attempt.agent_id) / "supervisor" / "published.tar"
        await until("it has published", published.exists)

        async with running(made) as again:
            await again.finished()

            assert [event.outcome for event in again.of(ev.JobEnded)] == ["improved"]


async def test_a_second_daemon_refuses_to_start(tmp_path: Path) -> None:
    async with box(tmp_path) as made, running(made):
        with pytest.raises(Locked):
            async with running(made):
                pass


async def test_the_tmux_server_killed_under_its_agents(tmp_path: Path) -> None:
    """All agents die at once: what they had is rescued, and every job goes again."""
    async with box(tmp_path, jobs=4, profile={"env": {"WORK_SECONDS": "4"}}) as made, running(made) as here:
        await here.submit()
        await until("all work", lambda: len(lives(made.lives)) == 4)

        await asyncio.to_thread(made.tmux.end)
        await here.finished()

        assert len(here.of(ev.AgentVanished)) == 4
        assert [event.outcome for event in here.of(ev.JobEnded)] == ["improved"] * 4


async def test_a_cancelled_job_is_rescued_first(tmp_path: Path) -> None:
    async with box(tmp_path, jobs=1, profile={"env": {"WORK_SECONDS": "60"}}) as made, running(made) as here:
        await here.submit()
        await until("it works", lambda: lives(made.lives))

        await here.daemon.loop.inbox.ask(Cancel("batch", author="somebody"))
        await here.finished()

        assert len(here.of(ev.WorkRescued)) == 1
        assert [event.outcome for event in here.of(ev.JobEnded)] == ["cancelled"]
        [life] = lives(made.lives)
        await until("its agent is gone", lambda: not life.is_alive())


async def test_time_runs_out(tmp_path: Path) -> None:
    profile = {"env": {"WORK_SECONDS": "60"}, "job_timeout_seconds": 2}
    async with box(tmp_path, jobs=1, profile=profile) as made, running(made) as here:
        await here.submit()
        await here.finished()

        assert [event.outcome for event in here.of(ev.JobEnded)] == ["timed-out"]


async def test_a_stopped_agent_process_is_not_gone(tmp_path: Path) -> None:
    """An agent that is merely slow is left alone."""
    async with box(tmp_path, jobs=1, profile={"env": {"WORK_SECONDS": "1"}}) as made, running(made) as here:
        await here.submit()
        await until("it works", lambda: lives(made.lives))
        [life] = lives(made.lives)
        os.kill(life.pid, signal.SIGSTOP)
        here.daemon.watch.suspect("local")
        await asyncio.sleep(0)
        os.kill(life.pid, signal.SIGCONT)
        await here.finished()

        assert not here.of(ev.AgentVanished)
