"""Events of an attempt's agent: its launch, its life, and how it is put away."""

from dataclasses import dataclass

from supervisor.model.event.subjects import AttemptEvent
from supervisor.model.waking import Waking


@dataclass(frozen=True, slots=True)
class LaunchStarted(AttemptEvent):
    """Journalled before `mngr create` runs, so that the agent can be found by its id after a crash."""

    agent_id: str
    agent_name: str
    pool: str
    provider: str
    host: str = ""
    new_host: bool = False
    #: whose limits and budget it counts against; "": none
    account: str = ""
    #: the attempt whose rescued work it begins with; 0: none
    continues: int = 0


@dataclass(frozen=True, slots=True)
class LaunchSucceeded(AttemptEvent):
    """The agent was launched and runs."""

    host_id: str
    #: found alive after a restart
    adopted: bool = False


@dataclass(frozen=True, slots=True)
class LaunchFailed(AttemptEvent):
    """`mngr create` failed, or a restart interrupted it before there was an agent."""

    #: how mngr failed (`ports.MngrReason`), or "interrupted"
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LaunchInterrupted(AttemptEvent):
    """After a restart the agent was found but does not run: its creation was cut short, or it has ended."""

    host_id: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AgentMoved(AttemptEvent):
    """A listing shows the agent on a host with another id than `mngr create` returned."""

    host_id: str


@dataclass(frozen=True, slots=True)
class WorkPublished(AttemptEvent):
    """The agent published its work."""


@dataclass(frozen=True, slots=True)
class AgentVanished(AttemptEvent):
    """The agent ended without publishing."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class TimeRanOut(AttemptEvent):
    """The agent exceeded the time limit of its job."""


@dataclass(frozen=True, slots=True)
class AgentFellQuiet(AttemptEvent):
    """The agent has waited for input for a short while, or shown no activity for the whole stall time."""

    #: the time of its last sign of activity
    since: float
    waits: bool = False
    #: it waits, and has not begun: no answer of its model was ever seen
    unheard: bool = False


@dataclass(frozen=True, slots=True)
class AgentStirred(AttemptEvent):
    """The agent shows activity again."""


@dataclass(frozen=True, slots=True)
class NudgeStarted(AttemptEvent):
    """The agent is being nudged."""

    #: "unheard", "waiting", "silent", "parked", "budget", "cap" or "again"
    reason: str
    #: for "again": what waking the agent costs; None: not known
    waking: Waking | None = None


@dataclass(frozen=True, slots=True)
class AgentNudged(AttemptEvent):
    """The message was delivered to the agent, or could not be."""

    delivered: bool = True
    detail: str = ""
    #: as in "nudge-started"; "" in journals of versions that did not repeat a message
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AgentStalled(AttemptEvent):
    """The agent did nothing, also after it was nudged."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class WakingDeclined(AttemptEvent):
    """The agent slept while its account was paused, and is put away: its job starts again from the agent's work."""

    detail: str = ""
    #: what waking it up would have cost; None: not known
    waking: Waking | None = None


@dataclass(frozen=True, slots=True)
class JobParked(AttemptEvent):
    """Its agent asks for permission, which only a person can grant."""

    question: str = ""


@dataclass(frozen=True, slots=True)
class JobUnparked(AttemptEvent):
    """Its agent no longer asks for permission."""


@dataclass(frozen=True, slots=True)
class AgentHindered(AttemptEvent):
    """The last entry of its transcript is a refusal by its model's provider; `problem` "": it is served again."""

    #: "window", "rate", "overload", "login" or "credit"; "limit": a window or a rate, in older journals
    problem: str
    detail: str = ""
    #: when the provider says that it serves again; 0: it did not say
    until: float = 0.0
    #: when it refused
    since: float = 0.0
    account: str = ""
    #: a part of the names of the models that are refused; "": all
    model: str = ""


@dataclass(frozen=True, slots=True)
class AgentHalted(AttemptEvent):
    """A cap was reached, and the time that the agent had to publish is over."""

    detail: str = ""


@dataclass(frozen=True, slots=True)
class UsageCounted(AttemptEvent):
    """The usage of an attempt so far: totals, not increments. `input` excludes `cached`."""

    input: int = 0
    output: int = 0
    cached: int = 0
    tool_calls: int = 0
    errors: int = 0
    model: str = ""
    #: the part of `input` that was written to a cache
    written: int = 0
    #: the size of its conversation at the last request, in tokens; 0: not known
    context: int = 0


@dataclass(frozen=True, slots=True)
class ReleaseStarted(AttemptEvent):
    """The agent's work is safe, and the daemon began to put the agent away."""


@dataclass(frozen=True, slots=True)
class AgentReleased(AttemptEvent):
    """The agent was destroyed, or stopped and kept."""

    kept: bool = False
    #: for an agent whose launch was not confirmed: the work that was rescued, as in WorkRescued
    head: str = ""
    commits: int = 0
    unsaved: str = ""
    clone: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseFailed(AttemptEvent):
    """The agent could not be put away now; it will be retried."""

    detail: str
    retry_at: float
