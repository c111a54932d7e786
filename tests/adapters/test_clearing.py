"""What finished batches have left goes when its time is over, and nothing that is only there."""

import json
import os
import subprocess
from pathlib import Path

from supervisor.adapters.clearing import RoomForMore
from supervisor.adapters.git.store import GitStore
from supervisor.adapters.kept_agents import KeptAgents
from supervisor.adapters.layout import Layout
from supervisor.adapters.memory import MemoryAgents
from supervisor.adapters.memory_journal import MemoryJournal
from supervisor.flow.retention import DAY, Limits
from supervisor.model import event as ev
from supervisor.model.attempt import AttemptKey, ref_of
from supervisor.ports import (
    BATCH,
    INSTALLATION,
    KEPT,
    UNSAVED,
    AgentOrder,
    Cleared,
    ExecResult,
    Place,
    SealedBatch,
    SeenAgent,
)
from tests.agent_clone import commit, git

NOW = 1_800_000_000.0
FATES = {1: "merged", 2: "rejected"}


class Office:
    """A state directory with batches in it, and agents that are directories."""

    def __init__(self, folder: Path, limits: Limits | None = None) -> None:
        self.folder, self.layout = folder, Layout(folder / "state")
        self.store, self.journal = GitStore(self.layout.state_dir), MemoryJournal()
        self.agents = MemoryAgents(folder, shell=in_its_clone)
        kept = KeptAgents(self.agents, self.journal.installation, ["local"])
        self.clearing = RoomForMore(self.layout, self.journal, kept, limits or Limits(), lambda: NOW)
        self.repo = folder / "repo"
        self.repo.mkdir()
        git(self.repo, "init", "-q", "-b", "main")
        self.base = commit(self.repo, "base", app__py="one\n")

    @property
    def bare(self) -> Path:
        return self.store.bare(self.repo)

    async def batch(self, name: str, *, days: float, sealed: bool = True) -> None:
        """Two jobs' work came home: the first was merged, the second was not."""
        await self.store.snapshot(self.repo, self.base, name)
        for job in FATES:
            key = AttemptKey(name, job, 1)
            self.work(key)
            self.layout.attempt(key).mkdir(parents=True)
            (self.layout.attempt(key) / "outcome.json").write_text("{}")
        if sealed:
            rows = [{"id": f"{name}.{job}", "attempts": 1, "ledger": fate} for job, fate in FATES.items()]
            status = json.dumps({"batch": {"id": name, "branch": f"supervisor/{name}"}})
            at = NOW - days * DAY
            summary = SealedBatch(name, at, at, status, json.dumps({"rows": rows}))
            await self.journal.append([ev.BatchSealed(at, name)], [summary])

    def work(self, key: AttemptKey, text: str = "") -> str:
        clone = self.folder / f"clone-{key.batch}-{key.job}"
        git(self.folder, "clone", "-q", str(self.repo), str(clone))
        sha = commit(clone, f"work on {key}", app__py=text or f"{key}\n")
        git(clone, "push", "-q", str(self.bare), f"{sha}:{ref_of(key)}")
        return sha

    async def kept(self, key: AttemptKey, why: str = "true") -> Path:
        """An agent of that attempt, kept with its clone."""
        labels = {INSTALLATION: self.journal.installation, BATCH: key.batch, KEPT: why}
        name = f"{key.batch}-{key.job}"
        order = AgentOrder(
            f"agent-{name}", name, Place("local"), "command", (), self.repo, "base", "b", labels=labels
        )
        await self.agents.create(order)
        clone = self.folder / "copies" / order.id
        clone.rmdir()
        git(self.folder, "clone", "-q", str(self.folder / f"clone-{name}"), str(clone))
        return clone

    def refs(self, batch: str) -> list[str]:
        folder = f"refs/supervisor/{batch}/"
        return [
            ref.removeprefix(folder) for ref in git(self.bare, "for-each-ref", "--format=%(refname)", folder).split()
        ]

    async def names(self) -> list[str]:
        return [agent.name for agent in (await self.agents.list("local")).agents]


def in_its_clone(agent: SeenAgent, command: str) -> ExecResult:
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "MNGR_AGENT_WORK_DIR": agent.work_dir}
    done = subprocess.run(["sh", "-c", command], env=env, capture_output=True, text=True, check=False, timeout=60)
    return ExecResult(done.stdout.rstrip(), done.stderr, done.returncode == 0)


async def test_the_checkout_of_a_sealed_batch_goes_at_once_and_of_an_open_one_never(tmp_path: Path) -> None:
    office = Office(tmp_path)
    await office.batch("done", days=0)
    await office.batch("open", days=0, sealed=False)

    assert await office.clearing.clear() == Cleared(again_at=NOW + 60 * DAY)

    assert not office.store.source("done").exists()
    assert (office.layout.attempt(AttemptKey("done", 1, 1)) / "outcome.json").exists()
    assert office.store.source("open").is_dir()


