"""The values of an integration: what each job brings, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from supervisor.model.change import Change
from supervisor.model.ledger import Fate
from supervisor.model.publication import Statement


@dataclass(frozen=True, slots=True)
class Evidence:
    """What re-running the test in clean checkouts showed."""

    failed_before: bool | None = None
    passed: int = 0
    runs: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    """All that one job brings to the integration."""

    job: int
    test: str
    changes: tuple[Change, ...] = ()
    #: why nothing of it may go in, as verification said; "" if it may
    rejected: str = ""
    errored: bool = False
    passing_before: bool | None = None
    passing_after: bool | None = None
    #: what the agent says it has done, by kind
    summaries: Mapping[str, str] = field(default_factory=dict)
    #: kinds that the agent itself says have failed
    failed_kinds: frozenset[str] = frozenset()
    evidence: Evidence = Evidence()
    #: sentences for the reviewer about what no machine can decide
    doubts: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """The last of its commits: what was verified."""
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
    """What a job brings, by its agent's report and by what verification said of it."""
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
    """What one job brings, in its order: it was verified as a whole, and goes in as a whole or not at all."""

    job: int
    #: the commit that was verified
    head: str
    #: to be squashed into one commit with those of other jobs
    tests: tuple[Change, ...]
    #: each a commit of its own, one after the other
    fixes: tuple[Change, ...]
    #: paths of the job's other changes, which its agent calls failed: they stay as they are
    without: frozenset[str] = frozenset()

    @property
    def changes(self) -> tuple[Change, ...]:
        return (*self.tests, *self.fixes)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for change in self.changes for path in change.paths))


@dataclass(frozen=True, slots=True)
class Picked:
    """What became of changes that were picked together."""

    changes: tuple[Change, ...]
    #: MERGED, DUPLICATE (all of it was there), EMPTY or CONFLICT
    fate: Fate
    #: for a conflict, where
    paths: tuple[str, ...] = ()
    #: for a conflict or a duplicate: the changes picked before that touch the same paths
    rivals: tuple[Change, ...] = ()
    #: for a duplicate, the change after which it changes nothing any more; None: the branch's own start has it
    holder: Change | None = None
    #: for what was merged: it was in conflict, and an integrator's agent has made it fit
    resolved: bool = False
