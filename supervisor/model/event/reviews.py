"""Events of the review of a batch's branch."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from supervisor.model.event.subjects import Event
from supervisor.model.review import ReviewedBranch


@dataclass(frozen=True, slots=True)
class ReviewEvent(Event):
    # Not a BatchEvent: a batch is sealed by the time it is reviewed, and replay leaves out events of sealed batches.
    batch: str


@dataclass(frozen=True, slots=True)
class CommitsReviewed(ReviewEvent):
    """A person accepted or dropped commits of a batch's branch, or took that back."""

    branch: ReviewedBranch
    commits: tuple[str, ...]
    #: "accepted", "dropped" or "unreviewed"
    verdict: str
    author: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RevisionStarted(ReviewEvent):
    """Dropped commits are being reverted on the branch, or restored ones put back."""

    number: int


@dataclass(frozen=True, slots=True)
class RevisionFailed(ReviewEvent):
    """The branch could not be revised and the revision will be retried."""

    number: int
    detail: str
    retry_at: float


@dataclass(frozen=True, slots=True)
class RevisionEnded(ReviewEvent):
    """The branch was revised, as far as that could be done."""

    number: int
    #: the commits that are no longer on the branch, and the commit that reverted each
    reverted: Mapping[str, str] = field(default_factory=dict)
    #: the commits that are on the branch again
    restored: Mapping[str, str] = field(default_factory=dict)
    #: by commit, why it could not be done
    problems: Mapping[str, str] = field(default_factory=dict)
    #: about the branch
    notes: tuple[str, ...] = ()
    #: all commits that the branch of the pull request no longer has
    out_there: tuple[str, ...] = ()
    #: why the text of the pull request does not say that yet, and when it is tried again
    unsaid: str = ""
    retry_at: float = 0.0
