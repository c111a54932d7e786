"""The values of an integration: the work of each job, and its result."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from supervisor.model.change import Change
from supervisor.model.ledger import Fate
from supervisor.model.publication import Statement


@dataclass(frozen=True, slots=True)
class Evidence:
    """The result of running the test in clean checkouts."""

    failed_before: bool | None = None
    passed: int = 0
    runs: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one job, for the integration."""

    job: int
    test: str
    changes: tuple[Change, ...] = ()
    #: why verification forbids to merge it; "" if it does not
    rejected: str = ""
    errored: bool = False
    passing_before: bool | None = None
    passing_after: bool | None = None
    #: the agent's summaries of its changes, by kind
    summaries: Mapping[str, str] = field(default_factory=dict)
    #: kinds of changes that failed according to the agent
    failed_kinds: frozenset[str] = frozenset()
    evidence: Evidence = Evidence()
    #: sentences for the reviewer about what a machine can't decide
    doubts: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """Its last commit, which was verified."""
        return self.changes[-1].sha


def brought(
    job: int,
    test: str,
    report: Statement,
    changes: tuple[Change, ...],
    *,
    rejected: str = "",
    evidence: Evidence | None = None,
    doubts: tuple[str, ...] = (),
) -> Work:
    """A job's work, from its agent's report and from its verification."""
    unclaimed = "its agent claims no change" if changes and not report.succeeded_kinds else ""
    return Work(
        job,
        test,
        changes,
        rejected or unclaimed,
        report.errored,
        report.tests_passing_before,
        report.tests_passing_after,
        {claim.kind: claim.summary for claim in report.changes},
        frozenset(claim.kind for claim in report.changes if claim.status == "FAILED"),
        evidence or Evidence(),
        doubts,
    )


@dataclass(frozen=True, slots=True)
class Unit:
    """The changes of one job in order: they were verified as a whole, and are merged as a whole or not at all."""

    job: int
    #: the verified commit
    head: str
    #: squashed into one commit with those of other jobs
    tests: tuple[Change, ...]
    #: each becomes a commit of its own, in order
    fixes: tuple[Change, ...]
    #: paths of the job's failed changes, which are left unchanged
    without: frozenset[str] = frozenset()

    @property
    def changes(self) -> tuple[Change, ...]:
        return (*self.tests, *self.fixes)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for change in self.changes for path in change.paths))


@dataclass(frozen=True, slots=True)
class Picked:
    """The result of changes that were picked together."""

    changes: tuple[Change, ...]
    #: MERGED, DUPLICATE (the branch already had all of it), EMPTY or CONFLICT
    fate: Fate
    #: for a conflict: the paths
    paths: tuple[str, ...] = ()
    #: for a conflict or a duplicate: the earlier changes that touch the same paths
    rivals: tuple[Change, ...] = ()
    #: for a duplicate: the earlier change that contains it; None: the base contains it
    holder: Change | None = None
    #: merged after an integrator's agent resolved its conflict
    resolved: bool = False
