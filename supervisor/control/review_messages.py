"""The schemas of the review of a batch's branch."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from supervisor.control.messages import Asked, Changed, Dated

type State = Literal["accepted", "dropped", "unreviewed"]


class Reviewing(Asked):
    commits: Annotated[
        list[Annotated[str, Field(pattern="^[0-9a-f]{4,40}$")]],
        Field(min_length=1, max_length=1000, description="Commits of the branch; ids may be shortened."),
    ]
    state: Annotated[State, Field(description="`unreviewed` takes back what was said.")]
    reason: Annotated[str, Field(max_length=500)] = ""


class ReviewedCommit(BaseModel):
    model_config = ConfigDict(extra="allow")

    commit: str
    subject: str
    #: as its subject says, such as `FIX_IMPL`; "": it does not
    kind: str
    doubts: list[str]
    #: whose work it has, with what was verified of it and the evidence
    jobs: list[dict[str, Any]]
    state: State
    by: str | None
    at: str | None
    reason: str | None
    #: it is not on the branch any more
    is_out: bool
    reverted_by: str | None
    #: why it could not be reverted or put back
    problem: str | None


class Review(Dated):
    batch: str
    branch: str
    pull_request: str | None
    counts: dict[str, int]
    #: the branch is being revised, or will be
    revising: bool
    #: why the last revision failed; it will be tried again
    trouble: str | None
    #: about the last revision
    notes: list[str]
    #: in the order in which to read them: those with doubts first
    rows: list[ReviewedCommit]


class Decided(Changed):
    batch: str
    commits: list[str]
