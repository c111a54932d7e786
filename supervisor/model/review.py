"""The review of a batch's branch: what people decided on its commits, and how far the branch agrees by now."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from immutables import Map


class Verdict(StrEnum):
    """A person's verdict on a commit. UNREVIEWED: there is none, or it was taken back."""

    ACCEPTED = "accepted"
    DROPPED = "dropped"
    UNREVIEWED = "unreviewed"


#: what a person asks for, and the verdict that it is
WORDS = {"accept": Verdict.ACCEPTED, "drop": Verdict.DROPPED, "undo": Verdict.UNREVIEWED}


@dataclass(frozen=True, slots=True)
class ReviewedBranch:
    """The branch that an integration made, kept here because a sealed batch is no longer in memory."""

    repo: str
    base: str
    #: in the person's repository, and of the pull request
    name: str
    #: the last commit that the integration made
    head: str
    #: its URL; "": none
    pull_request: str = ""


@dataclass(frozen=True, slots=True)
class Opinion:
    verdict: Verdict
    author: str
    at: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reversal:
    """A commit to take out of the branch, or to put back."""

    commit: str
    #: of the person who asked, and when
    author: str
    at: float
    reason: str = ""
    is_back: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    batch: str
    branch: ReviewedBranch
    opinions: Map[str, Opinion] = field(default_factory=Map)
    #: the commits that are no longer on the branch, and the commit that took each out; "": not one of ours
    taken_out: Map[str, str] = field(default_factory=Map)
    #: why a commit could not be taken out or put back; not tried again until it is asked for again
    problems: Map[str, str] = field(default_factory=Map)
    #: notes about the last revision of the branch
    notes: tuple[str, ...] = ()
    #: the commits that the branch of the pull request no longer has
    out_there: tuple[str, ...] = ()
    #: why the text of the pull request does not say that yet; it will be tried again
    unsaid: str = ""
    #: the number of revisions so far, and of the last ones in a row that failed
    number: int = 0
    tries: int = 0
    #: why the last one failed; it will be tried again
    trouble: str = ""
    #: a revision is under way
    is_working: bool = False
    #: the time of the last request
    at: float = 0.0

    def verdict(self, commit: str) -> Verdict:
        opinion = self.opinions.get(commit)
        return opinion.verdict if opinion is not None else Verdict.UNREVIEWED

    @property
    def told(self) -> tuple[str, ...]:
        """The notes on the last revision, and why the pull request does not have them yet."""
        if not self.unsaid:
            return self.notes
        why = f"the text of the pull request does not say it yet: {self.unsaid}; it is tried again by itself"
        return (*self.notes, why)

    @property
    def is_due(self) -> bool:
        """Whether the branch, or the text of its pull request, does not agree with the review yet."""
        return bool(self.unsaid) or bool(self.due)

    @property
    def due(self) -> tuple[Reversal, ...]:
        """The commits to take out of the branch, or to put back."""
        return tuple(self._due())

    def _due(self) -> Iterator[Reversal]:
        for commit, opinion in sorted(self.opinions.items()):
            dropped, out = opinion.verdict is Verdict.DROPPED, commit in self.taken_out
            if dropped is not out and commit not in self.problems:
                yield Reversal(commit, opinion.author, opinion.at, opinion.reason, is_back=out)
