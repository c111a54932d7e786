"""The values of an integration: what each job brings, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from supervisor.model.ledger import Fate
from supervisor.model.publication import Outcome

#: squashed into one commit; any other kind gets a commit of its own
TEST_KINDS = frozenset({"FIX_TEST", "IMPROVE_TEST", "FIX_TUTORIAL", "DOC"})
IMPLEMENTATION = "FIX_IMPL"


@dataclass(frozen=True, slots=True)
class Change:
    """One commit of an agent."""

    job: int
    sha: str
    #: from the subject's `[KIND]`; "" if it has none
    kind: str
    #: without the kind; one printable line
    subject: str
    paths: tuple[str, ...]
    #: the same for the same edit, wherever it stands in its files; whitespace counts
    patch_id: str
    #: the same for the same lines, added and removed in whatever file; "" where there are none
    alike_id: str = ""

    @property
    def is_test(self) -> bool:
        return self.kind in TEST_KINDS


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


def brought(
    job: int,
    test: str,
    report: Outcome,
    changes: tuple[Change, ...],
    *,
    rejected: str = "",
    evidence: Evidence | None = None,
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
    )


@dataclass(frozen=True, slots=True)
class Group:
    """The same change made by one or more jobs: the first of them is picked, all are credited."""

    changes: tuple[Change, ...]

    @property
    def leader(self) -> Change:
        return self.changes[0]

    @property
    def jobs(self) -> tuple[int, ...]:
        return tuple(sorted({change.job for change in self.changes}))


@dataclass(frozen=True, slots=True)
class Picked:
    """What became of a group's leader."""

    group: Group
    #: MERGED, DUPLICATE (another change had done it all), EMPTY or CONFLICT
    fate: Fate
    #: for a conflict, where
    paths: tuple[str, ...] = ()
    #: for a conflict or a duplicate: the changes picked before that touch the same paths
    rivals: tuple[Change, ...] = ()
