"""An attempt: one agent launched for a job. The state holds it until its agent is put away."""

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
    """The ref of the daemon's repository for what an attempt published, or for what was rescued of it."""
    folder = f"refs/supervisor/{key.batch}/{key.job}"
    return f"{folder}/rescued/{key.attempt}" if rescued else f"{folder}/{key.attempt}"


class Stage(StrEnum):
    """The stage of an attempt. The job's state follows it until the attempt's work is safe."""

    LAUNCHING = "launching"
    LIVE = "live"
    COLLECTING = "collecting"
    #: its work is safe, or there is none; the agent is being destroyed, or stopped and kept
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
    #: known after the launch
    host_id: str = ""
    holds_slot: bool = True
    #: on release, stop and keep the agent for a person to look at; otherwise destroy it
    keep: bool = False
    #: the agent has work that could not be rescued: always keep it
    unsaved: bool = False
    #: tries of the current step, for its back-off
    tries: int = 0
    #: why the last of them failed
    trouble: str = ""
    #: its usage so far, and when its model last served it
    usage: Usage = NOTHING
    served_at: float = 0.0
    #: the time of its last sign of activity; set when it has been quiet for too long
    quiet_since: float | None = None
    #: whether it then waits for input
    waits: bool = False
    #: whether it then has not begun: no answer of its model was ever seen
    unheard: bool = False
    #: the reasons for which it was nudged: each at most once
    nudges: frozenset[str] = frozenset()
    nudged_at: float | None = None
    #: how many messages in a row did not reach it
    undelivered: int = 0
    #: whose limits and budget it counts against; "": none
    account: str = ""
    #: the round of its account's level in which it was last served; -1: never
    round: int = -1
    #: the attempt of its job whose rescued work it begins with; 0: none
    continues: int = 0
