"""What the daemon needs of the world: one small Protocol per device, and the values between. No logic."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from supervisor.model.attempt import Attempt, AttemptKey
from supervisor.model.batch import Batch
from supervisor.model.event import Event
from supervisor.model.job import Job, Verification
from supervisor.model.ledger import LedgerRow
from supervisor.model.state import State
from supervisor.model.usage import NOTHING, Usage

type MngrReason = Literal[
    "timeout",  # no answer within the deadline; what was asked may still have happened
    "killed",  # the mngr process died by a signal: unknown, look again
    "provider",  # the provider can't be reached: its agents are unknown, not gone
    "duplicate",  # the name or id is taken already
    "no-such-agent",
    "refused",  # mngr understood and said no: asking again won't help
    "garbage",  # an answer that can't be read
    "missing",  # there is no mngr to run
]

#: The labels of every agent, by which an installation knows its own again.
INSTALLATION, BATCH, JOB, ATTEMPT = "supervisor", "supervisor_batch", "supervisor_job", "supervisor_attempt"
#: And of those that were stopped and kept for a person to look at.
KEPT = "supervisor_kept"

type AgentState = Literal["running", "waiting", "blocked", "done", "stopped", "replaced", "unknown"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an agent is to live: a provider, and there a host: an existing one, a new one, the only one."""

    provider: str
    #: "" for the local machine; else the host's name
    host: str = ""
    #: ask the provider to make a host of that name
    new_host: bool = False


@dataclass(frozen=True, slots=True)
class AgentOrder:
    """All that `mngr create` needs. The id and the name were chosen and journalled before."""

    id: str
    name: str
    place: Place
    #: a mngr agent type; "command" runs `args`
    type: str
    args: tuple[str, ...]
    #: the repository to give it, and `base:new` for its branch
    source: Path
    base: str
    branch: str
    transfer: Literal["git-mirror", "git-worktree"] = "git-mirror"
    labels: Mapping[str, str] = field(default_factory=dict)
    #: values reach the agent verbatim, whatever they hold, and never stand on argv; a value under a name in
    #: `state_dir_env` is a path relative to the agent's own mngr state directory, made absolute on its host
    env: Mapping[str, str] = field(default_factory=dict)
    state_dir_env: Mapping[str, str] = field(default_factory=dict)
    #: local files to put under the agent's state directory before it starts: relative path there → local path
    files: Mapping[str, Path] = field(default_factory=dict)
    #: shell commands to run in its work directory before it starts
    provision: tuple[str, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True)
class AgentAddress:
    """ID@HOST_ID.PROVIDER: the pinned form, which mngr answers without looking everywhere."""

    agent_id: str
    host_id: str
    provider: str

    @classmethod
    def of(cls, attempt: Attempt) -> "AgentAddress":
        return cls(attempt.agent_id, attempt.host_id, attempt.provider)

    def __str__(self) -> str:
        # Without a host it is looked for everywhere: slower, but it is found if it exists.
        return f"{self.agent_id}@{self.host_id}.{self.provider}" if self.host_id else self.agent_id


@dataclass(frozen=True, slots=True)
class SeenAgent:
    """One agent as mngr sees it."""

    address: AgentAddress
    name: str
    state: AgentState
    #: for `blocked`: what it waits for, such as "PERMISSIONS"; for `waiting`, such as "END_OF_TURN"
    waiting_reason: str = ""
    work_dir: str = ""
    host_name: str = ""
    pid: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Listing:
    """The agents of one provider. With problems, absence proves nothing: `complete` is False."""

    agents: tuple[SeenAgent, ...]
    problems: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True)
class ExecResult:
    stdout: str
    stderr: str
    success: bool


@dataclass(frozen=True, slots=True)
class MngrFacts:
    """What kind of mngr this is, for `doctor` and the log."""

    version: str
    transport: Literal["warm", "plain"]
    interpreter: str
    #: why warm is not used although it was asked for
    fallback: str = ""


