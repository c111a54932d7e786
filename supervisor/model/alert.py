"""Alerts: what a person should know now, and what their rules need to remember."""

from dataclasses import dataclass, field
from enum import StrEnum

from immutables import Map

from supervisor.model.attempt import AttemptKey


class AlertKind(StrEnum):
    """What a rule looks for; `Rule.limit` is its number."""

    #: so many jobs of a batch fail in the same way
    SAME_FAILURE = "same-failure"
    #: so many jobs of a batch time out or stall at the same stage, in ways that differ
    TIME_OUTS = "time-outs"
    #: this share of a batch's budget, or of a cap of an account or of all, is used
    BUDGET = "budget"
    #: the queue or a batch has been paused for so many seconds
    PAUSED = "paused"
    #: the model's provider needs a person: for a login or for credit
    STOPPED = "stopped"
    #: jobs wait, and for so many seconds none was launched and none has ended
    NOT_MOVING = "not-moving"
    #: an agent has used so many tokens since it last used a tool
    IDLE_AGENT = "idle-agent"
    #: work that could not be saved is only with an agent that was kept for it
    UNACCOUNTED = "unaccounted"
    #: a scheduled batch was not submitted
    SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True)
class Rule:
    kind: AlertKind
    limit: float = 0


#: the rules that apply unless others are configured
DEFAULT_RULES = (
    Rule(AlertKind.SAME_FAILURE, 5),
    Rule(AlertKind.TIME_OUTS, 10),
    Rule(AlertKind.BUDGET, 0.8),
    Rule(AlertKind.PAUSED, 3600),
    Rule(AlertKind.STOPPED),
    Rule(AlertKind.NOT_MOVING, 7200),
    Rule(AlertKind.IDLE_AGENT, 1_000_000),
    Rule(AlertKind.UNACCOUNTED),
    Rule(AlertKind.SCHEDULE),
)


@dataclass(frozen=True, slots=True)
class Alert:
    #: the same for as long as the problem lasts
    id: str
    kind: str
    #: a batch, a job, a schedule, or "" for the queue
    subject: str
    message: str
    since: float = 0
    #: None: it still holds
    resolved_at: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Alerts:
    open: Map[str, Alert] = field(default_factory=Map)
    #: the last ones that were resolved, oldest first
    past: tuple[Alert, ...] = ()
    #: since when the queue ("") or a batch has been paused, by a person or until one resumes it
    paused: Map[str, float] = field(default_factory=Map)
    #: when the queue last moved: a job was launched or ended, or it became possible again
    moved: float = 0
    #: tokens that each agent has used since it last used a tool
    idle: Map[AttemptKey, int] = field(default_factory=Map)
    #: by batch: its attempts with work that is only with their agents
    unsaved: Map[str, tuple[AttemptKey, ...]] = field(default_factory=Map)
