"""Agents that are refused, on the real mngr: one is woken, one is put away and its job goes on from what it left."""

from pathlib import Path
from typing import Any

import pytest

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey, ref_of
from tests.agent_clone import git
from tests.daemon.sandbox import Running, box, running

pytestmark = pytest.mark.real

#: the same as in the rehearsal agent's scenario `improve`
SAID = "# the promise: test 00000"
ACCOUNTS: dict[str, Any] = {"one": {}, "two": {}}


def rehearsing(scenario: str, *args: str) -> dict[str, Any]:
    agent = {"agent": "rehearsal", "command": [], "agent_args": ["--scenario", scenario, *args]}
    return {**agent, "accounts": list(ACCOUNTS), "stall_timeout_seconds": 8}


def published(here: Running, key: AttemptKey) -> str:
    """What it changed on the base of its batch."""
    bare = GitStore(here.box.folder / "state").bare(here.box.folder / "repo")
    return git(bare, "diff", f"refs/supervisor/{key.batch}/base", ref_of(key))


async def test_a_small_sleeper_is_woken_and_goes_on(tmp_path: Path) -> None:
    profile = rehearsing("refused", "--tokens", "1000", "--refused", "12")
    settings = {"accounts": ACCOUNTS}
    async with box(tmp_path, jobs=1, profile=profile, settings=settings) as made, running(made) as here:
        await here.submit()
        await here.finished()

        [told] = here.of(ev.NudgeStarted)
        [opened] = here.of(ev.AccountOpened)
        assert told.reason == "again"
        assert told.at >= opened.at
        assert told.waking.context == 1100
        assert not told.waking.cold
        assert [event.outcome for event in here.of(ev.JobEnded)] == ["improved"]
        assert not here.of(ev.JobRequeued)


async def test_the_job_of_a_dear_one_starts_again_from_what_it_left(tmp_path: Path) -> None:
    """Its account is paused for two hours: the next agent is one of the other account."""
    settings, cheap = {"accounts": ACCOUNTS}, rehearsing("clean", "--tokens", "10")
    async with box(tmp_path, jobs=3, profile=cheap, settings=settings) as made, running(made) as here:
        await here.submit("cheap")
        await here.finished("cheap")
        made.jobs, made.profile = 1, rehearsing("refused", "--tokens", "100000")
        await here.submit("dear")
        await here.finished("dear")

        [declined] = here.of(ev.WakingDeclined)
        assert declined.waking.context == 110_000
        assert declined.waking.cold
        assert declined.waking.cost > 100 * declined.waking.instead
        assert "sends 110,000 tokens again" in declined.detail
        launches = [event for event in here.of(ev.LaunchStarted) if event.batch == "dear"]
        assert [(event.account, event.continues) for event in launches] == [("one", 0), ("two", 1)]
        assert [event.counts for event in here.of(ev.JobRequeued)] == [False]
        assert [event.outcome for event in here.of(ev.JobEnded)][-1] == "improved"
        [collected] = [event for event in here.of(ev.WorkCollected) if event.batch == "dear"]
        assert collected.commits == 1, "on the base of the batch"
        lines = published(here, AttemptKey("dear", 1, 2)).splitlines()
        assert len([line for line in lines if line.startswith("+") and SAID in line]) == 2, "the first's, and its own"
        prompt = Layout(tmp_path / "state").attempt(AttemptKey("dear", 1, 2)) / "prompt.md"
        assert "An earlier agent on this task was interrupted" in prompt.read_text()
