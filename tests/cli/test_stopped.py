"""What people see of a batch that is stopped, and what `wait` and `follow` exit with."""

import asyncio
from pathlib import Path

from supervisor.model import event as ev
from tests.cli.running import ctl
from tests.control.served import Served, served
from tests.waiting import until

TESTS = ["tests/test_it.py::test_one", "tests/test_it.py::test_two[a b]", "tests/test_it.py::test_two[c]"]


async def spend(api: Served, batch: str, tokens: int) -> None:
    api.loop.inbox.tell(ev.UsageCounted(api.desk.clock(), batch, 1, 1, input=tokens))
    await until("its budget is spent", lambda: api.loop.state.batches[batch].is_spent)


async def refuse(api: Served, batch: str, problem: str = "login") -> None:
    """The provider of the model says no, also after the agent was told to go on."""
    key = (batch, 1, api.loop.state.batches[batch].job(1).attempts)
    now = api.desk.clock
    api.loop.inbox.tell(ev.AgentHindered(now(), *key, problem=problem, detail="Invalid API key"))
    api.loop.inbox.tell(ev.AgentFellQuiet(now(), *key, since=now(), waits=True))
    await until("it is told", lambda: any(attempt.nudges for attempt in api.loop.state.attempts.values()))
    api.loop.inbox.tell(ev.AgentStirred(now(), *key))
    api.loop.inbox.tell(ev.AgentFellQuiet(now(), *key, since=now(), waits=True))
    await until("the batch is stopped", lambda: api.loop.state.batches[batch].stop.reason == problem)


async def test_a_budget_that_is_spent(tmp_path: Path) -> None:
    async with served(tmp_path, slots=2) as api:
        batch = (await ctl(tmp_path, "submit", "--profile", "frugal", "--per", "case", cwd=api.repo)).out.strip()
        waiting = asyncio.create_task(ctl(tmp_path, "wait", batch))
        following = asyncio.create_task(ctl(tmp_path, "follow", batch))
        await spend(api, batch, 1000)

        shown = (await ctl(tmp_path, "status", batch)).out
        assert "stopped: budget" in shown
        assert "the budget of 1,000 tokens is spent (1,000 were used)" in shown
        assert "stopped: budget" in (await ctl(tmp_path, "status")).out
        (await ctl(tmp_path, "resume", batch)).refused(4, "the budget of 1,000 tokens is spent")
        (await ctl(tmp_path, "retry", batch)).refused(4, "the budget of 1,000 tokens is spent")

        await api.finish(batch)
        waited = await waiting
        assert (waited.code, f"batch {batch}: finished, stopped: budget" in waited.out) == (6, True)
        assert (await following).code == 6
        assert "batch-finished" in (await ctl(tmp_path, "follow", batch)).out, "all of it, also when it is past"
        found = (await ctl(tmp_path, "wait", batch, "--json")).json["batch"]
        assert (found["stopped"], found["outcomes"]["fixed"], found["outcomes"]["cancelled"]) == ("budget", 2, 1)
        assert "the budget of 1,000 tokens is spent" in (await ctl(tmp_path, "report", batch)).out


async def test_a_login_that_is_refused_and_given_again(tmp_path: Path) -> None:
    async with served(tmp_path, slots=1) as api:
        batch = await api.submit(*TESTS)
        waiting = asyncio.create_task(ctl(tmp_path, "wait", batch))
        following = asyncio.create_task(ctl(tmp_path, "follow", batch))
        await refuse(api, batch)

        waited = await waiting
        assert (waited.code, f"`supervisorctl resume {batch}`" in waited.out) == (7, True)
        assert waited.out.count("attention") == 1, "said once, and not of each job"
        assert "refuses the login (Invalid API key)" in waited.out
        assert (await following).code == 7
        assert (await ctl(tmp_path, "wait", batch)).code == 7, "also when it is stopped already"

        api.player.otherwise = "fixed"
        assert "resumed" in (await ctl(tmp_path, "resume", batch)).out
        again = await ctl(tmp_path, "wait", batch, "--json")
        assert (again.code, again.json["batch"]["stopped"], again.json["batch"]["outcomes"]["fixed"]) == (0, None, 3)


async def test_a_limit_of_credit(tmp_path: Path) -> None:
    async with served(tmp_path, slots=2) as api:
        batch = await api.submit(*TESTS)
        await refuse(api, batch, "credit")
        early = await ctl(tmp_path, "wait", batch, "--timeout", "0.2")
        assert early.code == 124, "one of its agents is at work"
        await api.finish(batch)
        waited = await ctl(tmp_path, "wait", batch)
        assert (waited.code, "there is no credit left" in waited.out) == (7, True)
