"""A repository with a base commit, and trials of what was made of it: real git, real pytest."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from supervisor.adapters.git.store import GitStore
from supervisor.model.batch import Batch
from supervisor.model.profile import Profile
from supervisor.verification.trials.runs import PLAIN, Instruments, Run
from supervisor.verification.trials.trial import Trial, Trials
from tests.agent_clone import git
from tests.verification.staying import notes

APP = "def double(n):\n    return n + n + 1\n"
TESTS = (
    "from app import double\n\n\ndef test_double():\n    assert double(2) == 4\n\n\n"
    "def test_text():\n    assert str(double)\n"
)
DOUBLE, TEXT = "test_app.py::test_double", "test_app.py::test_text"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


#: of a commit, by path; None: it is deleted
type Files = dict[str, str | bytes | None]


@dataclass
class Arena:
    folder: Path
    store: GitStore
    trials: Trials
    repo: Path
    base: str
    profile: Profile = field(
        default_factory=lambda: Profile(
            pytest=PYTEST, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, test_timeout_seconds=30
        )
    )

    @property
    def notes(self) -> Path:
        return notes(self.folder)

    def batch(self, *tests: str, **profile: Any) -> Batch:
        profile = {"sandbox_write": (str(self.notes),)} | profile
        return Batch("b", 1, str(self.repo), self.base, tests or (DOUBLE,), replace(self.profile, **profile), 0.0)

    def commit(self, files: Files) -> str:
        """What an agent made of the base, brought home."""
        head = write(self.repo, files)
        bare = self.store.bare(self.repo)
        git(bare, "fetch", "-q", str(self.repo), f"{head}:refs/supervisor/b/1/{head[:8]}")
        git(self.repo, "reset", "-q", "--hard", self.base)
        return head

    @asynccontextmanager
    async def trial(self, files: Files | None = None, *tests: str, **profile: Any) -> AsyncIterator[Trial]:
        head = self.commit(files) if files else self.base
        async with self.trials.trial(self.batch(*tests, **profile), head, "trial") as trial:
            yield trial

    async def run(
        self,
        files: Files | None = None,
        *nodes: str,
        instruments: Instruments = PLAIN,
        **profile: Any,
    ) -> Run:
        async with self.trial(files, **profile) as trial:
            return await trial.run(*(nodes or (DOUBLE,)), instruments=instruments)


def write(repo: Path, files: Files) -> str:
    for name, content in files.items():
        place = repo / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            place.unlink()
        else:
            place.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(repo, "add", "-A", "-f")
    git(repo, "-c", "user.name=a", "-c", "user.email=a@example.invalid", "commit", "-q", "-m", "[FIX_IMPL] x")
    return git(repo, "rev-parse", "HEAD")


@asynccontextmanager
async def arena(folder: Path, files: Files | None = None) -> AsyncIterator[Arena]:
    repo, store = folder / "repo", GitStore(folder / "state")
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    base = write(repo, files or {"app.py": APP, "test_app.py": TESTS})
    await store.snapshot(repo, base, "b")
    trials = Trials(store, folder / "state")
    yield Arena(folder, store, trials, repo, base)
    assert list((folder / "state" / "hosts").glob("*")) == [], "a trial was left behind"
