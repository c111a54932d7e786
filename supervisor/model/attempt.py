"""An attempt: one agent launched for a job. It is remembered until its agent is put away."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from supervisor.model.usage import NOTHING, Usage


class AttemptKey(NamedTuple):
    batch: str
    job: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.batch}.{self.job}/{self.attempt}"


def ref_of(key: AttemptKey, *, rescued: bool = False) -> str:
    """Where the daemon's repository keeps what an attempt published, or what was rescued of it."""
    folder = f"refs/supervisor/{key.batch}/{key.job}"
    return f"{folder}/rescued/{key.attempt}" if rescued else f"{folder}/{key.attempt}"


class Stage(StrEnum):
    """Where the agent of an attempt is. The job's own state follows it, until its work is safe."""

    LAUNCHING = "launching"
    LIVE = "live"
    COLLECTING = "collecting"
    #: its work is safe, or there is none: to be stopped, and destroyed or kept
    RELEASING = "releasing"


@dataclass(frozen=True, slots=True)
class Attempt:
    key: AttemptKey
    agent_id: str
    agent_name: str
    pool: str
    provider: str
    #: "" for the local machine
    host: str
    new_host: bool
    started_at: float
    stage: Stage = Stage.LAUNCHING
    #: known once it is launched
    host_id: str = ""
    holds_slot: bool = True
    #: what is left when its agent is put away: destroyed, or stopped and kept for a person to look at
    keep: bool = False
    #: it has work that could not be taken: whatever else is said, it is kept
    unsaved: bool = False
    #: tries of the step at hand, for its back-off
    tries: int = 0
    #: what it has taken so far
    usage: Usage = NOTHING
    #: when its last sign of activity was, once it has shown none for too long
    quiet_since: float | None = None
    #: and whether it said that it waits
    waits: bool = False
    #: why it was told something: each reason at most once
    nudges: frozenset[str] = frozenset()
    nudged_at: float | None = None
