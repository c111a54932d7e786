"""What agents make on remote hosts is verified there: the real mngr, git and pytest on two ssh servers."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from supervisor.model import event as ev
from supervisor.model.profile import Profile
from supervisor.model.request import Submit
from supervisor.ports import AgentAddress
from supervisor.verification.remote.packing import PROGRAM
from tests.agent_clone import git
from tests.below import end_below
from tests.daemon.sandbox import Running, Sandbox, running
from tests.remote.sshd import PROVIDER, Box, boxes
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

PATIENCE_SECONDS = 300.0
#: mends the module of its job; the last one says so and mends nothing
AGENT = """
job=${SUPERVISOR_JOB##*.}
case $job in 3) echo "# looked at" >>mod_$job.py ;; *) sed -i 's/ + 1$//' mod_$job.py ;; esac
git commit -qam "[FIX_IMPL] Mend mod_$job"
echo '{"schema_version": 1, "changes": {"FIX_IMPL": {"status": "SUCCEEDED", "summary_markdown": "mended"}},
 "errored": false, "blocked": null, "tests_passing_before": false, "tests_passing_after": true,
 "summary_markdown": "mended"}' >"$SUPERVISOR_OUTCOME"
sh -c "$SUPERVISOR_PUBLISH"
"""
#: says where pytest runs
PYTEST = """#!/bin/sh
echo "$PWD" >>"$RUNS/log"
exec {python} -m pytest -q -p no:cacheprovider "$@"
"""


@dataclass
class Site:
    made: Sandbox
    hosts: list[Box]
    jobs: int
    profile: dict[str, Any]

    @property
    def repo(self) -> Path:
        return self.made.folder / "repo"

    def lay_out(self) -> None:
        self.repo.mkdir()
        git(self.repo, "init", "-q", "-b", "main")
        for job in range(1, self.jobs + 1):
            (self.repo / f"mod_{job}.py").write_text(f"def double(n):\n    return {'+ n' * 0}n + n + 1\n")
            test = f"from mod_{job} import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
            (self.repo / f"test_mod_{job}.py").write_text(test)
        git(self.repo, "add", "-A")
        git(self.repo, "-c", "user.name=a", "-c", "user.email=a@example.invalid", "commit", "-qm", "start")
        shim = self.made.folder / "bin" / "mypytest"
        shim.parent.mkdir()
        shim.write_text(PYTEST.format(python=sys.executable))
        shim.chmod(0o755)
        (self.made.folder / "runs").mkdir(mode=0o777)
        (self.made.folder / "runs").chmod(0o777)

    async def submit(self, here: Running) -> None:
        facts = await here.devices.store.inspect(self.repo)
        await here.devices.store.snapshot(self.repo, facts.head_sha, "batch")
        runs = self.made.folder / "runs"
        profile = Profile(
            agent="command",
            command=("bash", "-c", AGENT),
            pools=("remote", "local"),
            pytest=(str(self.made.folder / "bin" / "mypytest"),),
            env={"RUNS": str(runs), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            sandbox_write=(str(runs),),
            keep_agents="none",
            integrator=False,
            **self.profile,
        )
        tests = tuple(f"test_mod_{job}.py::test_double" for job in range(1, self.jobs + 1))
        await here.daemon.loop.inbox.ask(Submit("batch", str(self.repo), facts.head_sha, tests, profile))

    @property
    def where_pytest_ran(self) -> list[str]:
        log = self.made.folder / "runs" / "log"
        return log.read_text().splitlines() if log.exists() else []

    @property
    def ran_here(self) -> list[str]:
        """In the state directory, or where walls show a person's checkout, which only those of this machine do."""
        state = str(self.made.folder / "state")
        return [each for each in self.where_pytest_ran if state in each or re.match("/home/[0-9a-f]{8}/", each)]

    @property
    def ran_there(self) -> list[str]:
        return [each for each in self.where_pytest_ran if each not in self.ran_here]