async def test_a_checkout_that_a_kept_agent_borrows_from_stays(tmp_path: Path) -> None:
    """With `transfer = "git-worktree"` its commits live in there."""
    office = Office(tmp_path)
    await office.batch("done", days=0)
    source, worktree = office.store.source("done"), tmp_path / "worktree"
    git(source, "worktree", "add", "-q", "-b", "work", str(worktree))

    await office.clearing.clear()
    assert git(worktree, "log", "-1", "--format=%s") == "base"

    git(source, "worktree", "remove", str(worktree))
    await office.clearing.clear()
    assert not source.exists()


async def test_after_its_days_nothing_is_left_of_a_batch_but_its_summary(tmp_path: Path) -> None:
    """What was never merged is named when it goes."""
    office = Office(tmp_path)
    await office.batch("old", days=61)
    await office.batch("new", days=59)
    await office.kept(AttemptKey("old", 2, 1))
    await office.kept(AttemptKey("new", 2, 1))

    done = await office.clearing.clear()

    assert (done.forgotten, done.agents, done.problems) == (("old",), ("old-2",), ())
    assert done.lost == ("refs/supervisor/old/2/1",)
    assert office.refs("old") == []
    assert not office.layout.batch("old").exists()
    assert await office.journal.read(batch="old") == []
    assert await office.journal.sealed_batch("old") is not None
    assert office.refs("new") == ["1/1", "2/1", "base"]
    assert await office.names() == ["new-2"]
    assert await office.journal.read(batch="new")


async def test_in_a_crowd_the_oldest_go_and_keep_the_refs_that_nobody_has_merged(tmp_path: Path) -> None:
    office = Office(tmp_path, Limits(batches=1))
    await office.batch("old", days=2)
    await office.batch("new", days=1)

    done = await office.clearing.clear()

    assert (done.forgotten, done.lost) == (("old",), ())
    assert not office.layout.batch("old").exists()
    assert office.refs("old") == ["2/1"]
    assert await office.journal.read(batch="old"), "they say whose work that is"
    assert office.refs("new") == ["1/1", "2/1", "base"]
    assert (await office.clearing.clear()).forgotten == ()


async def test_an_agent_with_work_of_its_own_is_never_put_away(tmp_path: Path) -> None:
    """Commits, a stash, files: whatever no ref of the batch holds. Then its refs stay as well."""
    office = Office(tmp_path)
    changes = ("commit", "edit", "untracked", "stash", "branch", "broken", "unsaved", "caches")
    for number, change in enumerate(changes):
        await office.batch(change, days=100 + number)
        clone = await office.kept(AttemptKey(change, 2, 1), UNSAVED if change == "unsaved" else "true")
        match change:
            case "commit":
                commit(clone, "later", app__py="mine\n")
            case "edit":
                (clone / "app.py").write_text("mine\n")
            case "untracked":
                (clone / "notes").write_text("mine\n")
            case "stash":
                (clone / "app.py").write_text("mine\n")
                git(clone, "stash")
            case "branch":
                git(clone, "switch", "-qc", "idea")
                commit(clone, "an idea", app__py="mine\n")
                git(clone, "switch", "-q", "-")
            case "broken":
                (clone / ".git" / "HEAD").unlink()
            case "caches":
                (clone / "__pycache__").mkdir()
                (clone / "__pycache__" / "app.pyc").write_bytes(b"cache")

    done = await office.clearing.clear()

    assert done.agents == ("caches-2",)
    assert sorted(await office.names()) == sorted(f"{change}-2" for change in changes if change != "caches")
    assert [office.refs(change) for change in changes] == [["1/1", "2/1", "base"]] * 7 + [[]]
    assert len(done.problems) == 7
    assert done.again_at == NOW + DAY


async def test_while_a_provider_does_not_answer_no_ref_goes(tmp_path: Path) -> None:
    office = Office(tmp_path)
    await office.batch("old", days=61)
    office.agents.set_down("local")
    done = await office.clearing.clear()
    assert (office.refs("old"), done.lost, len(done.problems)) == (["1/1", "2/1", "base"], (), 1)

    office.agents.set_down("local", is_down=False)
    assert (await office.clearing.clear()).lost == ("refs/supervisor/old/2/1",)


async def test_caches_are_cleared_too(tmp_path: Path) -> None:
    office, asked = Office(tmp_path), list[float]()
    kept = KeptAgents(office.agents, office.journal.installation, ["local"])
    limits = Limits(days=3)
    await RoomForMore(office.layout, office.journal, kept, limits, lambda: NOW, prune=asked.append).clear()
    assert asked == [3]
