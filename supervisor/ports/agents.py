"""The mngr command line, and a cheap look at this machine's agents."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from supervisor.model.attempt import Attempt

type MngrReason = Literal[
    "timeout",  # no answer within the deadline; what was asked may still have happened
    "killed",  # the mngr process died by a signal: unknown, look again
    "provider",  # the provider can't be reached: its agents are unknown, not gone
    "duplicate",  # the name or id is taken already
    "no-such-agent",
    "not-started",  # the agent was made and did not come up, or not hear its first words: the next one may
    "refused",  # mngr understood and said no: asking again won't help
    "garbage",  # an answer that can't be read
    "missing",  # there is no mngr to run
]

#: The labels of every agent, by which an installation knows its own again.
INSTALLATION, BATCH, JOB, ATTEMPT = "supervisor", "supervisor_batch", "supervisor_job", "supervisor_attempt"
#: And of those that were stopped and kept for a person to look at.
KEPT = "supervisor_kept"
#: what that label says of one whose work is nowhere else
UNSAVED = "unsaved"

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
    #: of mngr's own configuration, for this call alone; nothing secret
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentAddress:
    """ID@HOST.PROVIDER: the pinned form, which mngr answers without looking everywhere."""

    agent_id: str
    #: its id, or its name where no create has told the id
    host_id: str
    provider: str

    @classmethod
    def of(cls, attempt: Attempt) -> "AgentAddress":
        return cls(attempt.agent_id, attempt.host_id or attempt.host, attempt.provider)

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

    def work_dir(self, agent_id: str) -> Path | None:
        """Where a local agent's clone is; None where that can't be told, for one, because the agent is gone."""
        ...

    async def close(self) -> None: ...


class LocalSigns(Protocol):
    """A cheap look at this machine's agents."""

    async def missing(self, agent_ids: Iterable[str]) -> set[str]:
        """Those whose program seems to be gone. Suspicion only: `mngr list` is the judge."""
        ...
