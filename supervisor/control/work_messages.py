"""The schemas of agents' work: what there is of it, what was taken, and what writers propose."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from supervisor.control.messages import Dated


class WorkRow(BaseModel):
    """The work of one attempt, or of a batch's branch that could not be created."""

    model_config = ConfigDict(extra="allow")

    job: str
    test: str
    #: None: not decided yet, or not the job's last work
    ledger: str | None
    why: str
    commits: int
    #: in the daemon's own repository; None: nothing could be brought home
    ref: str | None
    head: str | None
    rescued: bool
    #: the agent that is kept because its work could not be brought home: its name, how to reach it, and what it has
    agent: dict[str, Any] | None


class Work(Dated):
    rows: list[WorkRow]


class TakenRow(BaseModel):
    job: str
    attempt: int | None
    head: str | None
    branch: str | None
    changed: bool
    #: why it could not be taken
    problem: str | None


class Taken(Dated):
    changed: bool
    repo: str
    rows: list[TakenRow]


class Proposed(Dated):
    """The proposal of a writer's job. `bundle` has its commits on top of `base`, in base64."""

    job: str
    item: str
    kind: Literal["seed", "block", "stale"]
    tutorial: str
    seed: str
    block: str
    text: str
    verification: str
    reason: str
    execution: dict[str, Any] | None
    base: str
    head: str
    bundle: str
    confusions: list[dict[str, str]]
