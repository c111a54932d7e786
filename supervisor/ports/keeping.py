"""Storage: the journal of events, and the copies of repositories."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from supervisor.model.event import Event
from supervisor.model.state import State


@dataclass(frozen=True, slots=True)
class Record:
    """One journalled event with its sequence number."""

    seq: int
    event: Event


@dataclass(frozen=True, slots=True)
class SealedBatch:
    """The summary of a batch that has left memory. `status` and `jobs` are JSON, as the API returns them."""

    id: str
    created_at: float
    finished_at: float
    status: str
    jobs: str


class Journal(Protocol):
    """The events on disk. One thread writes; an append returns when its events would survive a power failure."""

    #: this installation's id, created with the journal
    installation: str

    async def append(self, events: Sequence[Event], sealed: Sequence[SealedBatch] = ()) -> int:
        """Write them in one transaction and return the sequence number of the last."""
        ...

    def checkpoint(self) -> tuple[int, State] | None:
        """The last kept state, and the sequence number of its last event. Sealing a batch deletes the checkpoint."""
        ...

    def replay(self, after: int = 0) -> Iterator[Record]:
        """The events of the current state in order, without sealed batches. It blocks: only for the start."""
        ...

    async def keep(self, seq: int, state: State) -> None:
        """Store a checkpoint: the state after that event."""
        ...

    async def read(
        self, after: int = 0, *, limit: int = 1000, batch: str = "", job: int | None = None, newest: bool = False
    ) -> list[Record]:
        """At most `limit` events after a sequence number, oldest first; with `newest`, the last ones."""
        ...

    async def sealed(self, *, limit: int = 100) -> list[SealedBatch]:
        """The batches sealed last, newest first."""
        ...

    async def sealed_batch(self, batch: str) -> SealedBatch | None: ...

    async def sealed_ids(self, prefix: str, *, limit: int = 10) -> list[str]: ...

    async def forget(self, before: float) -> int:
        """Delete the events of batches that finished before that time; their summaries stay in `sealed`."""
        ...

    async def close(self) -> None: ...


class RepoFacts(Protocol):
    """The current state of a person's checkout."""

    @property
    def root(self) -> Path: ...

    @property
    def head_sha(self) -> str: ...

    @property
    def branch(self) -> str:
        """ "" if HEAD is detached."""
        ...

    @property
    def dirty_paths(self) -> tuple[str, ...]:
        """The first few paths with uncommitted changes."""
        ...


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit with what it changes; all of it is hostile."""

    sha: str
    subject: str
    body: str
    patch: str
    #: the patch is longer than this
    is_cut: bool = False


class Store(Protocol):
    """The daemon's own copies of repositories. A person's repository is only read, except by `hand_over`."""

    async def inspect(self, repo: Path) -> RepoFacts: ...

    async def snapshot(self, repo: Path, base: str, batch: str) -> Path:
        """Fetch the base commit and create the batch's source checkout. Idempotent."""
        ...

    async def untouched(self) -> list[str]:
        """Batches that have a snapshot and nothing else."""
        ...

    async def resolve(self, repo: Path, rev: str) -> str:
        """Resolve a revision in a person's repository to a commit. Raises GitFailed."""
        ...

    async def commits(self, repo: Path, base: str, head: str) -> list[Commit]:
        """The commits between two that are kept for `repo`, oldest first. Raises GitFailed."""
        ...

    async def titles(self, repo: Path, base: str, head: str) -> list[tuple[str, str]]:
        """The ids and subjects of the commits between two that are kept for `repo`, oldest first; as `commits`."""
        ...

    async def hand_over(self, repo: Path, target: Path, sha: str, branch: str) -> bool:
        """Create a branch in a person's repository at a commit kept for `repo`, and change nothing else there.
        False: it already exists. Raises Refused if a different branch has the name, or the repository is gone."""
        ...

    async def forget(self, batch: str) -> None:
        """Delete everything that is kept of a batch, its work included."""
        ...


@dataclass(frozen=True, slots=True)
class Cleared:
    """What was deleted: the fields of `ClearingEnded`."""

    forgotten: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    again_at: float = 0


class Clearing(Protocol):
    async def clear(self) -> Cleared:
        """Delete what finished batches left and is due. Idempotent; failures are retried by the next call."""
        ...
