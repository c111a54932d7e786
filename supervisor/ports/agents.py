"""The mngr command line, and a cheap check of this machine's agents."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from supervisor.model.attempt import Attempt

type MngrReason = Literal[
    "timeout",  # no answer within the deadline; the command may still have had its effect
    "killed",  # a signal killed the mngr process; its effect is unknown
    "rate",  # the provider creates no more at the moment: ask less often
    "provider",  # the provider can't be reached: its agents are unknown, not gone
    "duplicate",  # the name or id is already taken
    "no-such-agent",
    "not-started",  # the agent was created but did not start, or did not get its first message: retry
    "refused",  # mngr rejected the command: do not retry
    "garbage",  # an answer that can't be parsed
    "missing",  # the mngr program was not found
]

#: The environment variable of an agent with walls: the command prefix that starts a program inside them.
WALLS = "SUPERVISOR_WALLS"
#: The labels of every agent, by which an installation recognizes its own agents.
INSTALLATION, BATCH, JOB, ATTEMPT = "supervisor", "supervisor_batch", "supervisor_job", "supervisor_attempt"
#: The label of verifiers, instead of those of a job: the batch that they verify.
VERIFIER = "supervisor_verifier"
#: The label of agents that were stopped and kept for a person to look at.
KEPT = "supervisor_kept"
#: The value of that label if the agent has the only copy of its work.
UNSAVED = "unsaved"

type AgentState = Literal["running", "waiting", "blocked", "done", "stopped", "replaced", "unknown"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where to launch an agent: a provider, and an existing host, a new host or the provider's only host."""

    provider: str
    #: the host's name; "" for the local machine
    host: str = ""
    #: create a host of that name
    new_host: bool = False


@dataclass(frozen=True, slots=True)
class AgentOrder:
    """The arguments of `mngr create`. The id and the name are already journalled."""

    id: str
    name: str
    place: Place
    #: a mngr agent type; "command" runs `args`
    type: str
    args: tuple[str, ...]
    #: the repository to copy for it, the base commit, and the name of its new branch
    source: Path
    base: str
    branch: str
    transfer: Literal["git-mirror", "git-worktree"] = "git-mirror"
    labels: Mapping[str, str] = field(default_factory=dict)
    #: values reach the agent verbatim and never appear on argv; the values of `state_dir_env` are paths relative to
    #: the agent's mngr state directory, which are made absolute on its host
    env: Mapping[str, str] = field(default_factory=dict)
    state_dir_env: Mapping[str, str] = field(default_factory=dict)
    #: files to copy into the agent's state directory before it starts: relative path there → local path
    files: Mapping[str, Path] = field(default_factory=dict)
    #: shell commands to run in its work directory before it starts
    provision: tuple[str, ...] = ()
    message: str = ""
    #: mngr's arguments for a new host
    build_args: tuple[str, ...] = ()
    #: overrides of mngr's configuration for this call; no secrets
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AgentAddress:
    """ID@HOST.PROVIDER: the full address, which mngr resolves without searching all providers."""

    agent_id: str
    #: the host's id, or its name if no `mngr create` has returned the id
    host_id: str
    provider: str

    @classmethod
    def of(cls, attempt: Attempt) -> "AgentAddress":
        return cls(attempt.agent_id, attempt.host_id or attempt.host, attempt.provider)

    def __str__(self) -> str:
        # Without a host mngr searches everywhere: slower, but it finds the agent if it exists.
        return f"{self.agent_id}@{self.host_id}.{self.provider}" if self.host_id else self.agent_id


@dataclass(frozen=True, slots=True)
class SeenAgent:
    """One agent as mngr reports it."""

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
    """The agents of one provider. If there are problems, a missing agent may still exist: `complete` is False."""

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
    """The version of mngr and how it is called, for `doctor` and the log."""

    version: str
    transport: Literal["warm", "plain"]
    interpreter: str
    #: why the warm transport is not used although it is configured
    fallback: str = ""


class Agents(Protocol):
    """The mngr command line. Every call has a deadline, runs in a bounded worker pool and raises only MngrFailed."""

    async def facts(self) -> MngrFacts: ...

    async def create(self, order: AgentOrder) -> AgentAddress: ...

    async def list(self, provider: str) -> Listing: ...

    async def message(self, address: AgentAddress, text: str) -> None: ...

    async def exec(
        self,
        address: AgentAddress,
        command: str,
        *,
        timeout: float | None = None,
        is_long: bool = False,
        is_waiting: bool = False,
    ) -> ExecResult:
        """`is_long`: it may take minutes, and must delay nothing else. `is_waiting`: it only waits that long."""
        ...

    async def pull(self, address: AgentAddress, remote: str, local: Path) -> None:
        """Copy one file, or the content of a directory if `remote` ends in a slash."""
        ...

    async def stop(self, addresses: Sequence[AgentAddress]) -> None:
        """Idempotent: agents that are stopped or gone are no error."""
        ...

    async def destroy(self, addresses: Sequence[AgentAddress]) -> None:
        """Idempotent: agents that are gone are no error."""
        ...

    async def label(self, address: AgentAddress, labels: Mapping[str, str]) -> None: ...

    def observe(self) -> AsyncIterator[SeenAgent]:
        """Changes as mngr notices them: a hint, never complete. Restarts by itself, and ends only when closed."""
        ...

    def follow(self, address: AgentAddress, *, forever: bool = True) -> AsyncGenerator[bytes]:
        """The lines of all its event files from the start; with `forever`, new lines too, until closed.

        Raises MngrFailed if the agent can't be followed, and immediately if this mngr can't follow agents at all."""
        ...

    def state_dir(self, agent_id: str) -> Path:
        """The state directory of a local agent; for other providers, it is on the agent's host."""
        ...

    def work_dir(self, agent_id: str) -> Path | None:
        """The path of a local agent's clone; None if unknown, for example because the agent is gone."""
        ...

    async def close(self) -> None: ...


class LocalSigns(Protocol):
    """A cheap check of this machine's agents."""

    async def missing(self, agent_ids: Iterable[str]) -> set[str]:
        """The agents whose process seems to be gone. Only a suspicion: `mngr list` decides."""
        ...
