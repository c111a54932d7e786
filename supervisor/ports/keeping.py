"""What is kept: the journal of what has happened, and the copies of repositories."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from supervisor.model.event import Event
from supervisor.model.state import State


@dataclass(frozen=True, slots=True)
class Record:
    """One journalled event, as readers get it."""

    seq: int
    event: Event


@dataclass(frozen=True, slots=True)
class SealedBatch:
    """What stays of a batch that has left memory. `status` and `jobs` are JSON texts, as the API gives them."""

    id: str
    created_at: float
    finished_at: float
    status: str
    jobs: str


class Journal(Protocol):
    """What has happened, on disk. One writer thread; an append is answered once it would survive a power loss."""

    #: this installation's own id, made with the journal
    installation: str

    async def append(self, events: Sequence[Event], sealed: Sequence[SealedBatch] = ()) -> int:
        """Write them in one transaction and return the sequence number of the last."""
        ...

    def checkpoint(self) -> tuple[int, State] | None:
        """The last state that was kept, and the event it was kept at; it goes with every batch that is sealed."""
        ...

    def replay(self, after: int = 0) -> Iterator[Record]:
        """The events that make today's state, in order: not those of sealed batches. Blocking: for the start."""
        ...

    async def keep(self, seq: int, state: State) -> None:
        """A checkpoint: the state as it is after that event."""
        ...

    async def read(
        self, after: int = 0, *, limit: int = 1000, batch: str = "", job: int | None = None, newest: bool = False
    ) -> list[Record]:
        """Events after a sequence number, oldest first; with `newest`, the last `limit` of them."""
        ...

    async def sealed(self, *, limit: int = 100) -> list[SealedBatch]:
        """The last to be sealed, newest first."""
        ...

    async def sealed_batch(self, batch: str) -> SealedBatch | None: ...

    async def sealed_ids(self, prefix: str, *, limit: int = 10) -> list[str]: ...

    async def forget(self, before: float) -> int:
        """Drop the events of batches that were finished before that time; what they came to stays in `sealed`."""
        ...

    async def close(self) -> None: ...


class RepoFacts(Protocol):
    """A person's checkout as it is now."""

    @property
    def root(self) -> Path: ...

    @property
    def head_sha(self) -> str: ...

    @property
    def branch(self) -> str:
        """ "" when HEAD is detached."""
        ...

    @property
    def dirty_paths(self) -> tuple[str, ...]:
        """The first few paths with uncommitted work."""
        ...


class Store(Protocol):
    """The daemon's own copy of what it works on. A person's repository is only read."""

    async def inspect(self, repo: Path) -> RepoFacts: ...

    async def snapshot(self, repo: Path, base: str, batch: str) -> Path:
        """Bring the base commit home, and make the batch's source checkout of it. Again is fine."""
        ...

    async def untouched(self) -> list[str]:
        """Batches of which there is a snapshot and nothing else."""
        ...

    async def resolve(self, repo: Path, rev: str) -> str:
        """The commit that a person's repository means by this. Raises GitFailed."""
        ...

    async def hand_over(self, repo: Path, target: Path, sha: str, branch: str) -> bool:
        """Make a branch of a commit that is kept of `repo` in a person's repository, and touch nothing else there.
        False: it was there already. Raises Refused where another branch has the name, or the repository is gone."""
        ...

    async def forget(self, batch: str) -> None:
        """Drop all that is kept of a batch: its work may go with it."""
        ...


@dataclass(frozen=True, slots=True)
class Cleared:
    """What has gone, as `ClearingEnded` tells it."""

    forgotten: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    again_at: float = 0


class Clearing(Protocol):
    async def clear(self) -> Cleared:
        """Look through what finished batches have left. Again is fine; what fails is tried the next time."""
        ...
