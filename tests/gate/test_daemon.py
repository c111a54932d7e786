"""Daemon and gate together: agents of a batch ask through it, whatever becomes of the daemon."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from supervisor.gate.tokens import NONE
from supervisor.model.event import AccountPaused, BatchStopped, JobEnded, LaunchStarted, UsageCounted
from tests.daemon.crash import CrashBox
from tests.gate.box import Box, box
from tests.gate.gates import REAL_KEY
from tests.gate.provider import STREAM, Json
from tests.waiting import until_sync

AGENT = Path(__file__).with_name("agent")
TOLD = 110


@contextmanager
def behind(here: Box, jobs: int, more: Json | None = None, **profile: Any) -> Iterator[CrashBox]:
    """A daemon's box whose agents ask through the gate. Its profile names a credential that nobody has."""
    (here.folder / "answers").mkdir()
    env = {"ANSWERS": str(here.folder / "answers"), "ANTHROPIC_API_KEY": "credential:of-nobody"}
    upstream = {"api": "anthropic", "account": "work", "url": here.provider.url, "key": "env:THE_KEY"}
    made = CrashBox(
        here.folder,
        jobs=jobs,
        profile={"command": [str(AGENT)], "env": env | profile.pop("env", {}), **profile},
        more={
            "gate": {"on": True, "listen": f"127.0.0.1:{here.port}", "upstreams": [{**upstream, "account": ""}]},
            **(more or {}),
        },
    )
    try:
        yield made
    finally:
        made.clean_up()


def answers(here: Box) -> list[list[str]]:
    """Job, number, status and whether it was whole."""
    path = here.folder / "answers" / "answers"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def is_answered(here: Box, many: int) -> bool:
    return len(answers(here)) >= many


def totals(made: CrashBox) -> dict[int, int]:
    last = {event.job: event for event in made.events() if isinstance(event, UsageCounted)}
    return {job: event.input + event.output + event.cached for job, event in last.items()}


def test_the_daemon_is_killed_again_and_again_and_no_request_breaks(tmp_path: Path) -> None:
    with box(tmp_path, account="") as here, here.running(), behind(here, jobs=4, env={"REQUESTS": "6"}) as made:
        here.provider.always = replace(STREAM, pace=0.1)
        for many in (2, 8, 14):
            with made.start() as daemon:
                until_sync("so many were answered", partial(is_answered, here, many), 60)
                assert here.counts.reserved(), "and others are under way"
                daemon.kill()
        made.run()

        assert [line[2:] for line in answers(here)] == [["200", "1"]] * 24
        assert made.launches() == 4
        assert {event.outcome for event in made.events() if isinstance(event, JobEnded)} == {"improved"}
        assert totals(made) == dict.fromkeys(range(1, 5), 6 * TOLD)
        assert {row.unknown for row in here.counts.taken()} == {0}
        no_secret_is_where_it_does_not_belong(here, made)
        assert not living(here), "every key has ended with its attempt"


def no_secret_is_where_it_does_not_belong(here: Box, made: CrashBox) -> None:
    """An agent has a key of its own, and nobody has the account's but the gate."""
    environments = [path.read_text() for path in (here.folder / "answers").glob("env-*")]
    keys = [
        next(line for line in text.splitlines() if line.startswith("ANTHROPIC_API_KEY=")) for text in environments
    ]
    assert len(set(keys)) == 4
    assert all(key.startswith("ANTHROPIC_API_KEY=sk-gate-") for key in keys)
    found = subprocess.run(["grep", "-rlF", REAL_KEY, str(here.folder)], capture_output=True, text=True, check=False)
    assert found.stdout == "", "it is in no file of daemon, gate or agents"


def living(here: Box) -> list[object]:
    return here.keys._db.execute("SELECT * FROM keys WHERE ended_at IS NULL AND batch = 'batch'").fetchall()


def test_a_batch_that_has_no_room_for_a_request_is_stopped_by_its_budget(tmp_path: Path) -> None:
    """What was spent stays below the cap, and so the daemon could not know by its own count."""
    budget = 5_000
    with box(tmp_path, account="") as here, here.running():
        profile: Json = {"env": {"REQUESTS": "3"}, "budget_tokens": budget}
        with behind(here, jobs=30, **profile) as made:
            made.run()
            stopped = [event for event in made.events() if isinstance(event, BatchStopped)]
            launched = {event.job for event in made.events() if isinstance(event, LaunchStarted)}
            statuses = [line[2] for line in answers(here)]
        spent = sum((row.tokens for row in here.counts.taken()), NONE).total

    assert [event.reason for event in stopped] == ["budget"]
    assert "the gate has refused a request: it could take 4,2" in stopped[0].detail
    assert spent == len(here.provider.asked) * TOLD <= budget
    assert statuses.count("200") == len(here.provider.asked)
    assert {"402"} <= set(statuses) <= {"200", "401", "402"}, "those that were put away have no key any more"
    assert len(launched) < 30, "the rest was not begun"


def test_an_accounts_day_holds_while_the_daemon_is_dead_and_the_next_one_pauses_the_account(tmp_path: Path) -> None:
    cap = 6_000
    team = {"day_tokens": cap, "week_tokens": 10 * cap}
    with box(tmp_path, account="") as here, here.running():
        profile: Json = {"env": {"REQUESTS": "40"}, "accounts": ["team"]}
        with behind(here, jobs=4, more={"accounts": {"team": team}}, **profile) as made:
            with made.start() as daemon:
                until_sync("agents were answered", partial(is_answered, here, 3), 60)
                daemon.kill()
            until_sync("the gate refuses", lambda: "429" in {line[2] for line in answers(here)}, 60)
            spent = sum((row.tokens for row in here.counts.taken()), NONE).total
            assert len(here.provider.asked) * TOLD == spent <= cap
            assert cap - spent < 5_000, "only what one request could take is left"

            log = tmp_path / "daemon.log"
            with log.open("w") as out, made.start(log=out) as daemon:
                until_sync("the account is paused", lambda: "account-paused" in log.read_text(), 60)
                daemon.kill()
            [paused] = [event for event in made.events() if isinstance(event, AccountPaused)]
    assert (paused.account, paused.reason) == ("team", "cap")
    assert "account team: tokens a day: the gate has refused a request: it could take 4,2" in paused.detail
    assert len(here.provider.asked) * TOLD <= cap


@pytest.mark.parametrize("agent", ["claude", "codex", "opencode"])
def test_an_agent_without_a_provider_behind_the_gate_is_not_launched_past_it(tmp_path: Path, agent: str) -> None:
    from supervisor.adapters.gating import Gating, Upstream
    from supervisor.errors import Misconfigured
    from supervisor.model.attempt import Attempt, AttemptKey
    from supervisor.model.batch import Batch
    from supervisor.model.profile import Profile

    batch = Batch("b1", 1, "/repo", "0" * 40, ("test_app.py::test_one",), Profile(agent=agent), 0.0)
    attempt = Attempt(AttemptKey("b1", 1, 1), "agent-1", "sv-b1-1-1", "local", "local", "", False, 0.0)
    gating = Gating(tmp_path, "http://127.0.0.1:1", [Upstream("anthropic", "other"), Upstream("openai", "other")])
    try:
        with pytest.raises(Misconfigured, match=f"no upstream for the agent {agent}"):
            gating.detour(batch, attempt)
        assert gating.detour(batch, replace(attempt, provider="modal")) is None, "it can't be reached from elsewhere"
    finally:
        gating.close()