@asynccontextmanager
async def site(folder: Path, *, jobs: int = 3, local: int = 0, **profile: Any) -> AsyncIterator[Site]:
    settings = {
        "mngr": {"list_seconds": 2},
        "pools": [
            {"name": "remote", "provider": PROVIDER, "hosts": ["box1", "box2"], "slots": 4},
            {"name": "local", "slots": local},
        ],
    }
    made = Sandbox(folder, settings=settings)
    with boxes(folder / "ssh", made.configuration.mngr_home, "box1", "box2") as hosts:
        try:
            there = Site(made, hosts, jobs, profile)
            await asyncio.to_thread(there.lay_out)
            yield there
        finally:
            await asyncio.to_thread(made.tmux.end)
            await asyncio.to_thread(end_below, folder)


def verdicts(here: Running) -> dict[int, str]:
    return {event.job: event.verification for event in here.of(ev.WorkVerified)}


async def test_what_is_made_there_is_verified_there(tmp_path: Path) -> None:
    """The build box starts no pytest: neither for claims nor for the branch. In the end no verifier is left."""
    async with site(tmp_path) as there, running(there.made) as here:
        await there.submit(here)
        await here.finished(timeout=PATIENCE_SECONDS)

        assert verdicts(here) == {1: "verified", 2: "verified", 3: "unverified"}
        assert {event.pool for event in here.of(ev.VerifyStarted)} == {"remote"}
        assert there.where_pytest_ran
        assert not there.ran_here
        assert len([each for each in here.of(ev.IntegrationEnded)[0].ledger.values() if each.fate == "merged"]) == 2
        await until("its verifiers are gone", lambda: not any(host.state_dirs() for host in there.hosts), 60)


@pytest.mark.proof
async def test_hosts_that_go_away_while_claims_are_verified_there(tmp_path: Path) -> None:
    """Local ones go on, nothing is lost, and in the end the verdicts are the same."""
    async with site(tmp_path, jobs=6, local=2) as there, running(there.made) as here:
        await there.submit(here)
        await until("pytest runs far away", lambda: len(there.ran_there) >= 2, PATIENCE_SECONDS)
        for host in there.hosts:
            await asyncio.to_thread(host.stop)
        local = {event.job for event in here.of(ev.LaunchStarted) if event.pool == "local"}
        await until("local ones are judged", lambda: local <= verdicts(here).keys(), PATIENCE_SECONDS)
        waiting = here.devices.verifiers
        assert waiting is not None
        await until("people are told", lambda: "remote" in waiting.problems, PATIENCE_SECONDS)

        for host in there.hosts:
            await asyncio.to_thread(host.start)
        await here.finished(timeout=PATIENCE_SECONDS)

        assert verdicts(here) == dict.fromkeys((1, 2, 4, 5, 6), "verified") | {3: "unverified"}
        assert not [event for event in here.of(ev.JobRequeued) if event.counts]
        made_here = {f"test_mod_{job}.py" for job in local}
        assert made_here
        assert {event.job for event in here.of(ev.VerifyStarted) if not event.pool} == local
        assert not waiting.problems


@pytest.mark.proof
async def test_a_verifier_that_is_gone_costs_a_run_and_a_restart_puts_the_last_one_away(tmp_path: Path) -> None:
    async with site(tmp_path, jobs=2) as there:
        async with running(there.made) as here:
            await there.submit(here)
            await until("pytest runs far away", lambda: there.ran_there, PATIENCE_SECONDS)
            [verifier] = verifiers(there)
            await here.devices.agents.destroy([AgentAddress(verifier, "", PROVIDER)])
            await until("there is another one", lambda: verifiers(there) not in ([], [verifier]), PATIENCE_SECONDS)
            last = verifiers(there)
        async with running(there.made) as again:
            await until("its last one is gone", lambda: not set(last) & set(verifiers(there)), PATIENCE_SECONDS)
            await again.finished(timeout=PATIENCE_SECONDS)
            assert verdicts(here) | verdicts(again) == {1: "verified", 2: "verified"}
            assert not there.ran_here


@pytest.mark.proof
async def test_a_profile_may_want_it_here(tmp_path: Path) -> None:
    async with site(tmp_path, jobs=2, verify_pools=("local",)) as there, running(there.made) as here:
        await there.submit(here)
        await here.finished(timeout=PATIENCE_SECONDS)

        assert verdicts(here) == {1: "verified", 2: "verified"}
        assert there.where_pytest_ran == there.ran_here


def verifiers(there: Site) -> list[str]:
    """Their ids, by what only they have."""
    found = [state for host in there.hosts for state in host.state_dirs() if (state / PROGRAM).exists()]
    return sorted(each.name for each in found)
