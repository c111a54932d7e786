"""A clone as an agent leaves it, and the daemon's own repository beside it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from supervisor.adapters.git.store import GitStore
from supervisor.model.attempt import AttemptKey, ref_of
from supervisor.publication.quarantine import Quarantine
from supervisor.publication.taking import Taken
from tests.agent_clone import AgentClone, git

KEY = AttemptKey("b1", 1, 1)


@dataclass
class Place:
    store: GitStore
    clone: AgentClone

    @property
    def bare(self) -> Path:
        return self.store.bare(self.clone.work)

    async def take(self) -> Taken:
        return await Quarantine(self.store).take(self.clone.work, self.clone.work, KEY, base=self.clone.base)

    def reaches(self, sha: str) -> bool:
        """Whether the ref of the rescue leads to a commit."""
        done = subprocess.run(["git", "-C", self.bare, "merge-base", "--is-ancestor", sha, ref_of(KEY, rescued=True)])
        return done.returncode == 0

    def file(self, path: str) -> str:
        return git(self.bare, "show", f"{ref_of(KEY, rescued=True)}:{path}")

    def has_ref(self) -> bool:
        return bool(git(self.bare, "for-each-ref", ref_of(KEY, rescued=True)))


async def made(folder: Path) -> Place:
    clone = AgentClone.make(folder / "agent")
    store = GitStore(folder / "state")
    await store.snapshot(clone.work, clone.base, "b1")
    return Place(store, clone)