class Agents(Protocol):
    """The mngr command line. Every call has a deadline, runs in a bounded pool and raises only MngrFailed."""

    async def facts(self) -> MngrFacts: ...

    async def create(self, order: AgentOrder) -> AgentAddress: ...

    async def list(self, provider: str) -> Listing: ...

    async def message(self, address: AgentAddress, text: str) -> None: ...

    async def exec(self, address: AgentAddress, command: str, *, timeout: float | None = None) -> ExecResult: ...

    async def pull(self, address: AgentAddress, remote: str, local: Path) -> None:
        """Copy one file, or a directory's content where `remote` ends in a slash."""
        ...

    async def stop(self, addresses: Sequence[AgentAddress]) -> None:
        """Stopped already or gone is fine."""
        ...

    async def destroy(self, addresses: Sequence[AgentAddress]) -> None:
        """Gone already is fine."""
        ...

    async def label(self, address: AgentAddress, labels: Mapping[str, str]) -> None: ...

    def observe(self) -> AsyncIterator[SeenAgent]:
        """Changes as mngr notices them: a hint, never complete. Ends only when closed; restarts by itself."""
        ...

    def follow(self, address: AgentAddress, *, forever: bool = True) -> AsyncGenerator[bytes]:
        """The lines of all its event files, from the first one on; with `forever` also those to come, until closed.

        Raises MngrFailed when it can't be followed, and at once when this mngr can't follow anything."""
        ...

    def state_dir(self, agent_id: str) -> Path:
        """Where a local agent keeps its state; for providers other than `local` it is on their host."""
        ...

    async def close(self) -> None: ...


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
        self, after: int = 0, *, limit: int = 1000, batch: str = "", job: int = 0, newest: bool = False
    ) -> list[Record]:
        """Events after a sequence number, oldest first; with `newest`, the last `limit` of them."""
        ...

    async def sealed(self, *, limit: int = 100) -> list[SealedBatch]:
        """The last to be sealed, newest first."""
        ...

    async def sealed_batch(self, batch: str) -> SealedBatch | None: ...

    async def sealed_ids(self, prefix: str, *, limit: int = 10) -> list[str]: ...

    async def close(self) -> None: ...


class LocalSigns(Protocol):
    """A cheap look at this machine's agents."""

    async def missing(self, agent_ids: Iterable[str]) -> set[str]:
        """Those whose program seems to be gone. Suspicion only: `mngr list` is the judge."""
        ...


@dataclass(frozen=True, slots=True)
class Collection:
    """What was brought home of one attempt, safe under a ref of its own."""

    head: str = ""
    commits: int = 0
    #: what a publication says of the work, as an outcome
    claim: str = ""
    detail: str = ""


class Collector(Protocol):
    """Brings home what agents leave. It is hostile until it has been checked."""

    async def is_published(self, attempt: Attempt) -> bool: ...

    async def collect(self, batch: Batch, attempt: Attempt) -> Collection:
        """Raises Hostile when it can't be accepted, DeviceFailed when it could not be fetched now."""
        ...

    async def rescue(self, batch: Batch, attempt: Attempt) -> Collection:
        """Whatever is there, published or not, also nothing. DeviceFailed: it can't be looked at now."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is true of a job's work, as an outcome."""

    outcome: str
    detail: str = ""
    verification: Verification = "not-needed"
    #: why, for the ledger; for `refused` it begins with the name of the rule
    reason: str = ""
    #: clean runs of the test, and how many of them passed
    runs: int = 0
    passed: int = 0
    #: whether the test failed before the work; None: unknown
    failed_before: bool | None = None
    #: commits whose kind is not what they say, with the kind that their diff shows
    relabelled: Mapping[str, str] = field(default_factory=dict)


class Judge(Protocol):
    async def verify(self, batch: Batch, job: Job) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class Integration:
    ledger: Mapping[int, LedgerRow]
    branch: str = ""


class Integrator(Protocol):
    async def integrate(self, batch: Batch, number: int) -> Integration:
        """Resumable: asked again after a crash it comes to the same end."""
        ...


class Orders(Protocol):
    """Turns an attempt into all that mngr needs to know to launch it."""

    def order(self, batch: Batch, attempt: Attempt) -> AgentOrder: ...


class RepoFacts(Protocol):
    """A person's checkout as it is now."""

    @property
    def root(self) -> Path: ...

    @property
    def head_sha(self) -> str: ...

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


@dataclass(frozen=True, slots=True)
class Sight:
    """What an agent's own files tell of it now. None: it can't be told from here."""

    #: its last sign of activity
    active_at: float | None = None
    #: its turn is over, or it never said that it has one
    waits: bool | None = None
    #: it asks for permission
    asks: bool | None = None
    usage: Usage = NOTHING
    #: what its model's provider said no with, where that is the last word: "limit", "overload" or "login"
    problem: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LogPiece:
    #: each is one JSON object
    lines: tuple[str, ...]
    #: where to go on
    next: int


class Logs(Protocol):
    """What agents write, as one stream of lines per attempt, without secrets."""

    def watch(self, attempts: Mapping[AttemptKey, Attempt]) -> None:
        """These are all there are now: read them until they are finished."""
        ...

    def learn(self, env: Mapping[str, str]) -> None:
        """What agents get in their environment; the secrets among it are masked from now on."""
        ...

    def sight(self, key: AttemptKey) -> Sight | None: ...

    async def active_at(self, attempt: Attempt) -> float | None:
        """Ask the agent's host when it was last active. Raises DeviceFailed."""
        ...

    async def finish(self, attempt: Attempt, *, published: bool) -> Usage:
        """Before it is put away: read the last of it. What it has taken in all; asked again, it says the same."""
        ...

    async def read(self, key: AttemptKey, after: int = 0) -> LogPiece:
        """Whole lines from a place in the stream on; none where there is nothing yet."""
        ...

    async def close(self) -> None: ...
