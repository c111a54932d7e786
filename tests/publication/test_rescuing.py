"""What an agent left comes home from its host, whatever it did to the tools that it was given."""

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from supervisor.adapters.git.store import GitStore
from supervisor.adapters.layout import Layout
from supervisor.adapters.memory import MemoryAgents
from supervisor.model.attempt import Attempt, AttemptKey, ref_of
from supervisor.model.batch import Batch
from supervisor.ports import AgentOrder, Collection, ExecResult, Place, SeenAgent
from supervisor.publication.collector import WorkCollector
from supervisor.publication.quarantine import Quarantine
from tests.agent_clone import commit, git

KEY = AttemptKey("b1", 1, 1)


@dataclass
class Far:
    folder: Path
    provider: str
    batch: Batch
    attempt: Attempt
    collector: WorkCollector
    store: GitStore

    @property
    def work(self) -> Path:
        return self.folder / "mngr" / "copies" / self.attempt.agent_id

    @property
    def state(self) -> Path:
        return self.folder / "mngr" / "agents" / self.attempt.agent_id

    async def rescue(self) -> Collection:
        return await self.collector.rescue(self.batch, self.attempt)

    def show(self, what: str, *options: str) -> str:
        bare = self.store.bare(Path(self.batch.repo))
        return git(bare, "cat-file", *(options or ("-p",)), f"{ref_of(KEY, rescued=True)}{what}")


@asynccontextmanager
async def far(folder: Path, provider: str) -> AsyncIterator[Far]:
    """A repository, and an agent that was given a clone of it on another host, or on this one."""
    repo = folder / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    base = commit(repo, "base", app__py="one\n")
    batch = Batch("b1", 1, str(repo), base, ("t::a",), profile=None, created_at=0.0)  # type: ignore[arg-type]
    store = GitStore(folder / "state")
    await store.snapshot(repo, base, "b1")
    agent_id = f"agent-{'a' * 32}"
    made: list[Far] = []

    def shell(agent: SeenAgent, command: str) -> ExecResult:
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "SUPERVISOR_BASE": base}
        env |= {"MNGR_AGENT_STATE_DIR": str(made[0].state), "MNGR_AGENT_WORK_DIR": agent.work_dir}
        done = subprocess.run(["sh", "-c", command], cwd=agent.work_dir, env=env, capture_output=True, text=True)
        return ExecResult(done.stdout, done.stderr, done.returncode == 0)

    agents = MemoryAgents(folder / "mngr", providers=("local", "far"), shell=shell)
    order = AgentOrder(agent_id, "n", Place(provider), "command", (), repo, "base", "b")
    address = await agents.create(order)
    attempt = Attempt(KEY, agent_id, "n", "p", provider, "", False, 0.0, host_id=address.host_id)
    collector = WorkCollector(agents, Quarantine(store), Layout(folder / "state"))
    here = Far(folder, provider, batch, attempt, collector, store)
    made.append(here)
    git(here.work, "clone", "-q", str(repo), ".")
    (here.state / "supervisor").mkdir(parents=True)
    yield here


def tampered(here: Far) -> None:
    """The tool that lies there now says that nothing was done."""
    tool = here.state / "supervisor" / "publish"
    tool.write_text("#!/bin/sh\necho 'rescued: 0 commit(s), 0 artifact(s)'\n")
    tool.chmod(0o755)


@pytest.mark.proof
@pytest.mark.parametrize("provider", ["local", "far"])
async def test_work_of_any_size_comes_home_whatever_became_of_the_tool(tmp_path: Path, provider: str) -> None:
    """More than the 100 MiB of a publication, from far in pieces."""
    async with far(tmp_path, provider) as here:
        tampered(here)
        commit(here.work, "committed", app__py="two\n")
        (here.work / "large").write_bytes(os.urandom(110 * 2**20))

        left = await here.rescue()

        assert (left.commits, left.unsaved, left.clone) == (2, "", "")
        assert here.show(":app.py") == "two"
        assert here.show(":large", "-s") == str(110 * 2**20)
        attempt = Layout(tmp_path / "state").attempt(KEY)
        assert not [path for path in attempt.rglob("*") if path.suffix in (".bundle", ".piece", ".tar")]


@pytest.mark.parametrize("provider", ["local", "far"])
async def test_a_clone_at_its_base_was_looked_at(tmp_path: Path, provider: str) -> None:
    async with far(tmp_path, provider) as here:
        left = await here.rescue()
        assert (left.head, left.unsaved, left.detail) == ("", "", "it left no work")


@pytest.mark.parametrize("provider", ["local", "far"])
async def test_what_can_not_be_taken_keeps_the_agent(tmp_path: Path, provider: str) -> None:
    """What can be taken is taken all the same; a clone on this machine is named."""
    async with far(tmp_path, provider) as here:
        (here.work / "nested").mkdir()
        git(here.work / "nested", "init", "-q")
        (here.work / "app.py").write_text("mine\n")

        left = await here.rescue()

        assert here.show(":app.py") == "mine"
        assert left.unsaved == "the nested repository in nested/"
        assert left.clone == (str(here.work) if provider == "local" else "")


async def test_a_host_where_the_rescue_fails_keeps_the_agent(tmp_path: Path) -> None:
    """No git there, no room, no shell that works: nothing is said to be safe."""
    async with far(tmp_path, "far") as here:
        commit(here.work, "committed", app__py="two\n")
        (here.state / "supervisor").rmdir()

        left = await here.rescue()

        assert left.unsaved.startswith("all of it: the rescue failed on its host: publish: ")
        assert left.head == ""
